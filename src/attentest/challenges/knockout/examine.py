"""Knock-out: does the prediction change most without the word that attention weighs most?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, ragged, reasons
from attentest.errors import InputError
from attentest.measures.capture import captured
from attentest.measures.divergence import total_variation
from attentest.measures.rank import kendall
from attentest.measures.rounding import moves
from attentest.models.capabilities import required
from attentest.models.huggingface.partial_forward.edits import KnockedOut
from attentest.models.huggingface.partial_forward.from_layer import FromLayer
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.subject import Subject
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["Knockout"]

#: Which attentions may be chosen; "all" is the model's own, or an encoder's and that between encoder and decoder.
KINDS = ("all", "self", "encoder", "cross")
_LAYERS = re.compile(r"all|(?P<end>first|last) (?P<count>\d+)|(?P<low>\d+)(?:-(?P<high>\d+))?")


class _Effects(NamedTuple):
    """What knocking out each word does."""

    #: Total variation distance of the prediction from the model's own, and whether the decision is another.
    change: Float[Tensor, "batch token"]
    turned: Bool[Tensor, "batch token"]
    #: The share of rows that had nothing left, and stayed as they were.
    stayed: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Knockout(Challenge):
    """Each word by itself loses its keys: in the chosen layers its weight is zero in every head and every row.

    For transformers. No layer may look at a word: in the chosen layers its weight is zero in every head and every
    row, all its pieces together, and the prediction is computed again; one word after the other. The word's place
    stays, so nothing else moves, unlike when the word is deleted. Read `top_is_most` beside `chance`: how often the
    word with most attention is the one the prediction needs most, and how often a blind guess would be. If
    `change_top` is no larger than `change_other`, the attention that is shown does not say what the model takes
    from its words. A word still speaks through its own rows: where the output is a mean over rows, or the last
    word's, some of it gets through. A row that may see nothing else, such as the first of a decoder without a first
    symbol, stays as it is (`rows_stayed`). As many passes as a text has words, those of the layers below the first
    chosen one left out. Not part of an audit unless asked for: `--challenge knockout`.
    """

    name: ClassVar[str] = "knockout"
    question: ClassVar[str] = "Does the prediction change most when every layer masks the word with the most attention?"
    reference: ClassVar[str] = "Geva et al. 2023, section 5 (attention knockout)"
    needs: ClassVar[tuple[type, ...]] = (Pretrained,)
    layers: Annotated[
        str,
        "`all`, `first 2`, `last 2`, one layer (`3`), or some (`3-5`). Of an encoder–decoder they count within each "
        "kind of attention.",
    ] = "all"
    kind: Annotated[
        str, "Of an encoder–decoder: `encoder`, `cross`, or `all` for both together. Other models have `self` alone."
    ] = "all"
    renormalise: Annotated[
        bool,
        "Scale what is left of a row to the sum it had, as Geva et al. do. Without it a hole is left, and the row "
        "passes on less.",
    ] = True
    own: Annotated[bool, "Whether the word's own rows still see it."] = False
    k: Annotated[int, "How many of the top words `captured` counts, at most half of a text's.", Within(1, 1000)] = 3
    per_token: Annotated[bool, "Keep what knocking out every word does (`changes`), not only summaries."] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in KINDS:
            raise InputError(f"knockout: kind={self.kind!r} must be one of {', '.join(KINDS)}.")
        match = _LAYERS.fullmatch(self.layers)
        named = [int(number) for number in re.findall(r"\d+", self.layers)]
        if match is None or 0 in named or named != sorted(named):
            raise InputError(f"knockout: layers={self.layers!r} must be 'all', 'first 2', 'last 2', '3' or '3-5'.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Whether attention ranks words as knocking them out does, and what that does."""
        return (
            Measure("tau", "tau", "mean", "Kendall τ-b of attention and the change of ŷ when a word is knocked out"),
            Measure("captured", "captured", "mean", f"change captured by the top {self.k} words (0 chance, 1 best)"),
            Measure(
                "top_is_most", "top_is_most", "fraction", "share where the top word is the one that changes ŷ most"
            ),
            Measure("chance", "chance", "share", "the same share for a random word"),
            Measure("top_flips", "top_flips", "fraction", "share of decisions that flip without the top word"),
            Measure("other_flips", "other_flips", "share", "share that flip without a random other word"),
            Measure("any_flips", "any_flips", "fraction", "share that some single word flips"),
            Measure("change_top", "change_top", "mean", "change of ŷ (TVD) without the top word"),
            Measure("change_other", "change_other", "mean", "change of ŷ without a random other word"),
            Measure("change", "change", "mean", "change of ŷ without a word, mean over all words"),
            Measure("rows_stayed", "rows_stayed", "share", "share of rows that saw nothing else and kept the word"),
        )

    def further_objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs the chosen layers of the chosen kind."""
        subject = required(Pretrained, subject, self.name)
        kinds = self._kinds(subject)
        if not kinds:
            there = [kind or "self" for kind in subject.places.kinds if kind != "decoder"]
            return f"kind={self.kind!r}: this model has {' and '.join(there)} attention"
        for kind in kinds:
            count = sum(place.kind == kind for place in subject.places.places)
            if self._numbers(count) is None:
                return f"layers={self.layers!r}: this model has {count} layers{f' of {kind} attention' if kind else ''}"
        return None

    def _kinds(self, subject: Pretrained) -> list[str]:
        """The chosen kinds that the model has; a decoder's own attention sees none of the text's words."""
        return [k for k in subject.places.kinds if k != "decoder" and self.kind in ("all", k or "self")]

    def _numbers(self, count: int) -> range | None:
        """The chosen layers of so many, from 1; None where there are not enough of them."""
        match = _LAYERS.fullmatch(self.layers)
        assert match is not None
        if self.layers == "all":
            return range(1, count + 1)
        if match["end"]:
            few = int(match["count"])
            found = range(1, few + 1) if match["end"] == "first" else range(count - few + 1, count + 1)
        else:
            found = range(int(match["low"]), int(match["high"] or match["low"]) + 1)
        return found if found[0] >= 1 and found[-1] <= count else None

    def _places(self, subject: Pretrained) -> list[int]:
        """The chosen attentions, by their numbers among the model's."""
        chosen = []
        for kind in self._kinds(subject):
            own = [number for number, place in enumerate(subject.places.places) if place.kind == kind]
            chosen += [own[number - 1] for number in self._numbers(len(own)) or ()]
        return sorted(chosen)

    def examine(self, examination: Examination) -> pa.Table:
        """As many passes as the texts have words, many of them side by side."""
        weights, mask, judged = examination.weights, examination.mask, ~examination.single
        effects = self._knocked_out(examination)
        moved = moves(effects.change, examination.logits, mask)
        top = weights.masked_fill(~mask, -1.0).argmax(-1, keepdim=True)
        most = effects.change.masked_fill(~mask, -1.0).argmax(-1, keepdim=True)
        others = mask.scatter(1, top, False)
        count = others.sum(-1).clamp(min=1)
        turned = effects.turned.double()
        return pa.table(
            {
                "row": examination.rows,
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                "tau": numbers(kendall(weights, effects.change, mask).tau.where(moved, torch.nan), judged),
                "captured": numbers(captured(weights, effects.change, mask, self.k).where(moved, torch.nan), judged),
                "top_is_most": flags((top == most)[:, 0], judged),
                "chance": numbers(1.0 / examination.lengths.clamp(min=1).double(), judged),
                "top_flips": flags(effects.turned.gather(1, top)[:, 0], judged),
                "other_flips": numbers((turned * others).sum(-1) / count, judged),
                "any_flips": flags((effects.turned & mask).any(-1), judged),
                "change_top": numbers(effects.change.gather(1, top)[:, 0], judged),
                "change_other": numbers((effects.change * others).sum(-1) / count, judged),
                "change": numbers((effects.change * mask).sum(-1) / (count + 1), judged),
                "largest_change": numbers(effects.change.gather(1, most)[:, 0], judged),
                "rows_stayed": numbers(effects.stayed, judged),
                **({"changes": ragged(effects.change, mask)} if self.per_token else {}),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

    def _knocked_out(self, examination: Examination) -> _Effects:
        """Every word of every text, some of them at a time."""
        subject, batch = required(Pretrained, examination.subject, self.name), examination.batch
        places = {number: subject.places.places[number] for number in self._places(subject)}
        rest = FromLayer.of(subject, batch, min(place.layer for place in places.values()))
        own = examination.reading.logits.double()
        change = own.new_zeros(batch.mask.shape)
        turned = torch.zeros_like(batch.mask)
        stayed, rows = (batch.keys.new_zeros(len(batch)) for _ in range(2))
        for part in batch.mask.nonzero().split(rest.room):
            text, word = part.unbind(-1)
            without = KnockedOut(rest.layout[text], word, self.own, self.renormalise)
            edits = {number: without.edit(crosses=place.kind == "cross") for number, place in places.items()}
            logits = rest(text, edits).double()
            change[text, word] = total_variation(logits.softmax(-1), own[text].softmax(-1))
            turned[text, word] = logits.argmax(-1) != own[text].argmax(-1)
            stayed.index_add_(0, text, without.stayed)
            rows.index_add_(0, text, without.rows)
        return _Effects(change, turned, stayed.double() / rows.clamp(min=1))
