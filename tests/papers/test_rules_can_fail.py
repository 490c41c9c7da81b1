"""No rule is met by construction: some findings make every conclusion agree, others differ; no mark is out of reach."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from tests.data.corpora.made_up import MadeUpRows

from attentest.challenges import CHALLENGES
from attentest.data.corpora import CORPORA
from attentest.papers import PAPERS, outcomes
from attentest.papers.claims import Claims, Direction, load_claims
from attentest.papers.evidence import Group
from attentest.papers.finding import Finder, Found
from attentest.papers.matching import Match
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import evaluate
from attentest.papers.rules import DirectionRule, MeasureRule, Side
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, means
from attentest.studies.study import read_study

#: What measures can be that are neither shares nor correlations; JSD in nats, mutual information of 1,000 clusters.
JSD, CHANGE, NATS = (0.0, math.log(2)), (-1.0, 1.0), (0.0, math.log(1_000))
BOUNDS = {
    **dict.fromkeys(("lower", "attention_jsd", "jsd", "searched_divergence"), JSD),
    **dict.fromkeys(("gained", "lost", "conicity", "delta_js"), CHANGE),
    **dict.fromkeys(("median_change", "per_text"), (0.0, 1.0)),
    "training": NATS,
}
OWN = {
    **dict.fromkeys(("small_permutation_change", "small_change_despite_peak", "near_the_bound"), (0.0, 1.0)),
    **{"searched_divergence": JSD, "adversary_reach": JSD, "peak_against_divergence": CHANGE},
}
STATISTICS = {
    **dict.fromkeys(("accuracy", "f1_positive", "f1_macro", "f1_micro", "roc_auc"), (0.0, 1.0)),
    **dict.fromkeys(("f1_change", "correlation", "ratio", "bleu_ratio"), CHANGE),
    **{"bleu": (0.0, 100.0), "bleu_change": (-100.0, 100.0)},
}
#: Orders of removal of which the first, where there are two classes, never needs more items than any other.
BEST, OTHERS = "removed_by_gradient_x_attention", {"removed_by_attention", "removed_by_gradient"}
#: How often the spread of what was seen may lie between all of it and the mark.
FAR = 5.0
#: Rules whose mark is farther away than that, which their page says.
LOOSE = {"convolution performs alike"}


def bounds(rules: Claims, side: Side) -> tuple[float, float]:
    """The smallest and the largest figure that a measure can have, in the paper's unit."""
    rule = rules.rules.measure(side.measure, side.group)
    low, high = OWN.get(side.measure) or STATISTICS.get(rule.statistic) or of_mean(rule)
    return min(low * rule.scale, high * rule.scale), max(low * rule.scale, high * rule.scale)


def of_mean(rule: MeasureRule) -> tuple[float, float]:
    name = rule.measure if isinstance(rule.measure, str) and rule.measure else rule.column
    if name in BOUNDS:
        return BOUNDS[name]
    if name.endswith(".tau"):
        return CHANGE
    declared = {one.name: one.statistic for one in CHALLENGES.parse(rule.challenge).measures}
    assert declared[name] in ("fraction", "share"), f"say in BOUNDS what {name} can be"
    return 0.0, 1.0


def found(value: float, scale: float) -> Found:
    """A measure that is this in every text of two seeds."""
    sample = Sample(("a", "b"), (0, 1), means(np.full((2, 2), value / scale)), 100, 0, by_seed=(100, 100))
    return Found("m", Match(Group(()), ()), sample, Interval(value, value, value), (value, value), scale)


def measured() -> Iterator[tuple[str, DirectionRule]]:
    for name in PAPERS:
        yield from ((name, rule) for rule in load_claims(name).rules.directions if rule.left is not None)


RULES = list(measured())


@pytest.mark.parametrize(("paper", "rule"), RULES, ids=[f"{paper}: {rule.name}" for paper, rule in RULES])
def test_some_findings_make_a_conclusion_agree_and_others_make_it_differ(
    paper: str, rule: DirectionRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = load_claims(paper)
    assert rule.left is not None
    left = bounds(claims, rule.left)
    right = bounds(claims, rule.right) if rule.right is not None else (rule.value or 0.0,) * 2
    alone = Direction(paper, rule.corpora[0] if rule.corpora else "", rule)
    monkeypatch.setattr(outcomes, "load_claims", lambda _: replace(claims, figures=(), directions=(alone,)))
    statuses = set()
    for values in ((left[0], right[1]), (left[1], right[0]), (max(left[0], right[0]),) * 2):
        both = {rule.left: values[0], rule.right: values[1]}
        if rule.left == rule.right:  # families of corpora: the first that is asked for is the left one's
            both = {rule.left: values[0]}

        def find(_: Finder, corpus: str, side: Side, both=both, values=values) -> Found:
            scale = claims.rules.measure(side.measure, side.group).scale
            first = corpus in getattr(claims.rules.own.conclusions.get(rule.name), "left", (corpus,))
            return found(both[side] if len(both) > 1 else values[0 if first else 1], scale)

        monkeypatch.setattr(Finder, "find", find)
        statuses.add(evaluate(paper)[0].status)
    assert statuses >= {"agrees", "differs"}


def number_of_classes(text: str) -> int:
    """How many classes a corpus has, as its declaration prepares two made-up rows of every label."""
    one = CORPORA.parse(text)
    rows = [
        dict.fromkeys(one.fields, "some words") | {"id": f"{label}-{number}", "label": label}
        for label in one.labels
        for number in range(2)
        if label is not None
    ]
    return len(one.prepare(MadeUpRows(one, dict.fromkeys(one.splits, rows))).classes)


@pytest.mark.parametrize(
    ("text", "count"),
    [("ag_news", 2), ("ag_news4", 4), ("imdb", 2), ("yelp_sample", 2), ("yelp_sample(five=True)", 5), ("yahoo", 10)],
)
def test_the_classes_of_a_corpus_are_those_it_prepares(text: str, count: int) -> None:
    assert number_of_classes(text) == count


def test_no_order_is_compared_with_the_best_one_where_it_cannot_win() -> None:
    seen = 0
    for paper, rule in RULES:
        sides = {side.measure for side in (rule.left, rule.right) if side is not None}
        if BEST in sides and sides & OTHERS:
            studied = {str(c.choices["corpus"]) for path in PAPERS[paper].studies() for c in read_study(path).cells()}
            for corpus in rule.corpora:
                about = load_claims(paper).rules.corpora[corpus]
                names = {text.partition("(")[0] for text in (about.name, *about.forms)}
                texts = [text for text in studied if text.partition("(")[0] in names]
                assert texts, f"{rule.name}, {corpus}: in no study"
                for text in texts:
                    assert number_of_classes(text) > 2, f"{rule.name}, {corpus}: {text} has two classes"
                    seen += 1
    assert seen


def test_no_mark_is_out_of_reach_of_what_was_seen() -> None:
    seen: dict[tuple[str, str], list[tuple[float, float]]] = {}
    reached = set()
    for paper in PAPERS:
        for outcome in committed(paper) or []:
            rule = getattr(outcome.claim, "rule", None)
            # A sign is no mark.
            if outcome.settled and rule is not None and (rule.value or rule.margin):
                # How far on the conclusion's side, and where.
                room = rule.margin - abs(outcome.ours) if rule.sense == "near" else outcome.ours
                seen.setdefault((paper, rule.name), []).append((-room if rule.sense == "lower" else room, outcome.ours))
                if outcome.status != "agrees":  # its interval reaches the mark
                    reached.add(rule.name)
    far = set()
    for (_, name), each in seen.items():
        rooms, places = zip(*each, strict=True)
        if len(each) > 1 and min(rooms) > FAR * (max(places) - min(places)):
            far.add(name)
    assert far - reached == LOOSE
    page = PAPERS["jain_wallace_2019"].text("page.md") or ""
    assert "has a loose mark" in page
