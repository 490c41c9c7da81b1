"""What was checked of every explainer's scores, over all texts of a run: a few words for each, on page and terminal.

The numbers are those of the challenges ``certificates`` and, where it was run, ``randomisation``. Checks known here
become words; any other is given by its name, so that nothing an explainer says of itself is lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from rich import box
from rich.table import Table
from rich.text import Text

from attentest.presentation.certificates import ABSORBING, OUTCOMES, Check, figure
from attentest.presentation.presentation import Results
from attentest.presentation.text import visible
from attentest.registry import name_in_words
from attentest.store.findings import Findings, Measure
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["Checked", "checked", "checks_table", "checks_terminal", "failed"]

#: The layer of ``randomisation`` where no learnt weight is left.
EVERYTHING = "everything"
#: Names as a certificate has them, and how a reader would say them.
SAID = {
    "fit": "adjusted R² of the fit to the sampled outputs",
    "standard_error": "standard error of the mean over noisy copies",
}


@dataclass(frozen=True)
class Checked:
    """One explainer and what came out, each a sentence."""

    words: str
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> str:
        """The worst of them: fails before note before holds."""
        found = {check.outcome for check in self.checks}
        return next((one for one in ("fails", "note") if one in found), "holds")

    @property
    def sentence(self) -> str:
        """All of them."""
        return " ".join(check.words for check in self.checks)


@dataclass(frozen=True)
class Values:
    """The values of one check over the texts that were judged, and which of them lie within its limit."""

    value: np.ndarray
    within: np.ndarray
    limit: float | None

    def counted(self, wording: Wording) -> str:
        """On how many texts, or steps."""
        return wording.counted(len(self.value))

    @property
    def middle(self) -> float:
        """The median."""
        return float(np.median(self.value))

    @property
    def most(self) -> float:
        """The largest."""
        return float(self.value.max())

    @property
    def share(self) -> float:
        """The share of texts within the limit."""
        return float(self.within.mean())


def checked(
    certificates: Findings | None, randomisation: Findings | None = None, wording: Wording = TEXTS
) -> list[Checked]:
    """Every explainer of the findings with what was checked of it, in the order of the findings."""
    by_name: dict[str, list[Check]] = {}
    for name in () if certificates is None else pc.unique(certificates.table["explainer"]).to_pylist():
        by_name[name] = list(_sentences(dict(_values(certificates, name)), wording))
    for name, check in _random(randomisation):
        by_name.setdefault(name, []).append(check)
    return [Checked(name_in_words(name, list(by_name)), tuple(checks)) for name, checks in by_name.items() if checks]


def failed(certificates: Findings | None) -> frozenset[str]:
    """The explainers of which a check failed, as the findings call them."""
    names = [] if certificates is None else pc.unique(certificates.table["explainer"]).to_pylist()
    found = {name: Checked(name, tuple(_sentences(dict(_values(certificates, name)), TEXTS))) for name in names}
    return frozenset(name for name, one in found.items() if one.outcome == "fails")


def _values(certificates: Findings | None, explainer: str) -> Iterator[tuple[str, Values]]:
    assert certificates is not None
    rows = certificates.rows({"explainer": explainer})
    rows = rows.filter(pc.is_null(rows["not_judged"]))
    for check in pc.unique(rows["check"]).to_pylist():
        of = rows.filter(pc.equal(rows["check"], check))
        within = of["within"].fill_null(True).to_numpy()
        yield check, Values(of["value"].to_numpy(), within, of["limit"][0].as_py())


def _sentences(found: Mapping[str, Values], wording: Wording) -> Iterator[Check]:
    left = dict(found)
    for name in ("completeness_gap", "summation_gap"):
        if name in left:
            yield _sum(left.pop(name), left.pop("steps", None), left.pop("complete", None), wording)
    if "conservation_gap" in left:
        absorbed = {name: left.pop(f"absorbed_{name}", None) for name in ABSORBING}
        yield _conserved(left.pop("conservation_gap"), absorbed, wording)
    if "exact" in left:
        exact = float(left.pop("exact").value.mean())
        yield Check(f"Exact Shapley values for {_percent(exact)} of {wording.units}, estimates for the others.", "note")
    if "loop_gap" in left:
        yield _loop(left.pop("loop_gap"), wording)
    if "slope_gap" in left:
        yield _slope(left.pop("slope_gap"), wording)
    repeat, alone = left.pop("repeat_gap", None), left.pop("alone_gap", None)
    for name, values in left.items():
        said = SAID.get(name, name.replace("_", " "))
        yield Check(f"{said[0].upper()}{said[1:]}: {figure(values.middle)} in the middle.", "note")
    if repeat is not None:
        yield _repeated(repeat, alone, wording)


def _sum(gap: Values, steps: Values | None, complete: Values | None, wording: Wording) -> Check:
    whole = bool(gap.within.all())
    words = f"Adds up to F(text) − F(no words) within {_percent(gap.limit or 0)}"
    words += f" for {_percent(gap.share)} of {wording.units}"
    if not whole:
        words += f" (it misses {_percent(gap.middle)} in the middle, {_percent(gap.most)} at most"
        words += ", which its tolerance allows)" if _all(complete) else ")"
    if steps is not None:
        words += f", {steps.middle:,.0f} steps in the middle, {steps.most:,.0f} at most"
    return Check(f"{words}.", "holds" if whole else "note" if _all(complete) else "fails")


def _all(answers: Values | None) -> bool:
    return answers is not None and bool((answers.value == 1).all())


def _conserved(gap: Values, absorbed: Mapping[str, Values | None], wording: Wording) -> Check:
    means = {ABSORBING[name]: _percent(float(v.value.mean())) for name, v in absorbed.items() if v is not None}
    shares = ", ".join(f"{share} by {who}" for who, share in means.items())
    words = f"Relevance absorbed, on average: {shares}. With that it" if shares else "Relevance"
    if gap.within.all():
        return Check(f"{words} adds up to the output for every {wording.unit}.", "holds")
    return Check(f"{words} adds up to the output for {_percent(gap.share)} of {wording.units} only.", "fails")


def _loop(gap: Values, wording: Wording) -> Check:
    on = gap.counted(wording)
    if gap.within.all():
        return Check(f"Equal to a loop over the words on {on}, largest gap {_little(gap.most)}.", "holds")
    words = f"Differs from a loop over the words by up to {_percent(gap.most)} of the largest score, on {on}."
    return Check(words, "fails")


def _slope(gap: Values, wording: Wording) -> Check:
    on = gap.counted(wording)
    if gap.within.all():
        return Check(f"The output rises along the gradient as it says on {on}, within {_little(gap.most)}.", "holds")
    words = f"The output does not rise along the gradient as it says: misses {_percent(gap.middle)} of it in the "
    return Check(f"{words}middle, {_percent(gap.most)} at most, on {on}.", "fails")


def _repeated(repeat: Values, alone: Values | None, wording: Wording) -> Check:
    on = repeat.counted(wording)
    if not repeat.within.all():
        words = f"Computed again, scores differ by up to {_percent(repeat.most)} of the largest, on {on}."
        return Check(words, "fails")
    if alone is None or alone.within.all():
        near = "" if alone is None or alone.most == 0 else f", within {_little(alone.most)}"
        return Check(f"Computed again by themselves, {on} score the same{near}.", "holds")
    words = f"By themselves, {wording.units} score differently by up to {_percent(alone.most)} of the largest, on "
    words += f"{alone.counted(wording)}."
    return Check(words, "fails")


def _random(randomisation: Findings | None) -> Iterator[tuple[str, Check]]:
    """How like its own scores an explainer's are for a model of which nothing learnt is left."""
    if randomisation is None:
        return
    for name in pc.unique(randomisation.table["explainer"]).to_pylist():
        where = {"explainer": name, "layer": EVERYTHING}
        found = estimate(randomisation, Measure("", "spearman", "mean", "", where))
        if found.judged:
            like = f"{found.value:.2f}" + (f" [{found.low:.2f}, {found.high:.2f}]" if found.low == found.low else "")
            words = f"Likeness to its scores for a random model: ρ = {like.replace('-', '−')}."
            yield name, Check(words, "holds")


def _percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= share < 1:
        return "over 99.9 %"
    return f"{100 * share:.1f}".removesuffix(".0") + " %" if share < 0.1 or share > 0.99 else f"{100 * share:.0f} %"


def _little(value: float) -> str:
    """A gap, as 2e-7 where it is that small."""
    if value == 0:
        return "0"
    if value >= 0.001:
        return figure(value)
    digits, _, power = f"{value:.0e}".partition("e")
    return f"{digits}e−{-int(power)}"


def checks_table(results: Results) -> list[dict[str, Any]]:
    """The same as text, with a sign for each explainer that needs no colour."""
    certificates, randomisation = (results.found.get(name) for name in ("certificates", "randomisation"))
    return [
        {"words": one.words, "sign": OUTCOMES[one.outcome][0], "outcome": one.outcome, "sentence": one.sentence}
        for one in checked(certificates, randomisation, results.wording)
    ]


def checks_terminal(results: Results) -> Table | None:
    """The same for the terminal; None where the run did not ask."""
    found = checks_table(results)
    if not found:
        return None
    title = "What was checked of the explainers' scores"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE, padding=(0, 1), pad_edge=False)
    table.add_column("Explainer", overflow="fold", max_width=24)
    table.add_column("What came out", overflow="fold")
    for row in found:
        symbol, colour = OUTCOMES[row["outcome"]]
        words = Text.assemble((f"{symbol} ", colour), visible(row["sentence"]))
        table.add_row(Text(visible(row["words"])), words)
    return table
