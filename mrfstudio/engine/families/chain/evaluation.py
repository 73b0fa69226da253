"""Scores of chains on held-out sequences: the exact likelihood, and that of words without any state beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mrfstudio.engine.data.dataset import Splits
from mrfstudio.engine.families.chain.density import ChainDensity
from mrfstudio.engine.families.chain.model import Chain
from mrfstudio.engine.runtime.device import to_host
from mrfstudio.engine.training.evaluation import Evaluation, evaluation
from mrfstudio.engine.training.learner import TensorSource


@evaluation("chain")
def evaluate_chain(model: Chain, splits: Splits, asked: Evaluation) -> dict[str, Any]:
    """`nll` in nats a sequence, `bits` a word or `nats_a_frame`, and where the data know it `true_nll`.

    `unigram_bits` are those of the training words counted one by one: what a chain has to beat.
    """
    arrays = {name: torch.from_numpy(array[: asked.limit]) for name, array in splits[asked.split].items()}
    if not model.continuous:
        arrays["x"] = renumbered(model, arrays["x"], splits)
    source = TensorSource(**{name: arrays[name] for name in ("x", "lengths") if name in arrays})
    asked.tick(f"{len(source)} sequences")
    scores: dict[str, Any] = {"images": len(source), **ChainDensity.measure(model, source)}
    if not model.continuous and "train" in splits:
        scores["unigram_bits"] = unigram_bits(model, splits, arrays)
    if "logp" in arrays:
        scores["true_nll"] = -float(arrays["logp"].double().mean())
    return {**scores, "states": model.states, "order": model.order, "form": model.form}


def renumbered(model: Chain, words: Tensor, splits: Splits) -> Tensor:
    """Words (N, T) of the data by the model's own numbers; -1 for those it does not know and has no word for."""
    theirs = [str(symbol) for symbol in splits.constants.get("symbols", ())]
    if not theirs or not model.symbols or tuple(theirs) == model.symbols:
        return words
    place = {symbol: number for number, symbol in enumerate(model.symbols)}
    table = torch.tensor([place.get(symbol, place.get("?", -1)) for symbol in theirs])
    return table[words.long()]


def unigram_bits(model: Chain, splits: Splits, arrays: dict[str, Tensor]) -> float:
    """-log2 p(x), a mean over columns, of the counts of the training words with one added to each.

    `arrays` holds words `x` (N, T) by the model's numbers, and `lengths` (N,) where sequences end early.
    """
    size = model.words().shape[1]
    train = renumbered(model, torch.from_numpy(splits["train"]["x"]), splits)
    chances = torch.bincount(_columns(train, splits["train"].get("lengths")), minlength=size).double() + 1
    log = (chances / chances.sum()).log2()
    given = arrays.get("lengths")
    return -float(log[_columns(arrays["x"], None if given is None else to_host(given))].mean())


def _columns(words: Tensor, lengths: np.ndarray | None) -> Tensor:
    """Known words (columns,) of sequences (N, T), of `lengths` (N,) or whole, one after the other."""
    there = torch.ones_like(words, dtype=torch.bool)
    if lengths is not None:
        there = torch.arange(words.shape[1]) < torch.from_numpy(np.asarray(lengths)).long()[:, None]
    found = words[there].long()
    return found[found >= 0]
