"""Certificates in print: the numbers that prove, or limit, an explainer's scores, as sentences.

An explainer gives its certificate as named numbers. Those known here become sentences that say whether the promise
holds; any other is printed by its name, so that nothing an explainer says of itself is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["ABSORBING", "OUTCOMES", "Check", "checks_of", "figure"]

#: A promise that holds, one that does not, and what is merely good to know, each with a sign that needs no colour.
OUTCOMES: Final = {"holds": ("✓", "green"), "fails": ("✗", "red"), "note": ("·", "dim")}
Outcome = Literal["holds", "fails", "note"]

#: Differences, as shares of the largest score, that rounding explains.
ROUNDING = 1e-5
#: The share of F(text) − F(no words) that a sum may miss, whatever the explainer's own tolerance is, and the least
#: that this is a share of: outputs in single precision are no finer.
MISSED, LEAST = 0.01, 0.01
#: What keeps relevance from the words, and how it is called.
ABSORBING: Final = {
    "bias": "biases",
    "epsilon": "ε",
    "symbols": "start and end symbols",
    "positions": "positions",
    "softmax": "the softmax's constants",
    "other_text": "prompt and second text",
}
#: Why a number that is none is none, where it is known.
UNDEFINED: Final = {"fit": "How well the scores fit (R²) cannot be said: too few samples for so many words."}


@dataclass(frozen=True)
class Check:
    """One sentence about the scores, and whether it is good news."""

    words: str
    outcome: Outcome


def figure(value: float, *, signed: bool = False) -> str:
    """A number with three digits that count, and a real minus sign."""
    if not math.isfinite(value):
        return "not a number"
    size = abs(value)
    digits = f"{size:.0f}" if size >= 999.5 else f"{size:#.3g}".rstrip(".") if size >= 0.001 else f"{size:.3f}"
    sign = "−" if value < 0 and float(digits) else "+" if signed and float(digits) else ""
    return f"{sign}{digits}"


def _little(value: float) -> str:
    """A gap, which nobody wants to read in powers of ten."""
    return "less than 0.001" if abs(value) < 0.001 else figure(abs(value))


def _share(value: float) -> str:
    return f"{round(100 * value)} %".replace("-", "−") if math.isfinite(value) else "not a number"


def _repeated(c: Mapping[str, float]) -> Check:
    apart = c["difference_when_repeated"]
    if apart <= ROUNDING:
        # Where every coalition was asked, nothing was drawn.
        drawn = "seed" in c and c.get("exact", 0) < 1
        return Check(f"The same scores when computed again{' with the same seed' if drawn else ''}.", "holds")
    return Check(f"Computed again, scores differ by up to {_share(apart)} of the largest.", "fails")


def _alone(c: Mapping[str, float]) -> Check:
    apart = c["difference_when_alone"]
    if apart <= ROUNDING:
        return Check("The same scores for a text by itself and among others.", "holds")
    return Check(f"By itself, a text's scores differ by up to {_share(apart)} of the largest.", "fails")


def _loop(c: Mapping[str, float]) -> Check:
    apart, tried = c["difference_from_a_loop"], c.get("words_in_the_loop")
    among = "" if tried is None else " (tried on 1 word)" if tried == 1 else f" (tried on {tried:,.0f} words)"
    if apart <= 10 * ROUNDING:
        return Check(f"Equal to taking each word out by itself and reading the rest again{among}.", "holds")
    said = f"Differs by up to {_share(apart)} of the largest score from taking each word out by itself{among}."
    return Check(said, "fails")


def _complete(c: Mapping[str, float]) -> Check:
    gap, difference = c["completeness_gap"], c.get("difference", math.nan)
    holds = gap <= _allowed(difference)
    if holds and "exact" in c:
        said = "The scores are made to add up to F(text) − F(no words), so that they do says nothing for them."
        return Check(said, "note")
    return _sum(gap, difference, holds, c.get("steps"))


def _delta(c: Mapping[str, float]) -> Check:
    gap, delta = c["summation_gap"], c.get("delta", math.nan)
    exact = 0.001 * max(1.0, abs(delta) if math.isfinite(delta) else 1.0)
    return _sum(gap, delta, gap <= min(exact, _allowed(delta)), None)


def _allowed(difference: float) -> float:
    """What a sum may miss."""
    return MISSED * max(abs(difference), LEAST) if math.isfinite(difference) else 0.001


def _sum(gap: float, difference: float, holds: bool, steps: float | None) -> Check:
    where = f", after {steps:,.0f} steps" if steps is not None else ""
    whole = f" = {figure(difference, signed=True)}" if math.isfinite(difference) else ""
    says = "The scores add up" if holds else "The scores do not add up"
    return Check(f"{says}: they miss F(text) − F(no words){whole} by {_little(gap)}{where}.", _passed(holds))


def _conserved(c: Mapping[str, float]) -> Check:
    kept = {name: c.get(name, 0.0) for name in ABSORBING}
    said = [name for name, share in kept.items() if name in ("bias", "symbols") or abs(share) >= 0.005]
    shares = ", ".join(f"{ABSORBING[name]} {_share(kept[name])}" for name in said)
    holds = c["conservation_gap"] <= 0.001
    rest = "Nothing is missing." if holds else f"{_little(c['conservation_gap'])} is missing."
    if max(map(abs, kept.values())) > 1:
        rest += " (What speaks for and against nearly cancels, so shares exceed the whole.)"
    return Check(f"Of the output, words get {_share(1 - sum(kept.values()))}, {shares}. {rest}", _passed(holds))


def _exact(c: Mapping[str, float]) -> Check:
    if c["exact"] >= 1:
        return Check("Every coalition of words was asked: these are the exact Shapley values.", "holds")
    return Check("Coalitions of words were sampled: the scores are estimates.", "note")


def _fit(c: Mapping[str, float]) -> Check:
    if c.get("exact", 0) >= 1:
        return Check(f"Added up, the scores give {_share(c['fit'])} of how the outputs vary (R²).", "note")
    said = f"Added up, the scores give {_share(c['fit'])} of how the sampled outputs vary (R², adjusted)."
    return Check(said, "note")


def _error(c: Mapping[str, float]) -> Check:
    return Check(f"The mean over noisy copies is uncertain by up to {figure(c['standard_error'])}.", "note")


def _symmetric(c: Mapping[str, float]) -> Check:
    holds = c["symmetry_gap"] <= 0.001
    return Check(f"A pair's two orders differ by {_little(c['symmetry_gap'])}.", _passed(holds))


def _passed(holds: bool) -> Outcome:
    return "holds" if holds else "fails"


#: The name that makes a sentence, the sentence, and the names it also uses up.
SENTENCES: tuple[tuple[str, Callable[[Mapping[str, float]], Check], tuple[str, ...]], ...] = (
    ("completeness_gap", _complete, ("difference", "steps", "complete")),
    ("summation_gap", _delta, ("delta",)),
    ("conservation_gap", _conserved, tuple(ABSORBING)),
    ("exact", _exact, ()),
    ("fit", _fit, ()),
    ("standard_error", _error, ()),
    ("symmetry_gap", _symmetric, ()),
    ("difference_from_a_loop", _loop, ("words_in_the_loop",)),
    ("difference_when_alone", _alone, ()),
    ("difference_when_repeated", _repeated, ("seed",)),
)


def checks_of(certificate: Mapping[str, float]) -> tuple[Check, ...]:
    """Every number of a certificate in words; a number that is none cannot be good news."""
    found, used = [], set()
    for name, sentence, also in SENTENCES:
        if name in certificate:
            used |= {name, *also}
            broken = not math.isfinite(certificate[name])
            found.append(_unknown(name, certificate[name]) if broken else sentence(certificate))
    found += [_unknown(name, value) for name, value in certificate.items() if name not in used]
    return tuple(found)


def _unknown(name: str, value: float) -> Check:
    if name in UNDEFINED and not math.isfinite(value):
        return Check(UNDEFINED[name], "note")
    return Check(f"{name.replace('_', ' ').capitalize()}: {figure(value)}.", "note")
