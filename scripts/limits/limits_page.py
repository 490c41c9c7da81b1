"""What docs/explanation/limits-of-saliency.md shows of its table: predictions, tables, and the figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
from limits_judged import (
    BASELINES,
    CORPORA,
    EDITED,
    EXPLAINERS,
    FRAGILITY,
    GRADIENT,
    OTHERS,
    RELAYED,
    RELAYED_BY,
    RELEVANCE,
    SIZES,
    Case,
    Row,
    Table,
    predictions,
)

from attentest.presentation.charts import COLOURS, INK, MUTED, THEME, data_of, reference_line, styled

#: Every explainer that was asked about people's edits, by its name.
ASKED = EXPLAINERS | OTHERS


def _judged(rows: Sequence[Row]) -> Iterator[str]:
    yield "| predicted before the runs | came out | where not |"
    yield "| --- | --- | --- |"
    for _, words, outcome, cases in predictions(rows):
        count = f" ({sum(one == 'met' for _, one in cases)} of {len(cases)})" if len(cases) > 1 else ""
        yield f"| {words} | **{outcome}**{count} | {_exceptions(cases) or '–'} |"


def _exceptions(cases: Sequence[Case]) -> str:
    if len(cases) == 1:
        return cases[0][0]
    return "; ".join(
        f"{outcome}: {', '.join(name for name, one in cases if one == outcome)}"
        for outcome in ("missed", "unsettled")
        if any(one == outcome for _, one in cases)
    )


def printed(row: Row) -> str:
    """A figure with its interval, as the page has it."""
    value, low, high = (
        f"{float(row[name]):.2f}".replace("0.", ".").replace("-", "−") for name in ("value", "low", "high")
    )
    return f"{value} [{low}, {high}]".replace("−.00", ".00")


def _by_corpus(
    rows: Sequence[Row], part: str, at: str, measure: str, explainers: Sequence[str], corpora: dict[str, str]
) -> Iterator[str]:
    table = Table(rows)
    yield f"|  | {' | '.join(corpora.values())} |"
    yield "| --- |" + " --: |" * len(corpora)
    for explainer in explainers:
        cells = (printed(table(part, corpus, explainer, at, measure)) for corpus in corpora)
        yield f"| {ASKED.get(explainer, explainer.replace('_', ' '))} | {' | '.join(cells)} |"


def _fragility(rows: Sequence[Row]) -> Iterator[str]:
    table = Table(rows)
    asked = ("attention", "gradient", "gradient_norm", "gradient_x_input", "integrated_gradients", *RELAYED)
    yield f"| moved by | | {' | '.join(CORPORA.values())} |"
    yield "| --- | --- |" + " --: |" * len(CORPORA)
    for way in ("searched", "random"):
        for size in SIZES:
            for explainer in (e for e in asked if e not in RELAYED or size in RELAYED_BY):
                at = f"{way} {size}"
                cells = (printed(table(moved_in(explainer), corpus, explainer, at, "overlap")) for corpus in CORPORA)
                yield f"| {at.replace('0.', '.')} | {ASKED[explainer]} | {' | '.join(cells)} |"


def moved_in(explainer: str) -> str:
    """The part of the table that says how steady an explainer is."""
    return GRADIENT if explainer == "gradient" else RELEVANCE if explainer in RELAYED else FRAGILITY


def _roar(rows: Sequence[Row]) -> Iterator[str]:
    table = Table(rows)
    yield f"| without the words of | | {' | '.join(CORPORA.values())} |"
    yield "| --- | --- |" + " --: |" * len(CORPORA)
    for explainer in ("random", "attention", "gradient_norm", "gradient_x_input"):
        for at in ("retrained", "given to the model of whole texts"):
            cells = (printed(table("roar", corpus, explainer, at, "correct")) for corpus in CORPORA)
            yield f"| {EXPLAINERS.get(explainer, explainer)} | {at} | {' | '.join(cells)} |"


def _interactions(rows: Sequence[Row]) -> Iterator[str]:
    table = Table(rows)
    yield f"|  | {' | '.join(CORPORA.values())} |"
    yield "| --- |" + " --: |" * len(CORPORA)
    for measure, words in (
        ("interacting", "share of pairs that interact"),
        ("top_pair", "texts whose top pair is the two top words"),
    ):
        cells = (printed(table("interactions", corpus, "pairwise_occlusion", "", measure)) for corpus in CORPORA)
        yield f"| {words} | {' | '.join(cells)} |"


def tables(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Every table of the page, by its mark."""
    every = tuple(EXPLAINERS)
    edited = (*ASKED, *BASELINES, "chance")
    return {
        "predictions": list(_judged(rows)),
        "randomisation": list(_by_corpus(rows, "randomisation", "everything", "spearman", every, CORPORA)),
        "invariance": list(_by_corpus(rows, "input_invariance", "", "invariant", every, CORPORA)),
        "edits": list(_by_corpus(rows, "edits", "followed", "average_precision", edited, EDITED)),
        "fragility": list(_fragility(rows)),
        "roar": list(_roar(rows)),
        "interactions": list(_interactions(rows)),
    }


def put_tables(page: str, rows: Sequence[Row]) -> str:
    """The page with its tables as the rows have them."""
    for name, lines in tables(rows).items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        if mark:
            page = before + mark + "\n" + "\n".join(lines) + "\n\n<!-- end -->" + rest.partition("<!-- end -->")[2]
    return page


#: The same colour for the same scores in both panels.
SHADES = dict(
    zip(
        (
            *("attention", "gradient norm", "gradient × input", "integrated gradients"),
            *("random words", "SmoothGrad", "LRP", "DeepLIFT"),
        ),
        (*COLOURS, INK, MUTED),
        strict=False,
    )
)


def figure(rows: Sequence[Row]) -> Any:
    """What is left of the top words after searched changes of embeddings, and what is left of accuracy with gaps."""
    panels = alt.vconcat(_moved(rows), _without(rows), spacing=18)
    apart = panels.resolve_scale(color="independent", shape="independent", yOffset="independent")
    return styled(apart.properties(padding=THEME["padding"] | {"left": 34}))


def _moved(rows: Sequence[Row]) -> Any:
    plain = ("attention", "gradient_norm", "gradient_x_input", "integrated_gradients")
    asked = {e: ASKED[e] for e in (*plain, "smooth_grad", "lrp", "deep_lift")}
    shown = [
        {
            "corpus": CORPORA[row["corpus"]],
            "scores": asked[row["explainer"]],
            **{name: float(row[name]) for name in ("value", "low", "high")},
        }
        for row in rows
        if row["explainer"] in asked and row["part"] == moved_in(row["explainer"])
        and row["at"] == "searched 0.1" and row["measure"] == "overlap"
    ]  # fmt: skip
    return _dots(
        shown, "scores", list(asked.values()), "share of the top words left, embeddings moved by .1", reference=0.5
    )


def _without(rows: Sequence[Row]) -> Any:
    names = {**{e: EXPLAINERS[e] for e in ("attention", "gradient_norm", "gradient_x_input")}, "random": "random words"}
    models = {"retrained": "trained with the gaps", "given to the model of whole texts": "trained without gaps"}
    shown = [
        {
            "corpus": CORPORA[row["corpus"]],
            "without": names[row["explainer"]],
            "model": models[row["at"]],
            **{name: float(row[name]) for name in ("value", "low", "high")},
        }
        for row in rows
        if row["part"] == "roar" and row["at"] in models and row["explainer"] in names
    ]
    shapes = alt.Scale(domain=list(models.values()), range=["circle", "cross"])
    shape = alt.Shape("model:N", title=None, sort=list(models.values()), scale=shapes)
    return _dots(shown, "without", list(names.values()), "accuracy without the top 30 % of words", shape=shape)


def _dots(
    shown: list[Row], by: str, order: list[str], title: str, reference: float | None = None, shape: Any = None
) -> Any:
    colours = alt.Scale(domain=order, range=[SHADES[name] for name in order])
    numbered = [{**row, "place": order.index(row[by])} for row in shown]
    base = alt.Chart(data_of(numbered)).encode(
        alt.Y("corpus:N", title=None, sort=list(CORPORA.values()), axis=alt.Axis(ticks=False, domain=False)),
        alt.YOffset("place:O"),
        alt.Color(f"{by}:N", title=None, sort=order, scale=colours, legend=alt.Legend(columns=4)),
    )
    dots = base.mark_point(size=50, opacity=1, filled=True).encode(alt.X("value:Q"))
    layers = [
        base.mark_rule(strokeWidth=2).encode(alt.X("low:Q", title=title, scale=alt.Scale(zero=False)), x2="high:Q"),
        dots if shape is None else dots.encode(shape),
    ]
    if reference is not None:
        layers.append(reference_line("x", reference, ""))
    return alt.layer(*layers, width=560, height=alt.Step(12))
