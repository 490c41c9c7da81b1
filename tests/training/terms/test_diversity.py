from __future__ import annotations

import pytest
import torch
from tests.training.terms.made_up_models import batch_of, chance, fitted

from attentest.measures.conicity import conicity
from attentest.training.terms.diversity import Diversity


def test_the_loss_and_its_gradient_are_those_of_the_formula_written_out():
    model, batch = batch_of()
    loss = Diversity(weight=0.7)(model, model.read(batch), batch, chance())
    model.zero_grad()
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    total = torch.zeros(())
    for row in range(len(batch)):
        one = batch[row : row + 1].narrowed(int(batch.text.lengths[row]))
        states = model.read(one).states[0][one.mask[0]]
        mean = states.mean(0)
        total = total + torch.stack([h @ mean / (h.norm() * mean.norm()) for h in states]).mean()
    (0.7 * total).backward()
    assert loss.item() == pytest.approx(0.7 * total.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-5)


def test_training_with_it_lowers_conicity():
    def of(model, encoded):
        batch = encoded.batch(torch.arange(len(encoded)).numpy())
        with torch.no_grad():
            return conicity(model.read(batch).states, batch.mask).mean().item()

    without, with_it = (of(*fitted(*terms, rate=0.02)[:2]) for terms in ((), ("diversity(weight=5)",)))
    assert with_it < without - 0.1
