"""The three figures of the first page, drawn from committed tables: ``python docs/home_figures.py`` writes them."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import fmean
from typing import Any

import altair as alt

from attentest.presentation.charts import ACCENT, COLOURS, INK, MUTED, THEME, data_of, styled, svg
from attentest.store.atomic import write_text

HERE = Path(__file__).parent
PAPERS = HERE.parent / "src" / "attentest" / "papers"
#: Tests by the paper that proposed them or is known for them, as the first page names them.
TESTS = {
    "importance.attention.held.delete": "importance: what its top words hold (decides)",
    "agreement.attention~leave_one_out.captured": "share of leave-one-out that it captures",
    "faithfulness.attention.normalised_comprehensiveness": "comprehensiveness, between its limits",
    "agreement.attention~gradient.tau": "τ with gradients",
    "agreement.attention~leave_one_out.tau": "τ with leave-one-out",
    "single_weight.delta_js": "the largest weight against another",
    "permutation.median_change": "permuted weights",
    "adversary.ratio": "adversarial weights",
    "uniform.flipped": "uniform weights flip decisions",
    "adversary.top_changed": "another top word, same prediction",
}
HEADS = {"paper": "the paper’s: sees no question", "joint": "sees the question", "joint_tanh": "sees it, tanh"}
CHANGES = {"uniform, train+infer": "uniform weights, trained so", "uniform, infer": "uniform weights, at inference"}

Row = dict[str, Any]


def fitted(chart: Any) -> Any:
    """The chart in the look of all charts, with room for fonts that are wider than the renderer's."""
    return styled(chart.properties(padding=THEME["padding"] | {"left": 34}))


def rows_of(path: Path) -> list[Row]:
    """A table as rows."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def searches() -> list[Row]:
    """By model: the share of texts on which the paper's search falls short by more than .05, or finds nothing."""
    return [
        {"family": row["family"], "short": float(row["adversary.short_by_05"])}
        for row in rows_of(HERE / "calibration" / "members.csv")
        if row["adversary.short_by_05"]
    ]


def wiring() -> list[Row]:
    """SNLI's change of accuracy without attention, by what the head sees."""
    found = []
    for row in rows_of(PAPERS / "vashishth_2019" / "headline.csv"):
        if row["corpus"] == "SNLI" and row["model"] == "bahdanau_2015" and row["group"] in CHANGES:
            numbers = {"value": float(row["ours"]), "low": float(row["low"]), "high": float(row["high"])}
            about = {"head": HEADS[row["head"]], "change": CHANGES[row["group"]], "published": float(row["published"])}
            found.append(about | numbers)
    return found


def trusted() -> list[Row]:
    """How well tests tell faithful from unfaithful attention, about words."""
    known = {row["measure"]: row for row in rows_of(HERE / "calibration" / "scores.csv") if row["truth"] == "words"}
    return [
        {"test": words, "value": float(known[name]["auroc"])}
        | {"low": float(known[name]["auroc_low"]), "high": float(known[name]["auroc_high"])}
        for name, words in TESTS.items()
    ]


def search_figure() -> Any:
    """Every model: how often the search falls short, beside the other models of its family."""
    rows = [row | {"place": (number * 0.618) % 1} for number, row in enumerate(searches())]
    families = sorted({row["family"] for row in rows})
    x = alt.X("short:Q", title="share of texts on which the search falls short", axis=alt.Axis(format="%"))
    axis = alt.Axis(ticks=False, domain=False, grid=False)
    base = alt.Chart(data_of(rows)).encode(x, alt.Y("family:N", title=None, sort=families, axis=axis))
    places = alt.YOffset("place:Q", scale=alt.Scale(domain=[-0.3, 1.3]))
    points = base.mark_circle(size=20, opacity=0.5, color=COLOURS[0]).encode(places)
    middle = base.mark_tick(color=COLOURS[1], thickness=3, size=44).encode(alt.X("median(short):Q"))
    return fitted(alt.layer(points, middle, width=330, height=alt.Step(56)))


def wiring_figure() -> Any:
    """SNLI's loss without attention: the paper's head beside heads that see the question."""
    y = alt.Y("head:N", title=None, sort=list(HEADS.values()), axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    x = alt.X("value:Q", title="change of accuracy, points", scale=alt.Scale(domain=[-45, 2], nice=False))
    panels = []
    for words in CHANGES.values():
        rows = [row for row in wiring() if row["change"] == words]
        base = alt.Chart(data_of(rows)).encode(y)
        printed = alt.Chart(data_of(rows[:1])).mark_rule(color=ACCENT, strokeDash=[4, 3], strokeWidth=1.6)
        panels.append(
            alt.layer(
                printed.encode(x="published:Q"),
                base.mark_bar(color=COLOURS[0], height=12).encode(x, alt.X2(datum=0)),
                base.mark_rule(color=INK, strokeWidth=2).encode(x="low:Q", x2="high:Q"),
                title=f"{words} (dashed: published)",
                width=330,
                height=alt.Step(30),
            )
        )
    return fitted(alt.vconcat(*panels, spacing=14).resolve_scale(x="shared"))


def trust_figure() -> Any:
    """The AUROC of ten tests about words, with intervals."""
    names = list(TESTS.values())
    y = alt.Y("test:N", title=None, sort=names, axis=alt.Axis(labelLimit=320, grid=True, ticks=False, domain=False))
    colour = alt.condition(alt.datum.test == names[0], alt.value(COLOURS[1]), alt.value(COLOURS[0]))
    base = alt.Chart(data_of(trusted())).encode(y, color=colour)
    chance = alt.Chart(data_of([{"x": 0.5}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x="x:Q")
    x = alt.X("value:Q", title="AUROC: faithful against unfaithful attention (dashed: a coin)")
    x = x.scale(alt.Scale(domain=[0.3, 1], nice=False))
    intervals = base.mark_rule(strokeWidth=2.2).encode(x="low:Q", x2="high:Q")
    return fitted(
        alt.layer(chance, intervals, base.mark_circle(size=60, opacity=1).encode(x), width=330, height=alt.Step(24))
    )


FIGURES = {"home-search": search_figure, "home-wiring": wiring_figure, "home-trust": trust_figure}


def facts() -> dict[str, str]:
    """The numbers that the first page says."""
    models, heads = searches(), {(row["change"], row["head"]): row["value"] for row in wiring()}
    trained = [row for row in models if row["family"] == "trained"]
    first, named = CHANGES["uniform, train+infer"], {row["test"]: row for row in trusted()}
    return {
        "models": str(len(models)),
        "texts short": f"{100 * fmean(row['short'] for row in models):.0f} %",
        "trained": str(len(trained)),
        "trained short": f"{100 * fmean(row['short'] for row in trained):.0f} %",
        "wired": f"{-heads[first, HEADS['paper']]:.1f}",
        "joint": f"{-heads[first, HEADS['joint']]:.1f}",
        "joint_tanh": f"{-heads[first, HEADS['joint_tanh']]:.1f}",
        **{name: f"{named[words]['value']:.2f}" for name, words in TESTS.items()},
    }


if __name__ == "__main__":
    for name, draw in FIGURES.items():
        write_text(HERE / "images" / f"{name}.svg", svg(draw()))
    for name, value in facts().items():
        print(f"{name}: {value}")
