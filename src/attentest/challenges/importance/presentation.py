"""What people see of importance: the lines that decide, figures, columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Line, Settling, Tone
from attentest.presentation.presentation import Caption, Column, Plot, Presentation
from attentest.presentation.thresholds import THRESHOLDS, agreed, percent, settled_by, settling_of, tone_of
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["GRADES", "PRESENTATION", "grade_by_text", "grades_of", "one_line", "states_line", "words_line"]

#: How a way of taking words out, or states, is called.
WAYS: Mapping[str, str] = {
    "delete": "deleted",
    "mask": "unknown",
    "draw": "drawn anew",
    "zero": "zeros",
    "mean": "the mean",
    "zero_attention": "weights taken out",
    "states": "exchanged",
}
#: What decides about words was calibrated with both of these.
NEEDED = ("delete", "mask")
#: The ways that take out no words.
OF_STATES = ("states", "zero_attention")
#: What may be said of a single text, by its tone.
GRADES: Mapping[str, str] = {
    "supports": "attention may be read",
    "mixed": "attention may be read in part",
    "against": "attention misleads",
}


@dataclass(frozen=True)
class _Evidence:
    """A column under every way of taking out, and what they say together."""

    ways: Mapping[str, Estimate]
    tones: tuple[Tone, ...]
    scale: str
    #: Ways without which it was not calibrated, and that were not asked for.
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, found: Findings, column: str, scale: str, ways: tuple[str, ...], needed: tuple[str, ...] = NEEDED
    ) -> _Evidence | None:
        measures = {
            measure.where["erasure"]: measure
            for measure in found.measures
            if measure.column == column and measure.where.get("explainer") == "attention"
        }
        estimates = {way: estimate(found, measures[way]) for way in measures if way in ways}
        if not estimates:
            return None
        tones = tuple(tone_of(scale, one) for one in estimates.values())
        return cls(estimates, tones, scale, tuple(way for way in needed if way not in estimates))

    @property
    def tone(self) -> Tone:
        """They speak where all do, and none that is needed is missing."""
        return "unsettled" if self.missing else agreed(self.tones)

    @property
    def apart(self) -> bool:
        """Whether one speaks for attention and another against it."""
        return {"supports", "against"} <= set(self.tones)

    @property
    def least(self) -> Estimate:
        """The lowest of them."""
        return min(self.ways.values(), key=lambda found: found.value)

    @property
    def settling(self) -> Settling | None:
        """What would settle the one that is hardest to settle; nothing would where they contradict each other."""
        if self.tone != "unsettled" or self.apart or self.missing:
            return None
        found = [settling_of(self.scale, one) for one in self.ways.values()]
        return max(
            (one for one in found if one is not None),
            key=lambda one: float("inf") if one.judged is None else one.judged,
            default=None,
        )

    @property
    def result(self) -> str:
        """Every way with its number."""
        if len(self.ways) == 1:
            return f"{self.least} (0 blind, 1 best)"
        return "; ".join(f"{WAYS[way]} {found}" for way, found in self.ways.items()) + " (0 blind, 1 best)"

    def unsettled(self, wording: Wording) -> str:
        """Why it is not settled; empty where it is."""
        if self.tone != "unsettled":
            return ""
        if self.missing:
            return f"It decides only with {' and '.join(self.missing)} among the erasures of importance."
        if self.apart:
            return f"The ways of taking {wording.items} out contradict each other, so none can be relied on here."
        if (settling := self.settling) is not None:
            return settled_by(settling, wording)
        return f"These {wording.units} give no interval."


def _line(
    key: str,
    question: str,
    short: str,
    evidence: _Evidence | None,
    words: Mapping[str, str],
    about: Literal["states", "tokens"],
    wording: Wording,
    more: str = "",
) -> Line | None:
    if evidence is None:
        return None
    return Line(
        key,
        question,
        evidence.result,
        f"{words.get(evidence.tone) or evidence.unsettled(wording)}{more}",
        evidence.tone,
        evidence.least,
        about,
        short,
        scale=evidence.scale,
        settling=evidence.settling,
        apart=evidence.apart,
        unsettled=evidence.unsettled(wording),
    )


def words_line(found: Findings, wording: Wording = TEXTS) -> Line | None:
    """Do attention's top words hold what mattered? All ways of taking words out must agree."""
    items = wording.items
    counts, grades = grades_of(found), ""
    if sum(counts.values()):
        readable = percent(counts["supports"] / sum(counts.values()))
        misleading = percent(counts["against"] / sum(counts.values()))
        grades = f" Single {wording.units}: in {readable} attention may be read, in {misleading} it misleads."
    return _line(
        "words",
        f"Do its top {items} hold what mattered?",
        f"Its {items} hold what mattered?",
        _Evidence.of(found, "held", "reason", tuple(way for way in WAYS if way not in OF_STATES)),
        {
            "supports": f"Yes: its top {items} hold most of what the prediction is made of.",
            "mixed": f"In part: some of what mattered lies on other {items}.",
            "against": f"No: what mattered lies on other {items}.",
        },
        "tokens",
        wording,
        grades,
    )


def states_line(found: Findings, wording: Wording = TEXTS) -> Line | None:
    """Does the output take what it says from the states that attention weighs?"""
    return _line(
        "states",
        "Does the output take what it says from the states it weighs?",
        "Its states make the output?",
        _Evidence.of(found, "held", "check", ("states",), ("states",)),
        {
            "supports": "Yes: the states with the largest weights are those that the output is made of.",
            "mixed": "In part: some of what the output says comes from states with little weight.",
            "against": "No: what the output says comes from states with little weight.",
        },
        "states",
        wording,
    )


def one_line(found: Findings, wording: Wording = TEXTS) -> Line | None:
    """Would neither other words nor other weights have done?"""
    items = wording.items
    return _line(
        "one",
        f"Would neither other {items} nor other weights have done?",
        "Would nothing else have done?",
        # The least of three numbers is too low where each varies with the draw.
        _Evidence.of(found, "one", "one", tuple(way for way in WAYS if way not in (*OF_STATES, "draw"))),
        {
            "supports": f"Nothing else: without these {items}, or with the weight elsewhere, the prediction falls.",
            "mixed": f"In part: without these {items}, or with the weight elsewhere, some of the prediction is left.",
            "against": f"Something else: without these {items}, or with the weight elsewhere, the prediction stays.",
        },
        "tokens",
        wording,
    )


def grades_of(found: Findings) -> dict[str, int]:
    """How many texts attention may be read in, in part or not at all."""
    tones = list(grade_by_text(found).values())
    return {tone: tones.count(tone) for tone in GRADES}


def grade_by_text(found: Findings) -> dict[str, str]:
    """What may be said of each text that was judged in every way, by its id: a key of ``GRADES``."""
    held = held_by_way(found)
    if not held.num_rows:
        return {}
    band, mean = THRESHOLDS["text"], held["held_mean"].to_numpy()
    tones = np.select([mean >= band.supports, mean <= band.against], ["supports", "against"], "mixed")
    return dict(zip(held["id"].to_pylist(), tones.tolist(), strict=True))


def held_by_way(found: Findings) -> pa.Table:
    """What attention's top words hold of each text that was judged in every way of taking words out, on average."""
    rows = found.rows({"explainer": "attention"})
    words = pc.invert(pc.is_in(rows["erasure"], pa.array(OF_STATES)))
    rows = rows.filter(pc.and_(words, pc.is_valid(rows["held"])))
    ways = pc.count_distinct(rows["erasure"]).as_py()
    means = rows.group_by("id", use_threads=False).aggregate([("held", "mean"), ("held", "count")])
    return means.filter(pc.equal(means["held_count"], ways))


def _figures() -> tuple[Plot, ...]:
    from attentest.challenges.importance.figures import applies, held_by_text

    return (
        Plot(
            "held",
            "held",
            lambda found, results: held_by_text(found, results.palette),
            Caption(
                "How much of what mattered do attention's top words hold?",
                "Each {w.unit} is a point: what attention's top words hold of the Shapley values of all words, when "
                "words are deleted and when the unknown word takes their place. 0 is a blind choice, 1 the best. The "
                "dashed lines part {w.units} where attention misleads, may be read in part, and may be read.",
            ),
            points=True,
            applies=applies,
        ),
    )


PRESENTATION = Presentation(
    "importance",
    place=25,
    rows="One row per text, explainer and way of taking words out.",
    columns=(
        Column("explainer", "string", "the explainer whose top words are taken"),
        Column("erasure", "string", "how words are taken out, or states exchanged"),
        Column("tokens", "int32", "the number of tokens"),
        Column("held", "double", "how much of what mattered these words hold: 0 a blind choice, 1 the best"),
        Column("one", "double", "how far they are the one reason: the least of `held` and of what goes without them"),
        Column("sampled", "double", "the same of the words that half of the orders find, by the other half"),
        Column("deciding", "double", "the number of words that decide, and that are taken"),
        Column("alone", "double", "what taking out single words does, over what all words' values add up to"),
    ),
    lines=(
        lambda found, results: words_line(found, results.wording),
        lambda found, results: states_line(found, results.wording),
        lambda found, results: one_line(found, results.wording),
    ),
    figures=_figures,
    headline={
        "attention.held.delete": "",
        "attention.held.mask": "",
        "sampled.mask": "",
    },
    in_study={"attention.held.mask": "what mattered, held"},
)
