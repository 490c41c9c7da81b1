from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.explainers.small_models import made

from attentest.explainers import EXPLAINERS
from attentest.explainers.budget import in_slices, positions

NO_MEMORY = "[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"


@given(st.integers(0, 40), st.integers(1, 50), st.integers(1, 12))
def test_slices_cover_everything_once_and_shrink_to_what_fits(count, size, fits):
    tried = []

    def work(part: slice) -> list[int]:
        tried.append(part.stop - part.start)
        if part.stop - part.start > fits:
            raise RuntimeError(NO_MEMORY)
        return list(range(part.start, part.stop))

    assert [i for part in in_slices(work, count, size) for i in part] == list(range(count))
    failures = [length for length in tried if length > fits]
    assert failures == sorted(failures, reverse=True)
    assert len(failures) <= 6


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory."), RuntimeError("not enough memory: you tried to allocate")]
)
def test_one_that_does_not_fit_is_an_error(error):
    def work(part: slice) -> None:
        raise error

    with pytest.raises(RuntimeError, match="memory"):
        in_slices(work, 3, 2)


def test_other_errors_are_not_tried_again():
    tried = []

    def work(part: slice) -> None:
        tried.append(part)
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        in_slices(work, 8, 8)
    assert len(tried) == 1


def test_a_gpu_is_given_more_than_a_core():
    assert positions(torch.device("cuda")) > positions(torch.device("cpu"))


#: Explainers, and how many texts at a time the encoder and attention still have room for.
ROOM = {
    "gradient_norm": 3,
    "gradient_x_input": 3,
    "smooth_grad(nt_samples=4)": 5,
    "integrated_gradients": 42,
    "occlusion": 3,
    "deletion": 42,
    "lime(n_samples=60)": 42,
    "kernel_shap(n_samples=60)": 42,
}


@pytest.mark.parametrize("text", list(ROOM))
def test_when_memory_runs_out_the_scores_are_the_same(text, monkeypatch):
    model, batch, reading = made("bilstm(hidden=4)", count=6)
    explainer = EXPLAINERS.parse(text)
    expected = explainer.scores(model, batch, reading)
    failed = []

    def scarce(call):
        def limited(self, first, *others):
            if first.shape[:-2].numel() > ROOM[text]:
                failed.append(first.shape)
                raise RuntimeError(NO_MEMORY)
            return call(self, first, *others)

        return limited

    for part, method in ((model.attention, "weigh"), (model.encoder, "forward")):
        monkeypatch.setattr(type(part), method, scarce(getattr(type(part), method)))
    assert torch.allclose(explainer.scores(model, batch, reading), expected, atol=1e-5)
    assert failed
