from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from tests.explainers.small_models import ENCODER_TEXTS, Plain, made

from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import certify
from attentest.explainers.explainer import Attribution, Explainer

CHECKED = (
    "attention",
    "gradient_x_input",
    "integrated_gradients",
    "smooth_grad(nt_samples=4)",
    "occlusion",
    "random",
    "kernel_shap(n_samples=40)",
)


@pytest.mark.parametrize("text", CHECKED)
def test_explainers_say_the_same_twice_and_of_a_text_alone(text):
    model, batch, _ = made("bilstm(hidden=8)")
    found = certify(EXPLAINERS.parse(text), model, batch, model.read(batch), seed=0)
    assert found["explainer"] == text
    assert found["texts"] == len(batch)
    assert found["difference_when_repeated"] == 0
    assert found["difference_when_alone"] < 1e-4
    assert "difference_from_a_loop" not in found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("text", ["deletion", "deletion(output='probability')", "leave_one_out"])
def test_deletion_is_held_against_a_loop_that_encodes_every_shortened_text(text, encoder, classes):
    model, batch, reading = made(encoder, classes)
    for subject, read in ((model, model.read(batch)), (Plain(model), reading)):
        found = certify(EXPLAINERS.parse(text), subject, batch, read, seed=1)
        assert found["difference_from_a_loop"] < 1e-4


def test_a_wrong_deletion_is_noticed(monkeypatch):
    model, batch, reading = made("bilstm(hidden=8)")
    right = type(model).delete_each
    monkeypatch.setattr(type(model), "delete_each", lambda self, batch: right(self, batch) + torch.tensor([0.0, 0.01]))
    assert certify(EXPLAINERS.parse("deletion"), model, batch, reading, seed=0)["difference_from_a_loop"] > 1e-3


def test_the_explainers_own_certificate_is_summed_up():
    model, batch, reading = made("bilstm(hidden=8)")
    found = certify(EXPLAINERS.parse("integrated_gradients"), model, batch, reading, seed=0)
    assert found["largest_completeness_gap"] < 1e-4
    assert found["smallest_complete"] == 1
    assert found["largest_steps"] == 50


@dataclass(frozen=True)
class Moody(Explainer):
    """Other scores at every call."""

    name: ClassVar[str] = "moody"

    def explain(self, subject, batch, reading, target=None) -> Attribution:
        return Attribution(torch.rand(batch.mask.shape) * batch.mask)


def test_scores_that_change_from_call_to_call_are_noticed():
    model, batch, reading = made("average(hidden=8)")
    found = certify(Moody(), model, batch, reading, seed=0)
    assert found["difference_when_repeated"] > 0.1
    assert found["difference_when_alone"] > 0.1
