"""Training with loss terms: resumed, frozen, and what stays of the task."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import Heard
from tests.training.terms.made_up_models import TIED, fitted

from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.training.loop import Training, fit
from attentest.training.resume import Resume
from attentest.training.terms import TERMS

EVERY = list(TERMS)


class Killed(Exception):
    """The process died."""


@pytest.mark.parametrize("terms", [*((name,) for name in EVERY), tuple(EVERY)], ids=" ".join)
def test_training_that_was_killed_gives_the_same_bytes_as_undisturbed_training(terms, tmp_path, monkeypatch):
    undisturbed, _, epochs = fitted(*terms, epochs=4)
    heard = Heard()

    class Dies(Resume):
        def save(self, *given):
            super().save(*given)
            if len(given[-1]) == 2:
                raise Killed

    with pytest.raises(Killed):
        fitted(*terms, epochs=4, resume=Dies(tmp_path / "training", "key", every=0))
    resumed, _, again = fitted(*terms, epochs=4, resume=Resume(tmp_path / "training", "key", 0, heard.say))
    assert heard.lines == ["Going on after epoch 2."]
    assert [(e.loss, e.score) for e in epochs] == [(e.loss, e.score) for e in again]
    for name, value in undisturbed.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name])


@pytest.mark.parametrize("name", EVERY)
def test_every_term_changes_what_is_learnt_and_costs_something(name):
    plain, _, losses = fitted(epochs=1)
    model, _, more = fitted(name, epochs=1)
    assert more[0].loss > losses[0].loss
    encoders = (dict(m.encoder.named_parameters()) for m in (plain, model))
    before, after = encoders
    assert any(not torch.equal(before[part], after[part]) for part in before)


@pytest.mark.parametrize("encoder", ["bilstm(hidden=6, layers=2, skip='residual')", "orthogonal_lstm(hidden=12)"])
@pytest.mark.parametrize("attention", ["dot(init='normal')", "additive(normaliser='sparsemax')"])
def test_every_encoder_and_attention_learns_with_all_terms_at_once(encoder, attention):
    made = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), embedding=12)
    _, _, epochs = fitted(*EVERY, architecture=made, epochs=4, rate=0.01)
    assert epochs[-1].loss < epochs[0].loss


def test_frozen_embeddings_stay_as_they_begin_and_may_learn_again_afterwards():
    new = Classifier(TIED, 5, 2, torch.Generator().manual_seed(0))
    model, _, _ = fitted(freeze=True)
    free, _, _ = fitted()
    begun, _, _ = fitted("mlm", epochs=1)
    assert torch.equal(model.embedding.weight, begun.embedding.weight)
    assert not torch.equal(model.embedding.weight, free.embedding.weight)
    assert model.embedding.weight.requires_grad == new.embedding.weight.requires_grad


def test_without_terms_the_loss_is_that_of_the_task_alone():
    model, train, epochs = fitted(epochs=2)
    again = Classifier(TIED, model.words, 2, torch.Generator().manual_seed(0))
    alone = fit(again, train, train, Training(epochs=2, batch_size=8), seed=3)
    assert [epoch.loss for epoch in alone] == [epoch.loss for epoch in epochs]
