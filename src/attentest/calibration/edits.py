"""A third kind of truth: people's edits, which changed a text as little as it takes to change its label.

A text and its twin differ in some spans. Every span is taken from one or the other, and what it does to the log-odds of
the prediction is its Shapley value. Both texts are real, and so is, nearly, everything between them. Only what the edit
changed is known to have mattered: words that both texts have may matter too, and hold nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.calibration.intervention import log_odds
from attentest.calibration.shapley import Drawn, all_sets_values, sampled_values
from attentest.challenges.edits.twins import twin_ids
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.measures.capture import held_share
from attentest.models.subject import Subject

__all__ = ["EditTruth", "Span", "Twins", "edit_truth", "spans_of", "twins_of"]

#: A span decides if it mattered at least this share of what the most important one did.
DECIDES = 0.1
#: Of so few spans all sets are tried; otherwise so many random orders.
FEW, ORDERS = 7, 32
#: A text is not judged where more than this share of what mattered lies in words that only its twin has.
ABSENT = 0.5
#: So many texts are read at once.
ROWS = 64


@dataclass(frozen=True)
class Twins:
    """A text, and what people made of it to change its label; of pairs the query, which they left as it was."""

    text: tuple[str, ...]
    twin: tuple[str, ...]
    query: tuple[str, ...] = ()


@dataclass(frozen=True)
class Span:
    """Words that an edit changed: where they begin and end in the text, and what its twin has in their place."""

    begin: int
    end: int
    other: tuple[str, ...]


@dataclass(frozen=True)
class EditTruth:
    """For every pair: does the edit change the prediction, and how much of what did so do attention's top words hold?

    0 is a blind choice of as many words, 1 the best. Not a number where the prediction stays, or where what changed it
    are words that only the twin has.
    """

    flips: np.ndarray
    held: np.ndarray


def twins_of(split: Split) -> dict[str, Twins]:
    """The twins in a split of `cad_imdb` or `cad_snli`, by the id of the text; of several twins, the first."""
    rows = split.table.select([name for name in ("id", "tokens", "second") if split.has(name)]).to_pylist()
    by_id = {row["id"]: row for row in rows}
    found: dict[str, Twins] = {}
    for row in rows:
        twin = next((by_id[name] for name in twin_ids(row["id"]) if name in by_id), None)
        query = tuple(row.get("second") or ())
        if twin is not None and query == tuple(twin.get("second") or ()):
            found[row["id"]] = Twins(tuple(row["tokens"]), tuple(twin["tokens"]), query)
    return found


def spans_of(twins: Twins) -> list[Span]:
    """Where the two differ; as many words for as many others are exchanged one by one."""
    spans: list[Span] = []
    for kind, a, b, c, d in SequenceMatcher(None, twins.text, twins.twin, autojunk=False).get_opcodes():
        if kind == "replace" and b - a == d - c:
            spans += [Span(a + i, a + i + 1, (word,)) for i, word in enumerate(twins.twin[c:d])]
        elif kind != "equal":
            spans.append(Span(a, b, twins.twin[c:d]))
    return spans


def edit_truth(subject: Subject, vocabulary: Vocabulary, pairs: Sequence[Twins], *, seed: int = 0) -> EditTruth:
    """What attention's top words hold of what each edit did."""
    found = [_judged(subject, vocabulary, one, np.random.default_rng((seed, i))) for i, one in enumerate(pairs)]
    flips, held = zip(*found, strict=True) if found else ((), ())
    return EditTruth(np.array(flips, dtype=bool), np.array(held, dtype=float))


def _judged(subject: Subject, vocabulary: Vocabulary, twins: Twins, random: np.random.Generator) -> tuple[bool, float]:
    spans = spans_of(twins)
    logits, weights = _read(subject, vocabulary, [twins.text, twins.twin], twins.query)
    predicted = logits.argmax(-1)
    if not spans or bool(predicted[0] == predicted[1]):
        return False, float("nan")

    def worth(choices: np.ndarray) -> np.ndarray:
        texts = [_mixed(twins, spans, choice) for choice in choices]
        said, _ = _read(subject, vocabulary, texts, twins.query)
        return log_odds(said, predicted[:1].expand(len(said))).numpy()

    mass = span_mass(worth, len(spans), random)
    sizes = np.array([span.end - span.begin for span in spans])
    if mass[sizes == 0].sum() > ABSENT * mass.sum():
        return True, float("nan")
    each = np.zeros(len(twins.text))
    for span, share in zip(spans, mass, strict=True):
        each[span.begin : span.end] = share / max(span.end - span.begin, 1)
    top = int(sizes[mass >= DECIDES * mass[sizes > 0].max()].sum())
    all_words = torch.ones(1, len(each), dtype=torch.bool)
    held = held_share(weights[:1], torch.from_numpy(each)[None], all_words, torch.tensor([top]))
    return True, float(held)


def span_mass(
    worth: Callable[[np.ndarray], np.ndarray], spans: int, random: np.random.Generator
) -> Float[np.ndarray, " span"]:
    """How much each span mattered: option 0 is the text's, 1 the twin's."""
    own, other = np.zeros(spans, dtype=int), _Other(np.full(spans, 2))
    groups = [[span] for span in range(spans)]
    if spans <= FEW:
        return all_sets_values(worth, own, other, groups, draws=1, random=random).mass
    return sampled_values(worth, own, other, groups, orders=ORDERS, random=random).mass


class _Other(Drawn):
    """What is not kept is always the twin's."""

    def evenly(self, size: int, random: np.random.Generator) -> np.ndarray:
        return np.ones((size, len(self.counts)), dtype=int)


def _mixed(twins: Twins, spans: Sequence[Span], choice: np.ndarray) -> tuple[str, ...]:
    """The text with some of its spans as its twin has them."""
    words: list[str] = []
    place = 0
    for span, other in zip(spans, choice, strict=True):
        words += twins.text[place : span.begin]
        words += span.other if other else twins.text[span.begin : span.end]
        place = span.end
    return (*words, *twins.text[place:]) or ("",)


@torch.no_grad()
def _read(
    subject: Subject, vocabulary: Vocabulary, texts: Sequence[tuple[str, ...]], query: tuple[str, ...]
) -> tuple[Float[Tensor, "text class"], Float[Tensor, "1 word"]]:
    """What the model says of these texts, and the weights of the words of the first."""
    second = [query] * len(texts) if query else None
    split = Split.of([str(i) for i in range(len(texts))], texts, [0] * len(texts), second=second)
    encoded, logits = Encoded.of(split, vocabulary), []
    weights = torch.empty(1, 0)
    for begin in range(0, len(texts), ROWS):
        rows = np.arange(begin, min(begin + ROWS, len(texts)))
        reading = subject.read(encoded.batch(rows).to(subject.device))
        logits.append(reading.logits.cpu())
        if not begin:
            weights = reading.weights[:1][reading.mask[:1]][None].double().cpu()
    return torch.cat(logits), weights
