"""Attentions and their parameters: how a query begins."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attentest.errors import InputError
from attentest.models.parts.attention import ATTENTIONS, ScaledDot
from attentest.registry import text_of


def test_a_learned_query_begins_as_torch_has_it_unless_asked_otherwise():
    torch.manual_seed(3)
    ours = ScaledDot().build(256).keys.weight
    torch.manual_seed(3)
    assert torch.equal(ours, nn.Linear(256, 1, bias=False).weight)
    assert text_of(ScaledDot()) == "dot"
    assert text_of(ScaledDot(init="normal")) == "dot(init='normal')"


def test_a_query_from_the_normal_distribution_has_its_moments():
    torch.manual_seed(0)
    drawn = torch.cat([ATTENTIONS.parse("dot(init='normal')").build(512).keys.weight.detach() for _ in range(40)])
    assert abs(float(drawn.mean())) < 0.03
    assert abs(float(drawn.std()) - 1) < 0.02
    assert abs(float((drawn.abs() < 1).double().mean()) - 0.6827) < 0.01


@pytest.mark.parametrize(("text", "query", "said"), [
    ("dot(init='xavier')", None, "kaiming, normal"),
    ("dot(init='normal')", 8, "Leave out init"),
])  # fmt: skip
def test_first_weights_that_cannot_be_are_refused_in_one_line(text, query, said):
    with pytest.raises(InputError, match=said) as error:
        ATTENTIONS.parse(text).build(8, query)
    assert "\n" not in str(error.value)
