from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import classifier, made_up_split, whole

from attentest.errors import NotApplicable
from attentest.models.networks.classifier import Architecture
from attentest.models.networks.signals import Absorber, Difference, Relevance, log_mean, log_sum_exp
from attentest.models.parts.attention import ATTENTIONS, AttentionNetwork
from attentest.models.parts.encoders import ENCODERS, EncoderNetwork
from attentest.models.parts.heads import HeadNetwork

NUMBERS = st.floats(-30, 30)
KINDS = list(
    itertools.product(
        ("bilstm(hidden=6)", "bigru(hidden=6)", "convolution(filters=3)", "average(hidden=8)", "none"),
        ("additive", "dot", "uniform"),
        (2, 3),
    )
)


@pytest.mark.parametrize(("encoder", "attention", "classes"), KINDS)
def test_a_replay_has_the_values_of_the_network(encoder, attention, classes):
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10)
    model, encoded = classifier(parts, made_up_split(), classes)
    model, batch = model.double(), whole(encoded)
    x = model.embed(batch).detach()
    reference = torch.randn_like(x)
    leaves = torch.ones(len(batch), dtype=torch.float64)
    with torch.no_grad():
        expected, other = model.read(batch).logits, model.read(batch, embeddings=reference).logits
        for absorbs in (True, False):
            relevance = model.replay(batch, Relevance(x, Absorber(0.01, absorbs, leaves, leaves)))
            assert torch.allclose(relevance.replayed, expected, atol=1e-9)
        replayed = model.replay(batch, Difference(reference, x - reference))
    assert torch.allclose(replayed.reference, other, atol=1e-9)
    assert torch.allclose(replayed.reference + replayed.difference, expected, atol=1e-9)


@given(NUMBERS, NUMBERS)
def test_the_log_mean_is_the_slope_of_exp_between_two_numbers(x, y):
    found = math.exp(float(log_mean(*torch.tensor([[x], [y]], dtype=torch.float64))))
    expected = (math.exp(x) - math.exp(y)) / (x - y) if abs(x - y) > 1e-4 else math.exp((x + y) / 2)
    assert found == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@given(st.lists(st.tuples(NUMBERS, NUMBERS, st.booleans()), min_size=1, max_size=6))
def test_softmax_and_log_sum_exp_keep_the_whole_difference(numbers):
    before, after = (torch.tensor([[n[side] for n in numbers]], dtype=torch.float64) for side in (0, 1))
    mask = torch.tensor([[n[2] for n in numbers]])
    signal = Difference(before, after - before)
    weights = signal.softmax(mask)
    for total, e in ((weights.reference, before), (weights.reference + weights.difference, after)):
        expected = torch.where(mask, e, -torch.inf).softmax(-1).nan_to_num(nan=0.0)
        assert torch.allclose(total, expected, atol=1e-9)
    if mask.any():
        sums = [torch.where(mask, e, -torch.inf).logsumexp(-1) for e in (before, after)]
        assert torch.allclose(log_sum_exp(signal, mask), sums[1] - sums[0], atol=1e-9)


def test_the_shapley_rule_for_products_keeps_the_whole_difference():
    gate, signal = (Difference(torch.randn(3, 4).double(), torch.randn(3, 4).double()) for _ in range(2))
    product = signal.gated(gate)
    end = (gate.reference + gate.difference) * (signal.reference + signal.difference)
    assert torch.allclose(product.reference + product.difference, end)


def test_a_network_without_a_replay_says_so():
    class Encoder(EncoderNetwork):
        def forward(self, embeddings, lengths):
            raise AssertionError

        def without_each(self, embeddings, lengths, onto, plus):
            raise AssertionError

    class Attention(AttentionNetwork):
        def weigh(self, keys, mask, query=None):
            raise AssertionError

    class Head(HeadNetwork):
        affine = False

        def forward(self, context, query=None):
            raise AssertionError

    signal = Difference(torch.zeros(1, 2), torch.zeros(1, 2))
    for network, *more in ((Encoder(), torch.tensor([2])), (Attention(), torch.ones(1, 2).bool()), (Head(),)):
        with pytest.raises(NotApplicable, match="has no replay"):
            network.replay(signal, *more)
