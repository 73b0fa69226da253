"""Chains of hidden states on text and on speech: Table 4 of [WK19], and GenHMM of [Liu20], made anew.

    python benchmarks/sequences.py --text fortunes.txt          third-order chains on sentences, seven learners
    python benchmarks/sequences.py --speech JapaneseVowels_TRAIN.ts    a chain a speaker; --peer adds hmmlearn
    python benchmarks/sequences.py --only directed              rows whose name begins so

Results are kept one by one in --folder: a run that was stopped goes on. Seconds are CPU time of one
thread. Text: sentences of 4 to 20 words and an end mark; a tenth tests, a tenth chooses the best state; nats a sentence
on the test sentences, always by the exact recursion, whatever the learner saw. Speech: nine speakers, three states from
left to right, a model a speaker; the noise on the input is chosen on a fifth of the training utterances.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import numpy as np
import torch
from encoders import learned as learned_with_encoder
from kept import Found, Kept

from mrfstudio.engine.data.sequences import Sequences
from mrfstudio.engine.data.text import Text
from mrfstudio.engine.families.chain.baum_welch import BaumWelch
from mrfstudio.engine.families.chain.model import Chain, ChainPlan
from mrfstudio.engine.registry import LEARNERS
from mrfstudio.engine.tasks.evaluate import evaluate_model
from mrfstudio.engine.training.command import train_command
from mrfstudio.engine.training.learner import TensorSource, TrainingData
from mrfstudio.engine.training.trainer import Trainer

TEXT: dict[str, Any] = {"unit": "words", "length": 20, "vocabulary": 1000, "most": 3000}
SHAPE: dict[str, Any] = {"states": 6, "order": 3, "scores": "network", "width": 48}
EPOCHS, BATCH, RATE = 8.0, 32, 0.003
ROWS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "directed, exact": ("directed", "likelihood", {"algorithm": "exact"}, "105.66"),
    "undirected, exact": ("undirected", "likelihood", {"algorithm": "exact"}, "104.07"),
    "undirected, LBP": (
        "undirected",
        "likelihood",
        {"algorithm": "bp", "iterations": 5, "algorithm_options": "schedule=sequential"},
        "108.74",
    ),
    "undirected, inference networks": ("undirected", "bethe-networks", {}, "115.86"),
}
ENCODERS: dict[str, tuple[str, int, str]] = {
    "directed, mean-field VAE": ("mean field", 1, "119.27"),
    "directed, mean-field IWAE of ten": ("mean field", 10, "119.20"),
    "directed, first-order VAE": ("first order", 1, "118.35"),
}
ALONE = "words alone"
"""The row that every learner must beat: how frequent words are."""
SPEECH = {
    "flow, noise 0": {"emission": "flow", "input_noise": 0.0},
    "flow, noise 0.15": {"emission": "flow", "input_noise": 0.15},
    "flow, noise 0.25": {"emission": "flow", "input_noise": 0.25},
    "two flows, noise 0.25": {"emission": "flow", "input_noise": 0.25, "flows": 2},
    "diagonal Gaussian": {"emission": "gaussian"},
    "full Gaussian": {"emission": "gaussian", "covariance": "full"},
}
PEERS = {"hmmlearn, diagonal": ("diag", 1), "hmmlearn, full": ("full", 1), "hmmlearn, three diagonal": ("diag", 3)}


def sentences(text: str, form: str, learner: str, options: dict[str, Any]) -> Found:
    """Train a third-order chain and measure it exactly on the test sentences."""
    with tempfile.TemporaryDirectory() as folder:
        out, began = Path(folder) / "chain.safetensors", time.process_time()
        trained = train_command(
            "chain", learner, f"text:{text}", out, form=form, **SHAPE, **TEXT, **options,
            epochs=EPOCHS, learning_rate=RATE, batch_size=BATCH, clip_norm=5.0,
        )  # fmt: skip
        seconds = time.process_time() - began
        found = evaluate_model(out, f"text:{text}", **TEXT)
    del found["model"], found["data"]  # paths of this machine
    return {**found, "seconds": seconds, "kept_step": trained["kept_step"]}


def unigram(text: str) -> Found:
    """Nats a sentence of a table of words that was counted on the training sentences, half a count more for each."""
    splits, began = Text(**TEXT).open(Path(text)), time.process_time()
    train, test = splits["train"], splits["test"]
    counts = np.bincount(train["x"][train["x"] >= 0], minlength=len(splits.constants["symbols"])) + 0.5
    total = -float(np.log(counts / counts.sum())[test["x"][test["x"] >= 0]].sum())
    bits = total / float(test["lengths"].sum()) / np.log(2)
    return {"nll": total / len(test["x"]), "bits": bits, "seconds": time.process_time() - began}


def speakers(path: str, settings: dict[str, Any], hold_out: bool) -> Found:
    """A chain a speaker: accuracy, and nats a frame of the right speaker's chain, on utterances it has not heard.

    With `hold_out` every fifth training utterance is what it has not heard, else the test file.
    """
    splits = Sequences().open(Path(path))
    train, test = splits["train"], splits["test"]
    if hold_out:
        kept = np.arange(len(train["x"])) % 5 != 0
        test = {name: array[~kept] for name, array in train.items()}
        train = {name: array[kept] for name, array in train.items()}
    began, scores = time.process_time(), []
    for speaker in range(len(splits.constants["classes"])):
        own = train["label"] == speaker
        model = learned(torch.from_numpy(train["x"][own]), torch.from_numpy(train["lengths"][own]), settings)
        with torch.no_grad():
            scores.append(model.log_likelihood(torch.from_numpy(test["x"]), torch.from_numpy(test["lengths"])))
    return judged(torch.stack(scores, 1).numpy(), test, time.process_time() - began)


def judged(scores: np.ndarray, test: Any, seconds: float) -> Found:
    """`scores` (N, speakers): log p of each utterance under each speaker's model."""
    right = test["label"]
    own = scores[np.arange(len(right)), right]
    return {
        "accuracy": float((scores.argmax(1) == right).mean()),
        "nll": -float(own.sum() / test["lengths"].sum()),
        "utterances": len(right),
        "seconds": seconds,
    }


def learned(x: torch.Tensor, lengths: torch.Tensor, settings: dict[str, Any]) -> Chain:
    data = TrainingData(TensorSource(x=x, lengths=lengths))
    model = ChainPlan(states=3, topology="left-right", **settings).build_for(data, 0)
    if settings["emission"] == "gaussian":
        list(Trainer(model, BaumWelch(epochs=30.0, floor=0.01), data).run())
        return model
    learner = LEARNERS["likelihood"](algorithm="exact", learning_rate=0.01, batch_size=30, epochs=150.0, clip_norm=10.0)
    list(Trainer(model, learner, data).run())  # type: ignore[arg-type]
    return model


def peers(path: str, covariance: str, mixtures: int) -> Found:
    """hmmlearn on the same utterances, three states from left to right."""
    from hmmlearn import hmm

    splits = Sequences().open(Path(path))
    train, test = splits["train"], splits["test"]
    began, scores = time.process_time(), []
    for speaker in range(len(splits.constants["classes"])):
        rows = np.flatnonzero(train["label"] == speaker)
        frames = np.concatenate([train["x"][n, : train["lengths"][n]] for n in rows])
        kind = hmm.GaussianHMM if mixtures == 1 else hmm.GMMHMM
        more = {} if mixtures == 1 else {"n_mix": mixtures}
        model = kind(3, covariance_type=covariance, n_iter=30, init_params="mcw", random_state=0, **more)
        model.startprob_ = np.array([1.0, 0.0, 0.0])
        model.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
        model.fit(frames, train["lengths"][rows])
        scores.append([model.score(x[:n]) for x, n in zip(test["x"], test["lengths"], strict=True)])
    return judged(np.stack(scores, 1), test, time.process_time() - began)


def page(kept: Kept) -> str:
    """The tables, from what was measured."""
    lines = ["# Chains", "", f"Settings: {kept.settings_in_words}. Seconds are CPU time of one thread, one seed.", ""]
    lines += ["## Sentences, third order (Wiseman and Kim, Table 4)", ""]
    lines += ["| learned by | print, nats | here, nats | bits a word | CPU s |", "| --- | --- | --- | --- | --- |"]
    printed_in = {ALONE: "–", **{name: row[-1] for name, row in {**ROWS, **ENCODERS}.items()}}
    for name, printed in printed_in.items():
        found = kept.get(name)
        if found is not None:
            lines.append(f"| {name} | {printed} | {found['nll']:.2f} | {found['bits']:.3f} | {found['seconds']:.0f} |")
    lines += ["", WHY_TEXT, "", "## Speakers (thesis, chapter 7, on other speech)", ""]
    lines += [
        "| model | accuracy | nats a frame | held out: accuracy, nats | CPU s |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in (*SPEECH, *PEERS):
        found, chosen = kept.get(name), kept.get(f"{name}, held out")
        if found is not None:
            held = "–" if chosen is None else f"{chosen['accuracy']:.3f}, {chosen['nll']:.2f}"
            lines.append(f"| {name} | {found['accuracy']:.3f} | {found['nll']:.2f} | {held} | {found['seconds']:.0f} |")
    return "\n".join([*lines, "", WHY_SPEECH, ""])


WHY_TEXT = (
    "Why they differ: Penn Treebank cannot be had. These are short sentences of a text file with 1,000 words, six "
    "states for thirty and minutes for hours. What can be compared is the order of the rows."
)
WHY_SPEECH = (
    "Why they differ: TIMIT cannot be had. These are 270 + 370 utterances of two vowels by nine speakers. The row to "
    "trust is the one whose noise is best on held-out training utterances; one utterance of 370 is 0.0027."
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text")
    parser.add_argument("--speech")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=Path("sequences"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = Kept(options.folder, {"epochs": EPOCHS, "batch": BATCH, "rate": RATE, **SHAPE, **TEXT}, page)
    work: list[tuple[str, Any]] = []
    if options.speech:
        for name, settings in SPEECH.items():
            work.append((f"{name}, held out", lambda s=settings: speakers(options.speech, s, True)))
            work.append((name, lambda s=settings: speakers(options.speech, s, False)))
        if options.peer:
            work += [(name, lambda p=peer: peers(options.speech, *p)) for name, peer in PEERS.items()]
    if options.text:
        work += [(ALONE, lambda: unigram(options.text))]
        work += [(name, lambda r=row: sentences(options.text, *r[:3])) for name, row in ROWS.items()]
        work += [
            (name, lambda r=row: learned_with_encoder(options.text, TEXT, SHAPE, r[0], r[1], int(EPOCHS), RATE))
            for name, row in ENCODERS.items()
        ]
    for name, measure in work:
        if kept.get(name) is None and name.startswith(options.only):
            kept.add(name, measure())
            print(name, kept.get(name), flush=True)


if __name__ == "__main__":
    main()
