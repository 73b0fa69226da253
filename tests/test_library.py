import numpy as np
import pytest

import mrfstudio
from mrfstudio.engine.catalogue import ParameterError
from mrfstudio.engine.photo import PhotoCut, cut_photo


def test_a_notebook_needs_three_lines() -> None:
    graph = mrfstudio.FactorGraph.ising([(0, 1), (1, 2)], [0.5, -1.0], [0.1, 0.0, 0.0])
    answer = mrfstudio.infer(graph, "bp", evidence={2: 1}, damping=0.2)
    exact = mrfstudio.infer(graph, "exact", evidence={2: 1})
    assert answer.converged
    assert answer.log_partition == pytest.approx(exact.log_partition, abs=1e-7)
    for ours, truth in zip(answer.marginals, exact.marginals, strict=True):
        np.testing.assert_allclose(ours, truth, atol=1e-7)


def test_a_wrong_parameter_names_the_near_one() -> None:
    graph = mrfstudio.ising_grid(2, 2)
    with pytest.raises(ParameterError, match="did you mean 'damping'"):
        mrfstudio.infer(graph, "bp", dampin=0.2)


def test_unknown_attributes_are_not_invented() -> None:
    with pytest.raises(AttributeError, match="no attribute 'infr'"):
        _ = mrfstudio.infr


def test_scribbles_cut_a_photograph_along_its_edges() -> None:
    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:70, :90]
    figure = (rows - 35) ** 2 + (columns - 40) ** 2 < 20**2
    photo = np.where(figure[..., None], [0.8, 0.3, 0.2], [0.2, 0.5, 0.3]) + 0.15 * rng.normal(size=(70, 90, 3))
    scribbles = np.zeros((70, 90), np.uint8)
    scribbles[5, 5:80] = 1
    scribbles[33:37, 30:50] = 2
    cut = cut_photo(photo.clip(0, 1).astype(np.float32), scribbles, 2, PhotoCut(), lambda text: None)
    assert ((cut.labels == 2) == figure).mean() > 0.99
    assert (cut.labels[scribbles > 0] == scribbles[scribbles > 0]).all()


def test_every_label_needs_a_stroke() -> None:
    scribbles = np.zeros((8, 8), np.uint8)
    scribbles[0, 0] = 1
    with pytest.raises(ValueError, match="no stroke of label 2"):
        cut_photo(np.zeros((8, 8, 3), np.float32), scribbles, 2, PhotoCut())
