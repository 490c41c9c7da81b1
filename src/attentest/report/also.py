"""What was measured and decides no line of the verdict: a few numbers of every such challenge, in plain words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from attentest.report.tables import reasons
from attentest.report.verdict import Measured
from attentest.store.findings import Findings, Measure
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate, summarise

__all__ = ["HEADLINES", "also_measured"]

#: The measures to show of a challenge, without the kind of attention, in these words; "": in their own.
HEADLINES: Mapping[str, Mapping[str, str]] = {
    "layers": {
        "accuracy": "share of correct predictions, own attention",
        "all.accuracy": "share of correct predictions, attention of every layer replaced",
        "all.flips": "share of decisions that turn, attention of every layer replaced",
    },
    "layers_bleu": {
        "own.bleu": "",
        "all.bleu": "BLEU, attention of every layer replaced",
        "all.change": "change of BLEU, attention of every layer replaced",
    },
    "heads": {"flipped": "share of decisions that a head turns, mean over heads", "on_no_word": ""},
    "knockout": {"top_flips": "", "other_flips": "", "any_flips": ""},
    "joint_adversary": {
        "lower": "",
        "ratio": "JSD reached among the words’ shares, as a share of the largest possible",
        "top_changed": "",
        "on_words": "",
    },
}
#: Of any other challenge, its first measures.
FIRST = 4
#: Challenges with a table of their own beside the verdict.
TABLED = ("certificates", "randomisation")


def also_measured(run: RunFolder, read: Collection[str]) -> Iterator[Measured]:
    """The headline measures of every findings file of a run but those that lines were ``read`` from."""
    tabled = {run.named(name) for name in TABLED}
    for name in run.challenges:
        if name in read or name in tabled or name == run.named("instances"):
            continue
        findings = run.findings(name)
        found = (_measured(findings, measure, words) for measure, words in _headlines(findings))
        yield from (one for one in found if one.texts)
        if findings.name == "heads":
            yield from _largest_head(findings)


def _headlines(findings: Findings) -> list[tuple[Measure, str]]:
    """Which measures, and in which words."""
    chosen = HEADLINES.get(findings.name, {})
    found = []
    for kind in dict.fromkeys(measure.where.get("attention", "") for measure in findings.measures):
        of_kind = [measure for measure in findings.measures if measure.where.get("attention", "") == kind]
        own = {measure.name.removeprefix(f"{kind}."): measure for measure in of_kind}
        of = "" if kind in ("", "self") else f"{kind}: "
        for name in (name for name in chosen if name in own):
            found.append((own[name], f"{of}{chosen[name]}" if chosen[name] else own[name].words))
    return found or [(measure, measure.words) for measure in findings.measures[:FIRST]]


def _measured(findings: Findings, measure: Measure, words: str) -> Measured:
    rows, found = findings.rows(measure.where), estimate(findings, measure)
    judged = pc.invert(pc.is_null(rows[measure.column], nan_is_null=True))
    if "not_judged" in rows.column_names:
        judged = pc.and_(judged, pc.is_null(rows["not_judged"]))
    if not found.judged and (why := reasons(findings, measure.where)):
        words = f"{words} (not judged: {next(iter(why))})"
    return Measured(findings.challenge, words, found, measure.statistic, _texts(rows.filter(judged)), _texts(rows))


def _largest_head(heads: Findings) -> Iterator[Measured]:
    """The head that turns most decisions, of every kind of attention; its interval is its own, though it was picked."""
    table = heads.table
    judged = table.filter(pc.and_(pc.is_null(table["not_judged"]), pc.is_valid(table["flipped"])))
    for kind in pc.unique(judged["attention"]).to_pylist():
        rows = judged.filter(pc.equal(judged["attention"], kind))
        rows = rows.append_column("turned", rows["flipped"].cast(pa.float64()))
        each = rows.group_by(["layer", "head"], use_threads=False).aggregate([("turned", "mean")]).to_pylist()
        most = max(each, key=lambda head: (head["turned_mean"], -head["layer"], -head["head"]))
        if not most["turned_mean"]:
            continue
        of_it = pc.and_(pc.equal(rows["layer"], most["layer"]), pc.equal(rows["head"], most["head"]))
        own = rows.filter(of_it)
        found = summarise(own["turned"].to_numpy(), 0, "fraction")
        of = "" if kind == "self" else f"{kind}: "
        words = (
            f"{of}largest share that one head turns (layer {most['layer']} head {most['head']} of {len(each)} heads)"
        )
        yield Measured(heads.challenge, words, found, "fraction", _texts(own), _texts(table))


def _texts(rows: pa.Table) -> int:
    """How many texts, or steps, there are rows of."""
    return pc.count_distinct(rows["id"]).as_py() if "id" in rows.column_names else len(rows)
