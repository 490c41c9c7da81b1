"""The report: one HTML file that needs no network, no JavaScript and no trust in the texts it shows.

Charts are SVG inside ``<img>``, where nothing in them can run or load. Every value that a template writes is made
visible (control characters, overrides) and escaped by the environment, so no template has to remember to.
"""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.report import figures
from attentest.report.checks import checks_table
from attentest.report.erasure import erasure_table
from attentest.report.erasure_figures import delta_js_by_weight, flip_set_boxes, flip_square, times_smallest_boxes
from attentest.report.figures import POINTS, Palette
from attentest.report.four_figures import guide_scores, imitation_curve, seed_violins
from attentest.report.four_tests import four_tests
from attentest.report.html import environment
from attentest.report.marks import has_ceiling, marks_table
from attentest.report.randomisation_figure import randomisation_curve
from attentest.report.saliency import Compared, saliency_table
from attentest.report.tables import ANSWERS, TONES, interval_of, value_of, visible_token
from attentest.report.verdict import Verdict, items_of
from attentest.store.atomic import write_text
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate, estimate

__all__ = ["page", "write_report"]

#: A text longer than this is shown around its heaviest words; one longer than the second, only so.
EXCERPT, WHOLE = 60, 600
LONGEST = 80  # characters shown of a token; of a sentence, as many for each of its words, within bounds
_MOST_CLASSES = 12

Row = dict[str, Any]


@dataclass(frozen=True)
class Plot:
    """A figure of the page; its title and how to read it stand under ``key`` in captions.html."""

    key: str
    challenge: str
    #: The column without which a row cannot be drawn.
    column: str
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

    def chart(self, found: Mapping[str, Findings], palette: Palette, *, narrow: bool = False) -> Any:
        """The figure of a run's findings, by the names of their challenges."""
        draw = self.narrow if narrow and self.narrow else self.draw
        return draw(found[self.challenge], palette, **{name: found.get(name) for name in self.beside})


def _divergence_caption(adversary: Findings) -> str:
    """What the figure may claim: a proof, beside a search or not, or a search alone."""
    if not figures.certified(adversary):
        return "divergence_found"
    return "divergence" if figures.searched(adversary) else "divergence_proved"


tau_narrow = partial(figures.tau_histograms, columns=1)
PLOTS = (
    Plot("tau", "agreement", "tau", figures.tau_histograms, tau_narrow, figures.PAIRS),
    Plot("overview", "agreement", "tau", lambda found, _: figures.agreement_overview(found)),
    Plot(
        "saliency",
        "faithfulness",
        "normalised_comprehensiveness",
        lambda found, _: figures.faithfulness_overview(found),
        applies=lambda found: Compared.of(found) is not None,
    ),
    Plot("randomisation", "randomisation", "spearman", lambda found, _: randomisation_curve(found)),
    Plot("rationale", "rationale", "average_precision", lambda found, _: figures.rationale_precision(found)),
    Plot(
        "ceiling",
        "rationale",
        "ceiling_single_token_f1",
        lambda found, _: figures.rationale_ceiling(found),
        applies=has_ceiling,
        missing="marked by one person only",
    ),
    Plot("permutation", "permutation", "median_change", figures.permutation_by_max_attention, points=True),
    Plot(
        "divergence",
        "adversary",
        "lower",
        lambda found, _: figures.divergence_histogram(found),
        caption=_divergence_caption,
    ),
    Plot(
        "max_attention",
        "adversary",
        "lower",
        figures.divergence_by_max_attention,
        points=True,
        caption=lambda found: "max_attention" if figures.certified(found) else "max_attention_found",
    ),
    Plot(
        "search",
        "adversary",
        "searched_divergence",
        figures.searched_against_certified,
        points=True,
        applies=lambda found: figures.certified(found) and figures.searched(found),
        missing="the search found nothing within ε",
    ),
    Plot("single_weight", "single_weight", "delta_js", delta_js_by_weight, points=True, section="erasure"),
    Plot("flip_square", "single_weight", "neither_flips", lambda found, _: flip_square(found), section="erasure"),
    Plot("flip_sets", "flip_sets", "until_flip", lambda found, _: flip_set_boxes(found), section="erasure"),
    Plot(
        "times",
        "flip_sets",
        "times_smallest",
        lambda found, _: times_smallest_boxes(found),
        section="erasure",
        missing="no set of weights flips the decision",
    ),
    Plot(
        "seeds",
        "seed_variance",
        "attention_jsd",
        lambda found, _: seed_violins(found),
        lambda found, _: seed_violins(found, columns=1),
        section="tests",
    ),
    Plot("guide", "guide", "gained", lambda found, _: guide_scores(found), section="tests"),
    Plot(
        "curve",
        "adversarial_training",
        "tvd",
        lambda found, _, **beside: imitation_curve(found, **beside),
        section="tests",
        beside=("seed_variance", "trained_uniform", "adversary"),
    ),
)
#: Which texts are shown: places on the scale of how replaceable or, unattacked, how concentrated attention is.
PLACES = (
    ("hardest to replace", "most spread out", (0.0, 0.05, 0.1)),
    ("in between", "in between", (0.45, 0.55)),
    ("easiest to replace", "most concentrated", (0.9, 0.95, 1.0)),
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
    palette = Palette.of(names, predicted)
    return (
        environment(TONES=TONES, ANSWERS=ANSWERS)
        .get_template("page.html")
        .render(
            verdict=verdict,
            corpus=corpus,
            model=record["fields"].get("model", {}),
            items=items_of(record["fields"]),
            figures=list(_figures(found, palette)),
            saliency=saliency_table(found.get("faithfulness")),
            checks=checks_table(found.get("certificates"), found.get("randomisation")),
            marks=marks_table(found.get("rationale")),
            erasure=erasure_table(found.get("flip_sets")),
            tests=four_tests(found, names),
            attacked="adversary" in found,
            examples=list(_examples(found, palette, names)),
            numbers=_numbers(every, names),
            particulars=_particulars(record),
            files=list(_files(record["finished"], every)),
            run=run.path.name,
        )
    )


def _figures(found: Mapping[str, Findings], palette: Palette) -> Iterator[Row]:
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
            "image": _image(plot.chart(found, palette)) if judged else None,
            "narrow": _image(plot.chart(found, palette, narrow=True)) if judged and plot.narrow else None,
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
    return "data:image/svg+xml;base64," + base64.b64encode(figures.svg(chart).encode()).decode()


def _numbers(found: Mapping[str, Findings], names: Sequence[str]) -> Row:
    """Every measure for all texts and by predicted class; of very many classes, the most predicted ones."""
    columns: list[int] = []
    if found:
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
    heads = [_name(names, c) for c in columns]
    return {"classes": heads, "sections": sections, "left_out": max(0, len(names) - len(columns))}


def _number(found: Estimate, measure: Any) -> Row:
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
        return "; ".join(map(_words, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if value >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return "none" if value in (None, "") else str(value)


def _examples(found: Mapping[str, Findings], palette: Palette, names: Sequence[str]) -> Iterator[Row]:
    """Some ten texts with their attention and, where there is one, the adversary's."""
    if "instances" not in found or "attention" not in found["instances"].table.column_names:
        return
    table = found["instances"].table
    attacks = found["adversary"].table if "adversary" in found else None
    chosen = _chosen(table, attacks)
    ids = pa.array(list(chosen), pa.string())
    texts = {row["id"]: row for row in table.filter(pc.is_in(table["id"], ids)).to_pylist()}
    against: dict[str, Row] = {}
    if attacks is not None:
        against = {row["id"]: row for row in attacks.filter(pc.is_in(attacks["id"], ids)).to_pylist()}
    for key, why in chosen.items():
        text, attack = texts[key], against.get(key, {})
        maps = [("attention", text["attention"], text["probabilities"])]
        if attack.get("adversarial_attention"):
            maps.append(("adversary", attack["adversarial_attention"], attack["adversarial_probabilities"]))
        kept = _kept([weights for _, weights, _ in maps], text.get("rationale"))
        yield {
            "id": key,
            "why": why,
            "tokens": len(text["tokens"]),
            "second": " ".join(visible_token(token, LONGEST) for token in text.get("second") or ()),
            "gold": _name(names, text["label"]),
            "predicted": _name(names, text["predicted"]),
            "colour": palette.colours[palette.group_of[text["predicted"]]],
            "attack": attack,
            "maps": [
                {
                    "kind": kind,
                    "outcome": _name(names, max(range(len(chances)), key=chances.__getitem__)),
                    "chance": f"{100 * max(chances):.1f} %",
                    "excerpt": list(_pieces(text, weights, kept)),
                    "whole": list(_pieces(text, weights, None)) if len(kept) < len(weights) <= WHOLE else None,
                }
                for kind, weights, chances in maps
            ],
        }


def _chosen(texts: pa.Table, attacks: pa.Table | None) -> dict[str, str]:
    """Ids and why they were chosen: spread over the scale, and the two most confident of the others."""
    scale, column = (texts, "max_attention") if attacks is None else (attacks, "ratio")
    places = sorted(
        (v, i) for v, i in zip(scale[column].to_pylist(), scale["id"].to_pylist(), strict=True) if v is not None
    )
    chosen: dict[str, str] = {}
    for replaceable, concentrated, shares in PLACES if places else ():
        for share in shares:
            why = concentrated if attacks is None else replaceable
            chosen.setdefault(places[round(share * (len(places) - 1))][1], why)
    confidence = zip(texts["probabilities"].to_pylist(), texts["id"].to_pylist(), strict=True)
    confident = (i for _, i in sorted((-max(p), i) for p, i in confidence) if i not in chosen)
    return chosen | dict.fromkeys(islice(confident, 2), "most confident")


def _kept(maps: Sequence[Sequence[float]], rationale: Sequence[bool] | None) -> set[int]:
    """The tokens of an excerpt: all of a short text, else the heaviest and the deciding ones with neighbours."""
    length = len(maps[0])
    if length <= EXCERPT:
        return set(range(length))
    centres = {t for weights in maps for t in sorted(range(length), key=lambda t: -weights[t])[:6]}
    centres |= set([t for t, decides in enumerate(rationale or ()) if decides][:8])
    near = {t for c in centres for t in range(c - 2, c + 3) if 0 <= t < length}
    return near | {t for a, b in pairwise(sorted(near)) if b - a <= 4 for t in range(a, b)}


def _pieces(text: Row, weights: Sequence[float], kept: set[int] | None) -> Iterator[Row]:
    """Tokens with their shade, the square root of the weight; what is left out becomes a gap with its length."""
    gap = 0
    for t, (token, weight) in enumerate(zip(text["tokens"], weights, strict=True)):
        if kept is not None and t not in kept:
            gap += 1
            continue
        if gap:
            yield {"gap": gap}
            gap = 0
        decides = bool(text.get("rationale") and text["rationale"][t])
        yield {
            "text": visible_token(token, min(WHOLE, LONGEST * (1 + token.count(" ")))),
            "weight": weight,
            "shade": math.sqrt(max(weight, 0)),
            "decides": decides,
        }
    if gap:
        yield {"gap": gap}


def _name(names: Sequence[str], c: int) -> str:
    return names[c] if c < len(names) else f"class {c}"
