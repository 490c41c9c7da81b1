"""Gradients of Transformers models, at embeddings and at states, against the library's own model and differences."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest
import torch
from tests.conftest import made_up_split, whole
from tests.support.pretrained import FAMILIES, LANGUAGE, tiny, tokenizer_of
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.explainers.gradient.integrated_gradients import IntegratedGradients
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import ROWS

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(2, 3, 5)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))
TEXTS: list[list[str]] = SPLIT.table["tokens"].to_pylist()
ANSWERS = ["word1", "word2"]
PATHS = ("full", "detached")
STEP = 1e-5


@pytest.fixture(params=[*FAMILIES, *LANGUAGE])
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def softmax(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Nothing is cast to single precision on the way; the library's softmax is held fixed where that is asked for."""
    asked, to = {"detached": False}, Tensor.to

    def softmax(given: Tensor, dim: int = -1, **others: Any) -> Tensor:
        weights = torch.softmax(given, dim)
        return weights.detach() if asked["detached"] else weights

    def exactly(given: Tensor, *args: Any, **others: Any) -> Tensor:
        down = given.dtype == torch.float64 and torch.float32 in (*args, *others.values())
        return given if down else to(given, *args, **others)

    monkeypatch.setattr(torch.nn.functional, "softmax", softmax)
    monkeypatch.setattr(Tensor, "to", exactly)
    monkeypatch.setattr(Tensor, "float", lambda given: exactly(given, torch.float32))
    return asked


@lru_cache(maxsize=1)
def models(family: str) -> tuple[Pretrained, Any]:
    """A subject, and the library's own model of the same weights, both in double precision."""
    model = tiny(family, size=len(TOKENIZER)).double()
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    answers = ANSWERS if family in LANGUAGE else None
    return build_pretrained(model, TOKENIZER, VOCABULARY, answers=answers), eager


def sites(subject: Pretrained) -> Iterator[str]:
    """Every layer with every choice of rows, and every head with one of them in turn."""
    for number, name in enumerate(subject.sites):
        yield from (f"{name} row {row}" for row in ([ROWS[number % len(ROWS)]] if "head" in name else ROWS))


def difference(of: Callable[[float], Tensor]) -> Tensor:
    """The slope at zero."""
    with torch.no_grad():
        return (of(STEP) - of(-STEP)) / (2 * STEP)


class Own:
    """One text as the library's own model reads it, from the embeddings of its pieces."""

    def __init__(self, subject: Pretrained, eager: Any, words: list[str]) -> None:
        coded = TOKENIZER(words, is_split_into_words=True, return_tensors="pt")
        self.eager, self.start, self.mask = eager, subject.start, coded["attention_mask"]
        self.owner = [[place for place, word in enumerate(coded.word_ids()) if word == w] for w in range(len(words))]
        table = (eager.get_encoder() if self.start is not None else eager).get_input_embeddings()
        self.embedded: Tensor = table(coded["input_ids"]).detach()
        self.answers = None if subject.answers is None else subject.answers.tolist()

    def __call__(self, embedded: Tensor) -> Tensor:
        """The first class's logit less the second's."""
        inputs: dict[str, Any] = {"inputs_embeds": embedded, "attention_mask": self.mask}
        if self.start is not None:
            inputs["decoder_input_ids"] = torch.full((1, 1), self.start)
        out = self.eager(**inputs).logits[0]
        if self.answers is not None:
            out = out[-1][self.answers]
        found: Tensor = out[0] - out[1]
        return found

    def slope(self) -> Tensor:
        """At every piece's embedding."""
        leaf = self.embedded.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self(leaf), leaf)
        return slope[0]


def traced(subject: Pretrained, path: str, batch: Batch = BATCH) -> tuple[Tensor, Tensor, Tensor]:
    """The slopes at embeddings and at states, and the states."""
    with torch.enable_grad():
        leaf = subject.embed(batch).detach().requires_grad_()
        reading = subject.read(batch, embeddings=leaf, detach_attention=path == "detached")
        wanted = (reading.logits[:, 0] - reading.logits[:, 1]).sum()
        at_embeddings, at_states = torch.autograd.grad(wanted, (leaf, reading.states))
    return at_embeddings, at_states, reading.states.detach()


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_slopes_at_embeddings_are_the_librarys_at_every_site(family: str, path: str, softmax: dict[str, bool]) -> None:
    subject, eager = models(family)
    softmax["detached"] = path == "detached"
    wanted = [Own(subject, eager, words) for words in TEXTS]
    slopes = [(own.owner, own.slope()) for own in wanted]
    for site in sites(subject):
        found = traced(subject.at(site), path)[0].unflatten(2, (subject.pieces.most, -1))
        for text, (owner, slope) in enumerate(slopes):
            for word, places in enumerate(owner):
                got = found[text, 1 + word, : len(places)]
                torch.testing.assert_close(
                    got, slope[places], atol=1e-10, rtol=1e-6, msg=lambda m, site=site: f"{site}: {m}"
                )


def test_slopes_at_embeddings_are_the_differences_of_the_librarys_outputs(family: str) -> None:
    subject, eager = models(family)
    at_embeddings = traced(subject, "full")[0].unflatten(2, (subject.pieces.most, -1))
    for text, words in enumerate(TEXTS):
        own = Own(subject, eager, words)
        for word, places in enumerate(own.owner):
            step = torch.zeros_like(own.embedded)
            step[0, places] = own.embedded[0, places]
            wanted = difference(lambda size, own=own, step=step: own(own.embedded + size * step))
            found = (at_embeddings[text, 1 + word, : len(places)] * own.embedded[0, places]).sum()
            torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_slopes_at_states_are_differences_at_every_site(family: str, path: str) -> None:
    """A state that is shifted shifts the values of its word's pieces, in the site's heads and in no others."""
    subject, _ = models(family)
    layout, kept = subject.pieces.layout(BATCH), dict[int, Tensor]()
    places = range(len(subject.places.places))

    def keep(place: int):
        def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            kept[place] = weights
            return weights, values

        return edit

    with torch.no_grad():
        subject.passed(Pass(edits={place: keep(place) for place in places}), layout)
    for site in sites(subject):
        here = subject.at(site)
        _, slope, states = traced(here, path)
        direction = torch.randn(states.shape, generator=torch.Generator().manual_seed(1), dtype=states.dtype)
        heads = here.site.heads(subject.places.places[here.site.place].heads).nonzero()[:, 0].tolist()

        def moved(size: float, here: Pretrained = here, direction: Tensor = direction, heads: Any = heads) -> Tensor:
            def put(place: int):
                def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
                    if place == here.site.place:
                        values = values.clone()
                        for text, owner in enumerate(layout.owner.tolist()):
                            for slot in (slot for slot, word in enumerate(owner) if word >= 0):
                                by_head = direction[text, owner[slot]].view(len(heads), -1)
                                values[text, heads, slot] += size * by_head
                    return kept[place] if path == "detached" else weights, values

                return edit

            logits = subject.passed(Pass(edits={place: put(place) for place in places}), layout)
            return logits[:, 0] - logits[:, 1]

        wanted = difference(moved)
        found = (slope * direction * BATCH.mask[..., None]).sum((1, 2))
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-4, msg=lambda m, site=site: f"{site}: {m}")


@pytest.mark.parametrize("family", ["bert", "gpt2", "qwen3"])
def test_integrated_gradients_add_up_to_the_difference(family: str) -> None:
    subject, _ = models(family)
    with torch.no_grad():
        reading = subject.read(BATCH)
        empty = subject.read(BATCH, embeddings=no_words(subject))
    found = IntegratedGradients(n_steps=100).explain(subject, BATCH, reading)
    wanted = margins(reading.logits, reading) - margins(empty.logits, reading)
    assert wanted.abs().max() > 1e-3
    torch.testing.assert_close(found.scores.sum(-1), wanted, atol=1e-6, rtol=1e-3)
    assert found.certificate["complete"].all()


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian"])
def test_integrated_gradients_with_attention_held_add_up_to_the_difference(family: str) -> None:
    """Of the model whose every attention is that of the text, here put in place by the test."""
    subject, _ = models(family)
    layout, kept = subject.pieces.layout(BATCH), dict[int, Tensor]()
    places = range(len(subject.places.places))

    def edit(place: int):
        return lambda weights, values, allowed: (kept.setdefault(place, weights), values)

    def held(embeddings: Tensor) -> Tensor:
        given = subject.assembled(embeddings, BATCH, layout)
        with torch.no_grad():
            return subject.passed(Pass(edits={place: edit(place) for place in places}, embeddings=given), layout)

    with torch.no_grad():
        reading = subject.read(BATCH)
        whole, empty = held(subject.embed(BATCH)), held(no_words(subject))
    torch.testing.assert_close(whole, reading.logits)
    wanted = margins(whole, reading) - margins(empty, reading)
    found = IntegratedGradients(n_steps=100, path="detached").explain(subject, BATCH, reading)
    torch.testing.assert_close(found.scores.sum(-1), wanted, atol=1e-7, rtol=1e-3)
    assert found.certificate["complete"].all()
    full = IntegratedGradients(n_steps=100).explain(subject, BATCH, reading)
    assert (found.scores - full.scores).abs().max() > 1e-5


def no_words(subject: Pretrained) -> Tensor:
    """Embeddings of zeros in the place of every word's."""
    return torch.where(BATCH.mask[..., None], 0.0, subject.embed(BATCH))


def margins(logits: Tensor, reading: Any) -> Tensor:
    """The predicted class's logit less the other's."""
    target = reading.predicted[:, None]
    return logits.gather(1, target)[:, 0] - logits.gather(1, 1 - target)[:, 0]
