"""Gradients within a budget: the same as those of everything at once, and never more alive than said."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import made_up_split, whole
from tests.support.pretrained import FAMILIES, LANGUAGE, tiny, tokenizer_of
from torch import Tensor

from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.pretrained import Pretrained, PretrainedReading
from attentest.models.huggingface.recomputing import in_parts

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(3, 2, 9)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))
BUDGET = "attentest.models.huggingface.partial_forward.above_site.NUMBERS"
SLOTS = "attentest.models.huggingface.partial_forward.above_site.SLOTS"


def subject_of(family: str) -> Pretrained:
    answers = ["word1", "word2"] if family in LANGUAGE else None
    return build_pretrained(tiny(family, size=len(TOKENIZER)).double(), TOKENIZER, VOCABULARY, answers=answers)


def read(subject: Pretrained, site: str) -> PretrainedReading:
    with torch.no_grad():
        reading = subject.at(site).read(BATCH)
    assert isinstance(reading, PretrainedReading)
    return reading


def drawn(count: int) -> Tensor:
    scores = torch.randn(len(BATCH), count, BATCH.mask.shape[1], generator=torch.Generator().manual_seed(0)).double()
    return scores.masked_fill(~BATCH.mask[:, None], -torch.inf).softmax(-1)


def slopes(reading: PretrainedReading, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Logits and their slope, with nothing coming back to every third alternative."""
    with torch.enable_grad():
        leaf = weights.clone().requires_grad_()
        logits = reading.reread(leaf)
        heard = torch.arange(logits.shape[1]) % 3 < 2
        (slope,) = torch.autograd.grad((logits[..., 0] * heard).sum(), leaf)
    return logits.detach(), slope


@settings(deadline=None)
@given(
    rows=st.integers(1, 9), room=st.integers(0, 10), kept=st.integers(0, 10), heard=st.lists(st.booleans(), min_size=9)
)
def test_parts_are_the_whole(rows: int, room: int, kept: int, heard: list[bool]) -> None:
    factors = torch.arange(1.0, rows + 1)
    again: list[int] = []

    def compute(some: Tensor, at: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            assert len(some) <= max(1, kept)
            again.extend(some.tolist())
        return (at**2 * factors[some, None]).cumsum(-1)

    start = torch.linspace(-1, 1, rows * 3).view(rows, 3)
    listened = torch.tensor(heard[:rows]).double()[:, None]
    leaf, other = (start.clone().requires_grad_() for _ in range(2))
    found, wanted = in_parts(compute, leaf, room=room, kept=kept), (other**2 * factors[:, None]).cumsum(-1)
    assert torch.equal(found, wanted)
    for values, at in ((found, leaf), (wanted, other)):
        (values * listened).sum().backward()
        assert at.grad is not None
    assert leaf.grad is not None
    assert torch.equal(leaf.grad, other.grad)
    if rows > kept:
        assert again == [row for row in range(rows) if heard[row]]
    with torch.no_grad():
        assert torch.equal(in_parts(compute, leaf, room=room, kept=kept), wanted)


@pytest.mark.slow
@pytest.mark.parametrize("family", [*FAMILIES, *LANGUAGE])
def test_a_small_budget_gives_the_same_logits_and_slopes(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, weights = subject_of(family), drawn(3)
    for site in (*(name for name in subject.sites if "head" not in name), f"{subject.sites[0]} row all"):
        logits, slope = slopes(read(subject, site), weights)
        assert slope.abs().sum() > 0
        for numbers, slots in ((1, 4096), (200_000, 4096), (2**26, 1)):
            with monkeypatch.context() as patched:
                patched.setattr(BUDGET, {"cpu": numbers})
                patched.setattr(SLOTS, {"cpu": slots})
                found = slopes(read(subject, site), weights)
            torch.testing.assert_close(found, (logits, slope), atol=1e-12, rtol=1e-9)


class Live:
    """Counts the numbers that are kept for gradients: each stretch of memory once, parameters left out."""

    def __init__(self, subject: Pretrained) -> None:
        self.own = {each.untyped_storage().data_ptr() for each in subject.parameters()}
        self.held: Counter[int] = Counter()
        self.now = self.most = 0

    def pack(self, value: Tensor) -> _Kept:
        # Cut off, because what a step of the graph gives would otherwise hold that step.
        return _Kept(self, value.detach())

    def unpack(self, kept: _Kept) -> Tensor:
        return kept.value

    def change(self, value: Tensor, by: int) -> None:
        place = value.untyped_storage().data_ptr()
        if place not in self.own:
            before, self.held[place] = self.held[place], self.held[place] + by
            size = value.untyped_storage().nbytes() // value.element_size()
            self.now += size * ((self.held[place] > 0) - (before > 0))
            self.most = max(self.most, self.now)


class _Kept:
    def __init__(self, live: Live, value: Tensor) -> None:
        self.live, self.value = live, value
        live.change(value, 1)

    def __del__(self) -> None:
        self.live.change(self.value, -1)


@pytest.mark.slow
@pytest.mark.parametrize("site", ["layer 1", "layer 2", "layer 3 row all", "layer 3"])
def test_no_more_is_alive_than_the_budget(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subject_of("bert")

    def most(budget: int, count: int) -> int:
        monkeypatch.setattr(BUDGET, {"cpu": budget})
        reading, live = read(subject, site), Live(subject)
        with torch.autograd.graph.saved_tensors_hooks(live.pack, live.unpack):
            slopes(reading, drawn(count))
        assert not live.now
        return live.most

    one = most(2**26, 1)
    small = one * 2
    assert most(2**26, 12) > 2.5 * small
    # The weights that were given are kept as well: once, and in double precision.
    assert most(small, 12) < small + 2 * drawn(12).numel()
    assert most(small, 60) < small + 2 * drawn(60).numel()


@pytest.mark.slow
def test_the_adversary_finds_the_same_with_a_small_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    subject, tokens = subject_of("bert"), SPLIT.table["tokens"].chunk(0)
    challenge = Adversary(steps=6, epsilon=1e-4)
    for site in ("layer 1", "layer 3"):
        tables = []
        for budget in (2**26, 1):
            monkeypatch.setattr(BUDGET, {"cpu": budget})
            reading = read(subject, site)
            with torch.no_grad():
                tables.append(challenge.examine(Examination(subject.at(site), BATCH, reading, 0, tokens)))
        for name in tables[0].column_names:
            one, other = (table[name].to_pylist() for table in tables)
            if name in ("adversarial_attention", "adversarial_probabilities"):
                one, other = ([*chain(*column)] for column in (one, other))
            assert one == [value if value is None else pytest.approx(value, abs=1e-9) for value in other], name
