from __future__ import annotations

import pytest
import torch
from tests.training.terms.made_up_models import TIED, batch_of, chance, fitted

from attentest.errors import InputError
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.training.terms import TERMS
from attentest.training.terms.tying import Tying


@pytest.mark.parametrize("squared", [True, False])
def test_the_loss_and_its_gradient_are_those_of_the_formula_written_out(squared):
    model, batch = batch_of()
    loss = Tying(weight=3.0, squared=squared)(model, model.read(batch), batch, chance())
    model.zero_grad()
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    total, tokens = torch.zeros(()), 0
    for row in range(len(batch)):
        one = batch[row : row + 1].narrowed(int(batch.text.lengths[row]))
        reading = model.read(one)
        for place in one.mask[0].nonzero()[:, 0].tolist():
            apart = (reading.states[0, place] - reading.embeddings[0, place]).pow(2).sum()
            total, tokens = total + (apart if squared else apart.sqrt()), tokens + 1
    written_out = 3.0 * len(batch) * total / tokens
    written_out.backward()
    assert loss.item() == pytest.approx(written_out.item(), rel=1e-5)
    assert set(found) == {name for name in dict(model.named_parameters()) if name.startswith(("embedding", "encoder"))}
    for name, parameter in model.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-5)


def test_a_state_that_is_its_embedding_costs_nothing_and_has_a_finite_gradient():
    model, batch = batch_of(Architecture(ENCODERS.parse("none"), embedding=12))
    loss = Tying(squared=False)(model, model.read(batch), batch, chance())
    loss.backward()
    assert loss.item() == 0
    assert model.embedding.weight.grad.isfinite().all()


def test_training_with_it_brings_states_to_their_embeddings():
    def apart(model, encoded):
        batch = encoded.batch(torch.arange(len(encoded)).numpy())
        with torch.no_grad():
            return Tying(weight=1.0)(model, model.read(batch), batch, chance()).item() / len(batch)

    without, with_it = (apart(*fitted(*terms, rate=0.02)[:2]) for terms in ((), ("tying(weight=30)",)))
    assert with_it < without / 2


@pytest.mark.parametrize("encoder", ["bilstm(hidden=8)", "average(hidden=5)", "bilstm(hidden=6, skip='concat')"])
def test_states_of_another_size_are_refused_in_one_line(encoder):
    model, _ = batch_of(Architecture(ENCODERS.parse(encoder), embedding=12))
    size = model.encoder.size
    for name in ("tying", "mlm"):
        reason = TERMS[name]().objection(model)
        assert f"its states have {size} numbers and its embeddings 12" in reason
        assert f"--embedding) {size}" in reason
    assert Tying().objection(batch_of(TIED)[0]) is None


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan")])
@pytest.mark.parametrize("name", list(TERMS))
def test_a_weight_that_is_no_positive_number_is_refused(name, weight):
    with pytest.raises(InputError, match=f"{name}: weight="):
        TERMS[name](weight=weight)
