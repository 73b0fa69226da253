"""Conditional RBMs on a canvas: the damaged picture is seen, the clean one is asked for."""

from __future__ import annotations

import pytest
import torch

from mrfstudio.engine.families.crbm.decoding import decoded
from mrfstudio.engine.families.crbm.model import CRBM
from mrfstudio.engine.families.pixels import pixels_of
from mrfstudio.engine.families.rbm.matrix_bp import MatrixBP
from mrfstudio.engine.inference.algorithm import Algorithm
from mrfstudio.engine.inference.mean_field import MeanField
from mrfstudio.engine.inference.messages.belief_propagation import BeliefPropagation

SHAPE = (4, 5)


def machine() -> CRBM:
    torch.manual_seed(0)
    model = CRBM(20, 20, 6, image_shape=SHAPE)
    for tensor in list(model.tensors().values())[:-1]:
        tensor.normal_().mul_(0.4)
    return model


@pytest.mark.parametrize("decoder", ["mean-field", "sum"])
def test_the_canvas_answers_what_the_decoder_answers(decoder: str) -> None:
    model = machine()
    grey = (torch.rand(SHAPE) > 0.5).float()
    unknown = torch.zeros(SHAPE, dtype=torch.bool)
    unknown[1:3, 1:3] = True
    seen = torch.where(unknown, 0.0, grey)
    wanted = decoded(model, seen.reshape(1, -1), decoder=decoder, iterations=12)
    algorithm: Algorithm = MeanField() if decoder == "mean-field" else MatrixBP()
    evidence = model.evidence_from_image(grey, unknown)
    state = algorithm.init(model, evidence)
    for _ in range(12):
        state = algorithm.step(model, evidence, state)
    beliefs = algorithm.beliefs(model, evidence, state)
    assert beliefs.shape == (*SHAPE, 2)
    assert torch.allclose(beliefs[..., 1].flatten(), wanted.visible[0], atol=1e-5)
    assert torch.allclose(algorithm.hidden_beliefs(model, evidence, state), wanted.hidden[0], atol=1e-5)


def test_a_hidden_unit_is_held_and_known_pixels_may_change() -> None:
    model, bp = machine(), BeliefPropagation()
    odds = torch.zeros(6)
    odds[2] = torch.inf
    answers = []
    for hidden in (None, odds, -odds.nan_to_num(posinf=1e9)):
        evidence = model.evidence_from_image(torch.zeros(SHAPE), None, 1.0, hidden)
        state = bp.init(model, evidence)
        for _ in range(30):
            state = bp.step(model, evidence, state)
        answers.append(bp.beliefs(model, evidence, state)[..., 1])
        if hidden is odds:
            assert bp.hidden_beliefs(model, evidence, state)[2] == 1
    assert not torch.allclose(answers[0], answers[1], atol=1e-3)
    assert not torch.allclose(answers[1], answers[2], atol=1e-3)
    assert pixels_of(model).answers_all
    assert pixels_of(model).fields(model).shape == (6, *SHAPE)
    assert set(pixels_of(model).algorithms) >= {"matrix-bp", "mean-field"}
