"""The figures of the page on the calibration, drawn from the table of members."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np
from calibration_facts import Facts

from attentest.calibration.analysis.fitting import CLEAR
from attentest.calibration.analysis.literature import EVIDENCE, TRUTHS, test_of
from attentest.presentation.charts import ACCENT, COLOURS, MUTED, PALE, data_of, styled

__all__ = ["FIGURES"]

USES = {"reason": "words (reason)", "check": "states (check)", "one": "one reason (one)"}
#: What is drawn along dials, beside the truth.
ALONG = {
    "truth": "truth about words",
    "importance.attention.held.mask": "importance: held (mask)",
    "agreement.attention~leave_one_out.captured": "agreement with leave-one-out: captured",
    "agreement.attention~state_erasure.captured": "agreement with state erasure: captured",
}


def held_and_truth(facts: Facts) -> Any:
    """What decides, against the truth: a panel for each use, a point for each member."""
    table = facts.table
    families = sorted(set(table.names("family").tolist()))
    colour = alt.Color(
        "family:N", title=None, scale=alt.Scale(domain=families, range=list(COLOURS)), legend=alt.Legend(columns=4)
    )
    panels = []
    for use, measures in EVIDENCE.items():
        held = np.mean([table.column(name) for name in measures], axis=0)
        truth = table.truth(TRUTHS[use])
        rows = [
            {"truth": float(x), "held": float(y), "family": family}
            for x, y, family in zip(truth, held, table.names("family"), strict=True)
            if math.isfinite(x) and math.isfinite(y)
        ]
        marks = facts.marks[use]
        scale = alt.Scale(domain=[-0.5, 1], clamp=True, nice=False)
        lines = [
            alt.Chart(data_of([{"y": mark}])).mark_rule(color=ACCENT, strokeDash=[4, 3]).encode(alt.Y("y:Q"))
            for mark in (marks.no, marks.yes)
            if -0.5 <= mark <= 1
        ]
        lines += [
            alt.Chart(data_of([{"x": mark}])).mark_rule(color=PALE, strokeWidth=1.5).encode(alt.X("x:Q"))
            for mark in CLEAR
        ]
        points = (
            alt.Chart(data_of(rows))
            .mark_circle(size=30, opacity=0.6)
            .encode(
                alt.X("truth:Q", title="truth, by intervention", scale=scale),
                alt.Y("held:Q", title="measured in the audit" if use == "reason" else None, scale=scale),
                colour,
            )
        )
        panels.append(alt.layer(*lines, points, title=USES[use], width=230, height=230))
    return styled(alt.hconcat(*panels, spacing=24))


def forest(facts: Facts) -> Any:
    """AUROC of every test that is shown, a panel for each truth, in the order of that for words."""
    order = [one.measure for one in facts.shown_scores("words")]
    order += [one.measure for truth in TRUTHS.values() for one in facts.shown_scores(truth) if one.measure not in order]
    order = list(dict.fromkeys(order))
    decides = {name for measures in EVIDENCE.values() for name in measures}
    panels = []
    for number, (use, truth) in enumerate(TRUTHS.items()):
        rows = [
            {
                "test": _label(one.measure),
                "value": one.extremes.value,
                "low": one.extremes.low,
                "high": one.extremes.high,
                "kind": "decides a use" if one.measure in decides else "near chance" if one.near_chance else "other",
            }
            for one in facts.shown_scores(truth)
        ]
        colour = alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(
                domain=["decides a use", "other", "near chance"], range=[COLOURS[0], COLOURS[2], COLOURS[1]]
            ),
            legend=alt.Legend(symbolType="circle", columns=3) if number == 0 else None,
        )
        axis = alt.Axis(labelLimit=330, labels=number == 0, ticks=False, domain=False, grid=True)
        y = alt.Y("test:N", title=None, sort=[_label(name) for name in order], axis=axis)
        x = alt.X("value:Q", title="AUROC", scale=alt.Scale(domain=[0, 1]))
        base = alt.Chart(data_of(rows)).encode(y, color=colour)
        chance = alt.Chart(data_of([{"x": 0.5}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x="x:Q")
        panels.append(
            alt.layer(
                chance,
                base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
                base.mark_circle(size=46, opacity=1).encode(x),
                title=USES[use],
                width=170,
                height=alt.Step(15),
            )
        )
    return styled(alt.hconcat(*panels, spacing=18).resolve_scale(y="shared"))


def _label(measure: str) -> str:
    return measure.replace(".attention.", ".").replace("attention~", "~")


def along_dials(facts: Facts, most: int = 18) -> Any:
    """Truth and tests along the dials that move the truth most, a panel for each mechanism, in one world."""
    table = facts.table
    keys = [
        *zip(table.names("family"), table.names("mechanism"), table.names("world"), table.names("dial"), strict=True)
    ]
    truth, values = table.truth("words"), table.column("value")
    best: dict[str, tuple[float, np.ndarray, tuple[str, ...]]] = {}
    for key in sorted(set(keys)):
        inside = np.array([one == key for one in keys]) & np.isfinite(truth)
        if key[3] and len(set(values[inside])) >= 4:
            reach = float(np.ptp(truth[inside]))
            if reach > best.get(key[1], (0.2,))[0]:
                best[key[1]] = (reach, inside, key)
    chosen = sorted(best.items(), key=lambda item: -item[1][0])[:most]
    panels = [_dial(facts, inside, key) for _, (_, inside, key) in sorted(chosen)]
    return styled(alt.concat(*panels, columns=6, spacing=14))


def _dial(facts: Facts, inside: np.ndarray, key: tuple[str, ...]) -> Any:
    table = facts.table
    columns: Mapping[str, np.ndarray] = {
        words: table.truth("words") if name == "truth" else test_of(name)[1] * table.column(name)
        for name, words in ALONG.items()
    }
    value = table.column("value")
    rows = [
        {"dial": float(value[i]), "y": float(column[i]), "what": words}
        for words, column in columns.items()
        for i in np.flatnonzero(inside)
        if math.isfinite(column[i])
    ]
    colour = alt.Color(
        "what:N",
        title=None,
        scale=alt.Scale(domain=list(ALONG.values()), range=[MUTED, *COLOURS[:3]]),
        legend=alt.Legend(columns=2, labelLimit=300),
    )
    places = sorted({row["dial"] for row in rows})
    base = alt.Chart(data_of(rows)).encode(
        alt.X("dial:O", title=key[3], sort=places, axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        alt.Y("mean(y):Q", title=None, scale=alt.Scale(domain=[-0.5, 1], clamp=True)),
        colour,
    )
    title = alt.Title(key[1], subtitle=key[2][:26], subtitleColor=MUTED, frame="group", fontSize=11, subtitleFontSize=9)
    return alt.layer(
        base.mark_line(strokeWidth=1.6), base.mark_circle(size=22, opacity=1), title=title, width=128, height=100
    )


def verdict_errors(facts: Facts) -> Any:
    """How often the verdict errs or abstains, by use and by what was left out."""
    words = {"mechanism": "a mechanism", "carrier": "a carrier", "world": "a world"}
    kinds = {
        "yes": ("yes to unfaithful", 0.05),
        "no": ("no to faithful", 0.05),
        "abstain": ("abstaining on clear ones", 0.2),
    }
    panels = []
    for number, (kind, (title, aim)) in enumerate(kinds.items()):
        rows = []
        for groups, by_use in facts.errors.items():
            for use, errors in by_use.items():
                share = getattr(errors, kind)[2]
                if not math.isnan(share.value):
                    numbers = {"value": share.value, "low": share.low, "high": share.high}
                    rows.append({"use": "single texts" if use == "text" else use, "left out": words[groups], **numbers})
        colour = alt.Color(
            "left out:N",
            title="left out",
            scale=alt.Scale(domain=list(words.values()), range=list(COLOURS[:3])),
            legend=alt.Legend(symbolType="circle"),
        )
        y = alt.Y(
            "use:N",
            title=None,
            sort=[*EVIDENCE, "single texts"],
            axis=alt.Axis(labels=number == 0, grid=True, ticks=False, domain=False),
        )
        base = alt.Chart(data_of(rows)).encode(y, alt.YOffset("left out:N", sort=list(words.values())), color=colour)
        mark = alt.Chart(data_of([{"x": aim}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x="x:Q")
        x = alt.X(
            "value:Q",
            title="share (dashed: the aim)",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 0.5], clamp=True),
        )
        panels.append(
            alt.layer(
                mark,
                base.mark_rule(strokeWidth=2.2).encode(x="low:Q", x2="high:Q"),
                base.mark_circle(size=56, opacity=1).encode(x),
                title=title,
                width=210,
                height=alt.Step(13),
            )
        )
    return styled(alt.hconcat(*panels, spacing=20))


FIGURES = {
    "calibration-held": held_and_truth,
    "calibration-auroc": forest,
    "calibration-dials": along_dials,
    "calibration-errors": verdict_errors,
}
