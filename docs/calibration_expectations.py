"""What the protocol expected, beside what came, both as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from calibration_facts import Facts, number, ranged, share_of

from attentest.calibration.analysis.literature import EVIDENCE
from attentest.calibration.analysis.scoring import Fooled, Score

__all__ = ["expectations"]

YES, NO, PART = "✓", "✗", "in part"
ERASED, DELETED = "agreement.attention~state_erasure.captured", "agreement.attention~leave_one_out.captured"
#: Mechanisms whose attention lies on a state that gathered other words, or that stands for a neighbour.
GATHERS = ("gather", "shift", "window", "running", "aggregat", "cls")


def expectations(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """Each expectation in a few words, what came, and whether it was right."""
    held = [facts.score(name, "words") for name in EVIDENCE["reason"]]
    known = [one for one in held if one is not None]
    right = all(one.extremes.value > 0.95 and not one.between.value <= 0.8 for one in known) and bool(known)
    came = "; ".join(f"{ranged(one.extremes)}, between {ranged(one.between)}" for one in known)
    yield "1. `held`: AUROC above .95, between above .8", came, YES if right else NO

    states, words = facts.score(ERASED, "states"), facts.score(ERASED, "words")
    if states and words:
        fooled = [one.mechanism for one in facts.fooled.get(ERASED, []) if not one.faithful]
        named = [name for name in fooled if any(part in name.lower() for part in GATHERS)]
        right = states.extremes.value > 0.9 and bool(named)
        by = ", ".join(fooled[:5]) or "none"
        came = f"states {ranged(states.extremes)}, words {ranged(words.extremes)}; fooled by {by}"
        yield "2. Tests of states tell states (above .9) and are fooled about words by aggregators", came, _mark(right)

    weak = [
        one
        for one in facts.shown_scores("words")
        if one.measure.split(".")[0] in ("uniform", "permutation", "adversary")
    ]
    chance = [one for one in weak if one.near_chance]
    yield "3. `uniform`, `permutation`, `adversary` are near chance about words", _all(weak), _most(chance, weak)

    flips = [facts.score("flip_sets.attention.counted", truth) for truth in ("states", "words")]
    if all(flips):
        right = flips[0].extremes.value > 0.8 and flips[1].extremes.value < flips[0].extremes.value - 0.1
        came = f"states {ranged(flips[0].extremes)}, words {ranged(flips[1].extremes)}"
        yield "4. `flip_sets` tells states, not words", came, _mark(right)

    missed = [one for one in facts.fooled.get(DELETED, []) if one.faithful]
    right = any("any" in one.mechanism or "redundan" in one.mechanism for one in missed)
    by_world = _in_redundant_worlds(facts)
    yield (
        "5. Deletion of single words is fooled by redundancy",
        f"{DELETED.split('.')[1]}: in worlds with redundant words {by_world}; fooled by {_names(missed)}",
        PART if right or by_world.startswith("missed more") else NO,
    )

    pairs = [
        (facts.score(f"{stem}.tau", "words"), facts.score(f"{stem}.captured", "words"))
        for stem in sorted({one.measure.rpartition(".")[0] for one in facts.scores["words"] if "~" in one.measure})
    ]
    both = [(tau, captured) for tau, captured in pairs if tau and captured]
    better = [1 for tau, captured in both if captured.extremes.value > tau.extremes.value]
    yield (
        "6. Captured effect is better than Kendall's τ",
        f"better in {len(better)} of {len(both)} comparisons about words",
        _mark(len(better) > len(both) / 2),
    )

    raw = {
        kind: [facts.score(f"faithfulness.attention.{before}{kind}", "words") for before in ("", "normalised_")]
        for kind in ("comprehensiveness", "sufficiency")
    }
    if all(one for found in raw.values() for one in found):
        came = "; ".join(
            f"{kind} {ranged(a.extremes)}, normalised {ranged(b.extremes)}" for kind, (a, b) in raw.items()
        )
        wins = sum(b.extremes.value > a.extremes.value for a, b in raw.values())
        yield "7. Normalised comprehensiveness and sufficiency are better than raw ones", came, (NO, PART, YES)[wins]

    marked = facts.score("rationale.attention.average_precision", "words")
    if marked:
        yield "8. `rationale` tells words well", ranged(marked.extremes), _mark(marked.extremes.value > 0.85)

    rho, count, _ = facts.transfer
    if not math.isnan(rho):
        yield "9. The order of tests transfers, ρ above .5", f"ρ = {number(rho)} over {count} tests", _mark(rho > 0.5)

    one = facts.errors["mechanism"]["one"]
    right = facts.meets("check"), one.abstain[1] > 0 and one.abstain[2].value > 0.2
    came = f"*check* {'meets' if right[0] else 'does not meet'} its aims; *one* abstains on {share_of(one.abstain)}"
    yield "10. *Check* meets its aims, *one* abstains on more than 20 %", came, (NO, PART, YES)[sum(right)]

    rule, rival = facts.rivals[0][1], facts.rivals[1][1]
    total = [sum(part[0] for part in (errors.yes, errors.no, errors.abstain)) for errors in (rule, rival)]
    came = f"wrong or abstaining: rule {total[0]}, regression {total[1]} of {rule.abstain[1]} clear models"
    better = total[1] < total[0] - (rule.abstain[2].high - rule.abstain[2].low) / 2 * rule.abstain[1]
    yield "11. A regression over more tests is no better than the rule", came, _mark(not better)


def _mark(right: bool) -> str:
    return YES if right else NO


def _most(hits: list[Score], of: list[Score]) -> str:
    return YES if len(hits) == len(of) else PART if len(hits) >= len(of) / 2 else NO


def _all(scores: list[Score]) -> str:
    return "; ".join(f"`{one.measure}` {ranged(one.extremes)}" for one in scores)


def _names(fooled: list[Fooled]) -> str:
    return ", ".join(one.mechanism for one in fooled[:4]) or "no faithful mechanism"


def _in_redundant_worlds(facts: Facts) -> str:
    """How single deletion does for faithful members of worlds in which any of several words decides."""
    table = facts.table
    faithful = table.truth("words") >= 0.8
    redundant = table.kinds_of_world == "world-any"
    values = table.column(DELETED)
    there = [values[faithful & inside] for inside in (redundant, ~redundant)]
    if not all(len(part) for part in there):
        return "not measured"
    inside, outside = (float(part[part == part].mean()) for part in there)  # noqa: PLR0124
    said = "missed more" if inside < outside - 0.1 else "no worse"
    return f"{said}: mean {number(inside)} of faithful models, {number(outside)} in others"
