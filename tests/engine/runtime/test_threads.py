"""Work side by side: same results, same order, whatever the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from mrfstudio.engine.families.grid.model import GridMRF
from mrfstudio.engine.runtime.threads import shared_out, side_by_side
from mrfstudio.engine.training.learner import BatchContext
from mrfstudio.engine.training.learners.query import Query


@pytest.fixture(params=(1, 2))
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_come_in_the_order_of_the_items_and_each_operation_has_one_thread(threads: int) -> None:
    assert side_by_side(lambda item: (item * item, torch.get_num_threads()), range(20)) == [
        (item * item, 1) for item in range(20)
    ]
    assert torch.get_num_threads() == threads


def test_an_error_in_the_work_reaches_the_caller(threads: int) -> None:
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda item: 1 // item, [1, 0, 2])


def test_shared_work_is_done_once_by_the_caller_and_its_helpers(threads: int) -> None:
    meeting = threading.Barrier(threads)  # nobody goes on before all are at work

    def work(item: int) -> tuple[int, int, int]:
        if item < threads:
            meeting.wait()
        return item * item, torch.get_num_threads(), threading.get_ident()

    found = shared_out(work, range(20), threads)
    assert {item: answer[:2] for item, answer in found.items()} == {item: (item * item, 1) for item in range(20)}
    workers = {worker for *_, worker in found.values()}
    assert len(workers) == threads
    assert threading.get_ident() in workers
    assert torch.get_num_threads() == threads


def test_shared_work_that_is_stopped_leaves_the_rest_undone() -> None:
    assert shared_out(lambda item: -item, range(5), 1, lambda: True) == {0: 0}
    done = shared_out(lambda item: -item, range(1000), 2, lambda: True)
    assert 1 <= len(done) <= 1000
    assert done == {item: -item for item in done}


def test_helpers_compute_as_the_caller_does() -> None:
    """Gradients, inference mode and what becomes of numbers below the smallest ordinary one."""
    meeting, small = threading.Barrier(2), torch.tensor(1e-38)

    def work(_: int) -> tuple[bool, bool, bool]:
        meeting.wait()
        return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), float(small / 8) == 0

    for flushing in (True, False):
        torch.set_flush_denormal(flushing)
        assert set(shared_out(work, range(2), 2).values()) == {(True, False, flushing)}
        with torch.no_grad():
            assert set(shared_out(work, range(2), 2).values()) == {(False, False, flushing)}
        with torch.inference_mode():
            assert set(shared_out(work, range(2), 2).values()) == {(False, True, flushing)}


@pytest.mark.parametrize("wrong", [0, 1])
def test_an_error_of_a_helper_reaches_the_caller_too(wrong: int) -> None:
    meeting = threading.Barrier(2)

    def work(item: int) -> float:
        meeting.wait()
        return 1 / (item - wrong)

    with pytest.raises(ZeroDivisionError):
        shared_out(work, range(2), 2)


def gradient(threads: int) -> torch.Tensor:
    torch.set_num_threads(threads)
    model = GridMRF((3, 1, 1), emission=[0.8, 0.03, 0.001])
    model.randomise(0, [0.1, 0.7, 0.2])
    model.weights.requires_grad_()
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(0, 3, (5, 8, 8), generator=generator, dtype=torch.uint8)
    noisy = torch.randint(0, 2, (5, 8, 8), generator=generator, dtype=torch.uint8)
    learner = Query(noise="given", iterations=4, images_at_once=2)
    learner.batch(model, {"images": labels, "noisy_images": noisy}, {}, BatchContext(0, 0, 0, 5, slice(0, 5)))
    assert model.weights.grad is not None
    return model.weights.grad


def test_the_gradient_of_a_batch_does_not_depend_on_the_number_of_threads() -> None:
    before = torch.get_num_threads()
    try:
        one, two = gradient(1), gradient(2)
    finally:
        torch.set_num_threads(before)
    assert float(one.norm()) > 0
    assert torch.equal(one, two), (one - two).abs().max()
