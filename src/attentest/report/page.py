"""The report: one HTML file that needs no network, no JavaScript and no trust in the texts it shows.

Charts are SVG inside ``<img>``, where nothing in them can run or load. Every value that a template writes is made
visible (control characters, overrides) and escaped by the environment, so no template has to remember to.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.report import figures
from attentest.report.alignment_figure import alignment_map, shown_sentence
from attentest.report.checks import checks_table, failed
from attentest.report.erasure import erasure_table
from attentest.report.erasure_figures import delta_js_by_weight, flip_set_boxes, flip_square, times_smallest_boxes
from attentest.report.examples import examples, name_of
from attentest.report.figures import POINTS, Palette
from attentest.report.four_figures import guide_scores, imitation_curve, seed_violins
from attentest.report.four_tests import four_tests
from attentest.report.held import site_of
from attentest.report.html import environment
from attentest.report.layers_figure import layers_curve
from attentest.report.marks import has_ceiling, marks_table
from attentest.report.missing import failures, left_out
from attentest.report.randomisation_figure import randomisation_curve
from attentest.report.saliency import Compared, saliency_table
from attentest.report.tables import ALSO, ANSWERS, TONES, also_rows, interval_of, value_of
from attentest.report.verdict import Verdict, wording_of
from attentest.store.atomic import write_text
from attentest.store.findings import Findings, Measure
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate, sentences_of
from attentest.tasks import TEXTS, Wording

__all__ = ["page", "write_report"]

_MOST_CLASSES = 12
#: Of a longer list, such as the names of a thousand classes, the first ones are shown; run.json has them all.
_MOST_LISTED = 40

Row = dict[str, Any]


@dataclass(frozen=True)
class Plot:
    """A figure of the page; its title and how to read it stand under ``key`` in captions.html."""

    key: str
    challenge: str
    #: The column without which a row cannot be drawn.
    column: str
    #: From findings, colours and wording to a chart.
    draw: Callable[..., Any]
    #: A second drawing for narrow screens, where the first is wider than a phone.
    narrow: Callable[..., Any] | None = None
    pairs: tuple[str, ...] = ()
    points: bool = False
    #: The section of the page it stands in.
    section: str = "figures"
    #: Other challenges whose findings it draws too, where they are there.
    beside: tuple[str, ...] = ()
    #: Whether there is anything to draw.
    applies: Callable[[Findings], bool] = lambda _: True
    #: Why a text that was judged may have nothing in the column.
    missing: str = "no number"
    #: The key of its caption, where that is another one for some findings.
    caption: Callable[[Findings], str] | None = None

    def chart(
        self, found: Mapping[str, Findings], palette: Palette, wording: Wording = TEXTS, *, narrow: bool = False
    ) -> Any:
        """The figure of a run's findings, by the names of their challenges."""
        draw = self.narrow if narrow and self.narrow else self.draw
        return draw(found[self.challenge], palette, wording, **{name: found.get(name) for name in self.beside})


def _divergence_caption(adversary: Findings) -> str:
    """What the figure may claim: a proof, beside a search or not, a largest one known, or a search alone."""
    if not figures.bounded(adversary):
        return "divergence_found"
    if not figures.certified(adversary):
        return "divergence_reached"
    return "divergence" if figures.searched(adversary) else "divergence_proved"


def _has_alignment(alignment: Findings) -> bool:
    """Whether words and weights were kept, and there is a sentence to show."""
    return "scores" in alignment.table.column_names and shown_sentence(alignment) is not None


def _one_alignment(alignment: Findings) -> Any:
    sentence = shown_sentence(alignment)
    assert sentence is not None
    return alignment_map(alignment, sentence)


#: How wide a figure with names at its left is drawn for narrow screens.
NARROW = 130

tau_narrow = partial(figures.tau_histograms, columns=1)
PLOTS = (
    Plot("tau", "agreement", "tau", figures.tau_histograms, tau_narrow, figures.PAIRS),
    Plot(
        "overview",
        "agreement",
        "tau",
        lambda found, _, wording: figures.agreement_overview(found, wording),
        lambda found, _, wording: figures.agreement_overview(found, wording, width=NARROW),
    ),
    Plot(
        "saliency",
        "faithfulness",
        "normalised_comprehensiveness",
        lambda found, *_: figures.faithfulness_overview(found),
        lambda found, *_: figures.faithfulness_overview(found, width=NARROW),
        applies=lambda found: Compared.of(found) is not None,
    ),
    Plot("randomisation", "randomisation", "spearman", lambda found, *_: randomisation_curve(found)),
    Plot("layers", "layers", "change", lambda found, *_: layers_curve(found)),
    Plot(
        "rationale",
        "rationale",
        "average_precision",
        lambda found, *_: figures.rationale_precision(found),
        lambda found, *_: figures.rationale_precision(found, width=NARROW),
    ),
    Plot(
        "ceiling",
        "rationale",
        "ceiling_single_token_f1",
        lambda found, *_: figures.rationale_ceiling(found),
        lambda found, *_: figures.rationale_ceiling(found, width=NARROW),
        applies=has_ceiling,
        missing="marked by one person only",
    ),
    Plot("alignment", "alignment", "hit", lambda found, *_: _one_alignment(found), applies=_has_alignment),
    Plot("permutation", "permutation", "median_change", figures.permutation_by_max_attention, points=True),
    Plot(
        "divergence",
        "adversary",
        "lower",
        lambda found, _, wording: figures.divergence_histogram(found, wording),
        caption=_divergence_caption,
    ),
    Plot(
        "max_attention",
        "adversary",
        "lower",
        lambda found, palette, _: figures.divergence_by_max_attention(found, palette),
        points=True,
        caption=lambda found: "max_attention" if figures.certified(found) else "max_attention_found",
    ),
    Plot(
        "search",
        "adversary",
        "searched_divergence",
        lambda found, palette, _: figures.searched_against_certified(found, palette),
        points=True,
        applies=lambda found: figures.bounded(found) and figures.searched(found),
        caption=lambda found: "search" if figures.certified(found) else "search_reached",
        missing="the search found nothing within ε",
    ),
    Plot(
        "single_weight",
        "single_weight",
        "delta_js",
        lambda found, palette, _: delta_js_by_weight(found, palette),
        points=True,
        section="erasure",
    ),
    Plot("flip_square", "single_weight", "neither_flips", lambda found, *_: flip_square(found), section="erasure"),
    Plot(
        "flip_sets",
        "flip_sets",
        "flip_fraction",
        lambda found, *_: flip_set_boxes(found),
        lambda found, *_: flip_set_boxes(found, width=NARROW),
        section="erasure",
        missing="no set of weights flips the decision",
    ),
    Plot(
        "times",
        "flip_sets",
        "times_smallest",
        lambda found, *_: times_smallest_boxes(found),
        lambda found, *_: times_smallest_boxes(found, width=NARROW),
        section="erasure",
        missing="no set of weights flips the decision",
    ),
    Plot(
        "seeds",
        "seed_variance",
        "attention_jsd",
        lambda found, _, wording: seed_violins(found, wording),
        lambda found, _, wording: seed_violins(found, wording, columns=1),
        section="tests",
    ),
    Plot("guide", "guide", "gained", lambda found, *_: guide_scores(found), section="tests"),
    Plot(
        "curve",
        "adversarial_training",
        "tvd",
        lambda found, *_, **beside: imitation_curve(found, **beside),
        section="tests",
        beside=("seed_variance", "trained_uniform", "adversary"),
    ),
)


def write_report(run: RunFolder, verdict: Verdict, target: Path) -> None:
    """Write the page of a run and its verdict to a file, whole or not at all."""
    write_text(target, page(run, verdict))


def page(run: RunFolder, verdict: Verdict) -> str:
    """The page as text."""
    record = run.record
    every = {name: run.findings(name) for name in run.challenges}
    # A challenge run with several parameters is drawn once; every one has its numbers.
    found = {findings.name: every[run.named(findings.name) or name] for name, findings in every.items()}
    corpus = record["fields"].get("corpus", {})
    names = [str(name) for name in corpus.get("classes", [])]
    predicted: list[int] = next((f.table["predicted"].to_pylist() for f in found.values()), [])
    steps, wording = _steps(record["fields"], found.get("instances")), wording_of(record["fields"])
    palette = Palette.of(names, predicted) if steps is None else Palette.one(f"all {wording.units}", predicted)
    return (
        environment(TONES=TONES, ANSWERS=ANSWERS, wording=wording)
        .get_template("page.html")
        .render(
            verdict=verdict,
            also=also_rows(verdict.also),
            ALSO=ALSO,
            corpus=corpus,
            model=record["fields"].get("model", {}),
            site=site_of(record["fields"]),
            steps=steps,
            figures=list(_figures(found, palette, wording)),
            saliency=saliency_table(found.get("faithfulness"), wording, failed(found.get("certificates"))),
            checks=checks_table(found.get("certificates"), found.get("randomisation"), wording),
            marks=marks_table(found.get("rationale"), wording),
            erasure=erasure_table(found.get("flip_sets"), wording),
            tests=four_tests(found, names),
            attacked="adversary" in found,
            examples=list(examples(found, palette, names)),
            numbers=_numbers(every, names, by_class=steps is None),
            particulars=_particulars(record),
            files=list(_files(record["finished"], every)),
            run=run.path.name,
            missing=(*left_out(record), *failures(record)),
        )
    )


def _steps(fields: Mapping[str, Any], instances: Findings | None) -> Row | None:
    """Where texts are written: how many steps of how many sentences, after whose words; None where texts are read."""
    sentences = None if instances is None else sentences_of(instances.table)
    if sentences is None:
        return None
    counts = {"steps": len(sentences), "sentences": int(sentences.max()) + 1}
    return counts | {"own": fields.get("forced") == "own", "drawn": bool(fields.get("limit"))}


def _figures(found: Mapping[str, Findings], palette: Palette, wording: Wording = TEXTS) -> Iterator[Row]:
    for plot in PLOTS:
        if plot.challenge not in found or not plot.applies(found[plot.challenge]):
            continue
        table = found[plot.challenge].table
        if plot.pairs:
            table = table.filter(pc.is_in(table["pair"], pa.array(plot.pairs)))
        basis = _basis(table, plot)
        judged = basis["judged"]
        yield {
            "plot": plot,
            "caption": plot.caption(found[plot.challenge]) if plot.caption else plot.key,
            "image": _image(plot.chart(found, palette, wording)) if judged else None,
            "narrow": _image(plot.chart(found, palette, wording, narrow=True)) if judged and plot.narrow else None,
            "drawn": POINTS if plot.points and judged > POINTS else None,
            **basis,
        }


def _basis(table: pa.Table, plot: Plot) -> Row:
    """Where every text is: drawn, drawn in part, or left out, and why; a text is in one place only."""
    whole = pc.and_(pc.is_null(table["not_judged"]), pc.invert(pc.is_null(table[plot.column], nan_is_null=True)))
    drawn = set(table.filter(whole)["id"].to_pylist())
    why = dict.fromkeys(table["id"].to_pylist(), plot.missing)
    refused = table.filter(pc.is_valid(table["not_judged"]))
    why |= dict(zip(refused["id"].to_pylist(), refused["not_judged"].to_pylist(), strict=True))
    in_part = drawn.intersection(refused["id"].to_pylist())
    return {
        "judged": len(drawn),
        "texts": len(why),
        "in_part": dict(Counter(why[key] for key in in_part).most_common()),
        "reasons": dict(Counter(reason for key, reason in why.items() if key not in drawn).most_common()),
    }


def _image(chart: Any) -> str:
    """The chart as an address."""
    return "data:image/svg+xml;base64," + base64.b64encode(figures.svg(chart).encode()).decode()


def _numbers(found: Mapping[str, Findings], names: Sequence[str], *, by_class: bool) -> Row:
    """Every measure for all texts and by predicted class; of very many classes, the most predicted ones."""
    columns: list[int] = []
    if found and by_class:
        counts = pc.value_counts(next(iter(found.values())).table["predicted"]).to_pylist()
        columns = sorted(c["values"] for c in sorted(counts, key=lambda c: -c["counts"])[:_MOST_CLASSES])
    sections = [
        (
            findings.challenge,
            [
                (measure.words, whole, [_number(estimate(findings, measure, predicted=c), measure) for c in columns])
                for measure in findings.measures
                for whole in [_number(estimate(findings, measure), measure)]
            ],
        )
        for findings in found.values()
        if findings.measures
    ]
    heads = [name_of(names, c) for c in columns]
    return {"classes": heads, "sections": sections, "left_out": max(0, len(names) - len(columns)) if by_class else 0}


def _number(found: Estimate, measure: Measure) -> Row:
    value, interval = value_of(found, measure.statistic), interval_of(found, measure.statistic)
    return {"value": value, "interval": interval, "judged": found.judged, "not_judged": found.not_judged}


def _particulars(record: Mapping[str, Any]) -> dict[str, Row]:
    """Everything recorded of the run but its files, grouped."""
    groups: dict[str, Row] = {"run": {}}
    rest = {key: value for key, value in record.items() if key not in ("fields", "finished")}
    for key, value in (record["fields"] | rest).items():
        if isinstance(value, Mapping):
            groups[key] = {str(k): _words(v) for k, v in value.items()}
        else:
            groups["run"][key] = _words(value)
    return groups


def _files(finished: Mapping[str, Mapping[str, Any]], found: Mapping[str, Findings]) -> Iterator[tuple[str, str, str]]:
    """Each finished file, what it holds, its checksum."""
    rows = {f"findings/{name}.parquet": {"rows": len(findings.table)} for name, findings in found.items()}
    for name, about in finished.items():
        holds = {key: value for key, value in about.items() if key != "sha256"} | rows.get(name, {})
        yield name, _words(holds), about["sha256"]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_words(v)}" for k, v in value.items())
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - _MOST_LISTED} more"] if len(value) > _MOST_LISTED + 1 else []
        return "; ".join([*map(_words, value[: _MOST_LISTED if more else None]), *more]) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if value >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value in (None, "") else str(value)
