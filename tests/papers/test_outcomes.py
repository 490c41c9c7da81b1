"""Made-up runs with known answers: what agrees, what differs, what is marked, what cannot be said."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.papers.made_up_cells import PAIRS, SST_COUNTS, MadeUpCell, cell

from attentest.errors import InputError, StorageError
from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Direction, load_claims
from attentest.papers.outcomes import Outcome, evaluate, rate

JAIN = "jain_wallace_2019"
SIMPLE = "fastText vectors of Simple English Wikipedia"


def figure(outcomes: Sequence[Outcome], measure: str, group: str = "", **wanted: str) -> Outcome:
    about = {"table": "Table 2", "corpus": "SST", "model": "bilstm", "attention": "additive"} | wanted
    found = [
        o
        for o in outcomes
        if isinstance(o.claim, Claim)
        and (o.claim.measure, o.claim.group) == (measure, group)
        and all(getattr(o.claim, name) == value for name, value in about.items())
    ]
    assert len(found) == 1
    return found[0]


def direction(outcomes: Sequence[Outcome], name: str, corpus: str = "SST") -> Outcome:
    return next(
        o for o in outcomes if isinstance(o.claim, Direction) and o.claim.rule.name == name and o.claim.corpus == corpus
    )


def test_without_runs_every_claim_has_its_reason() -> None:
    for name in PAPERS:
        outcomes = evaluate(name)
        assert [outcome.claim for outcome in outcomes] == load_claims(name).every
        assert {outcome.status for outcome in outcomes} <= {"not run", "unavailable"}
        assert all(outcome.reason for outcome in outcomes)
        assert rate(outcomes).compared == rate(outcomes, like_for_like=False).compared == 0


def test_a_study_that_waits_for_another_says_so() -> None:
    outcomes = evaluate("tutek_snajder_2020")
    base = figure(outcomes, "f1", table="Table 1", model="base")
    assert base.status == "not run"
    assert base.reason.endswith("the study tutek_snajder_layers")
    anemia = figure(outcomes, "f1", table="Table 1", model="base", corpus="Anemia (MIMIC)")
    assert anemia.status == "unavailable"
    assert "credentialed" in anemia.reason


def test_a_figure_within_the_tolerance_agrees_and_one_beyond_it_differs(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, tau=0.45)])
    near = figure(outcomes, "tau_gradient", "0")  # .40 ± .10
    assert (near.status, near.like_for_like) == ("agrees", True)
    assert near.ours == pytest.approx(0.45)
    assert near.low < 0.45 < near.high
    assert near.spread == pytest.approx(0.2, rel=0.2)
    edge = figure(evaluate(JAIN, [cell(tmp_path, tau=0.49)]), "tau_gradient", "0")
    assert (edge.ours < 0.50 < edge.high, edge.status) == (True, "unsettled")
    missed = figure(evaluate(JAIN, [cell(tmp_path, tau=0.60)]), "tau_gradient", "1")  # .38 ± .10
    assert (missed.status, missed.difference) == ("differs", "")
    assert missed.reason == ""


def test_a_difference_of_exactly_the_tolerance_agrees(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, tau=0.5, noise=0.0)])
    assert figure(outcomes, "tau_gradient", "0").status == "agrees"


def test_a_miss_lowers_the_rate_and_is_listed_as_a_miss(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, tau=-0.9, accuracy=0.5)])
    compared = [o for o in outcomes if o.settled and o.like_for_like]
    misses = [o for o in compared if o.status == "differs"]
    assert len(misses) > 10
    assert rate(outcomes).compared == len(compared)
    assert rate(outcomes).agree <= len(compared) - len(misses)


@pytest.mark.slow
def test_the_figure_is_the_mean_over_seeds_with_its_range(tmp_path: Path) -> None:
    cells = [cell(tmp_path, seed=s, tau=t) for s, t in enumerate((0.30, 0.36, 0.48))]
    found = figure(evaluate(JAIN, cells), "tau_gradient", "0")
    assert found.ours == pytest.approx(0.38)
    assert (found.seed_low, found.seed_high) == pytest.approx((0.30, 0.48))
    assert found.seeds == (0, 1, 2)
    assert found.run_ids == tuple(c.folder.path.name for c in cells)
    # 200 texts a seed, half of them predicted negative.
    assert (found.judged, found.not_judged) == (300, 0)
    alone = figure(evaluate(JAIN, cells[1:2]), "tau_gradient", "0")
    assert found.high - found.low > alone.high - alone.low
    assert (found.attentest, found.torch, found.device) == ("0.1.0", "2.13.0", "cpu (x86_64)")


@pytest.mark.slow
def test_the_order_of_the_cells_does_not_matter(tmp_path: Path) -> None:
    cells = [cell(tmp_path, seed=s, tau=0.3 + 0.05 * s, instances=60) for s in range(3)]
    assert repr(evaluate(JAIN, cells)) == repr(evaluate(JAIN, cells[::-1]))


def test_f1_is_the_positive_classs_and_the_other_definitions_stand_beside_it(tmp_path: Path) -> None:
    found = figure(evaluate(JAIN, [cell(tmp_path, accuracy=0.8)]), "test_f1", table="Table 1")
    assert found.ours == pytest.approx(0.8)
    assert found.also == "macro F1 0.800, micro F1 (accuracy) 0.800"
    assert found.settled


def test_counts_are_exact_and_come_from_the_corpus(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, vectors="other.npz", limit=50)])
    for group, count in (("0", 3034), ("1", 3321)):
        found = figure(outcomes, "train_size", group, table="Table 1")
        assert (found.ours, found.status) == (count, "agrees")
        # Neither vectors nor a sample of the test texts change how many texts there are.
        assert found.like_for_like
        assert math.isnan(found.low)
    length = figure(outcomes, "average_length", table="Table 1")
    assert (length.status, length.ours) == ("agrees", pytest.approx(18.6))
    words = figure(outcomes, "vocabulary", table="Table 1")
    assert (words.status, words.ours, words.like_for_like) == ("differs", 16_039, False)
    assert "all lengths" in words.difference


def test_one_text_more_or_less_is_a_miss(tmp_path: Path) -> None:
    counts: dict[str, Any] = json.loads(json.dumps(SST_COUNTS))
    counts["splits"]["test"]["by_class"]["0"] = 864
    found = figure(evaluate(JAIN, [cell(tmp_path, counts=counts)]), "test_size", "0", table="Table 1")
    assert (found.status, found.like_for_like) == ("differs", True)


def test_splits_that_the_paper_counts_together_are_counted_together(tmp_path: Path) -> None:
    counts = {
        "vocabulary": 1,
        "vocabulary_of_all_splits": 1,
        "splits": {
            "train": {"texts": 1141, "by_class": {"0": 576, "1": 565}, "mean_length": 115.0},
            "dev": {"texts": 285, "by_class": {"0": 140, "1": 145}, "mean_length": 115.0},
            "test": {"texts": 354, "by_class": {"0": 171, "1": 183}, "mean_length": 115.0},
        },
    }
    outcomes = evaluate(JAIN, [cell(tmp_path, corpus="20news", counts=counts)])
    found = figure(outcomes, "train_size", "0", table="Table 1", corpus="20 Newsgroups")
    assert (found.status, found.ours, found.like_for_like) == ("agrees", 716, True)
    misprint = figure(outcomes, "test_size", "0", table="Table 1", corpus="20 Newsgroups")
    assert (misprint.status, misprint.like_for_like) == ("differs", True)
    assert "misprint" in misprint.reason


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"vectors": None}, f"no pretrained vectors instead of {SIMPLE}"),
        ({"vectors": "glove.txt"}, f"vectors glove.txt instead of {SIMPLE}"),
        ({"limit": 50}, "a random sample of 50 test texts"),
        ({"preset": "attentest"}, "preset attentest instead of released or paper"),
        ({"preset": None}, "preset attentest instead of released or paper"),
        ({"epochs": 2}, "epochs 2 instead of 8"),
        ({"encoder": "bilstm(hidden=64)"}, "encoder bilstm(hidden=64) instead of bilstm"),
        ({"attention": "additive(hidden=3)"}, "attention additive(hidden=3) instead of additive"),
        ({"corpus": "sst(more_than=0)"}, "texts prepared as sst(more_than=0) instead of sst"),
        ({"partial": "half of train"}, "partial: half of train"),
        ({"max_tokens": 50}, "max_tokens 50, which the study leaves as it is"),
        ({"challenges": {"agreement": "agreement(level=0.01)"}}, "agreement with level=0.01"),
    ],
)
def test_what_is_not_as_in_the_paper_is_named_and_kept_out_of_the_rate(
    tmp_path: Path, choices: dict[str, Any], said: str
) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, tau=0.40, **choices)])
    found = figure(outcomes, "tau_gradient", "0")
    assert (found.status, found.like_for_like) == ("agrees", False)
    assert said in found.difference
    inside = [o for o in outcomes if o.settled and o.like_for_like]
    assert rate(outcomes).compared == len(inside)
    assert found not in inside
    assert rate(outcomes, like_for_like=False).agree >= 1


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"preset": "paper"},
        {"epochs": 8, "limit": 0},
        {"challenges": {"agreement": "agreement(pairs=('attention~gradient', 'attention~leave_one_out'), k=2)"}},
        {"head": None},
    ],
)
def test_what_the_paper_has_too_is_like_for_like(tmp_path: Path, choices: dict[str, Any]) -> None:
    assert figure(evaluate(JAIN, [cell(tmp_path, **choices)]), "tau_gradient", "0").like_for_like


def test_known_parts_of_the_papers_vectors_are_named(tmp_path: Path) -> None:
    part = "glove.840B.300d.filtered33k.npz"
    found = figure(
        evaluate(JAIN, [cell(tmp_path, corpus="ag_news", vectors=part)]), "tau_gradient", "0", corpus="AG News"
    )
    assert "33,860 lower-case words of GloVe 840B" in found.difference
    whole = cell(tmp_path, corpus="ag_news", vectors="glove.840B.300d.txt", seed=1, name="whole")
    assert figure(evaluate(JAIN, [whole]), "tau_gradient", "0", corpus="AG News").like_for_like


def test_the_two_draws_of_20_newsgroups_are_told_apart(tmp_path: Path) -> None:
    released = cell(tmp_path, corpus="20news(draw_empty=False)", tau=0.1)
    outcomes = evaluate(JAIN, [released])
    first = figure(outcomes, "tau_gradient", "0", corpus="20 Newsgroups")
    later = figure(outcomes, "tau_gradient", "0", corpus="20 Newsgroups", table="Table 2 (later version)")
    assert (first.like_for_like, later.like_for_like) == (False, True)
    assert "another draw (334)" in first.difference


def test_a_reviews_corpus_that_never_is_the_papers_says_why(tmp_path: Path) -> None:
    for corpus, said in (("imdb", "Keras' tokens"), ("imdb(tokens='keras')", "order of the Keras release")):
        found = figure(evaluate(JAIN, [cell(tmp_path, corpus=corpus)]), "tau_gradient", "0", corpus="IMDB")
        assert not found.like_for_like
        assert said in found.difference


@pytest.mark.slow
def test_of_several_settings_the_studys_own_then_no_limit_then_most_seeds_stand(tmp_path: Path) -> None:
    own = [cell(tmp_path, seed=s, tau=0.40, name=f"own-{s}") for s in range(2)]
    others = [cell(tmp_path, seed=s, tau=0.99, vectors=None, name=f"other-{s}") for s in range(5)]
    limited = [cell(tmp_path, seed=s, tau=0.0, limit=50, name=f"limited-{s}") for s in range(6)]
    found = figure(evaluate(JAIN, [*others, *limited, *own]), "tau_gradient", "0")
    assert found.run_ids == ("own-0", "own-1")
    found = figure(evaluate(JAIN, [*limited, *others]), "tau_gradient", "0")
    assert found.run_ids == tuple(f"other-{s}" for s in range(5))


def test_a_challenge_that_is_not_finished_is_not_run(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, without=("agreement",), counts=None)])
    found = figure(outcomes, "tau_gradient", "0")
    assert (found.status, found.reason) == ("not run", "its runs have no finished agreement")
    assert figure(outcomes, "test_size", "0", table="Table 1").status == "not run"
    assert figure(outcomes, "test_f1", table="Table 1").settled


def test_figures_that_the_authors_file_lacks_cannot_be_had(tmp_path: Path) -> None:
    made = cell(tmp_path, corpus="imdb", encoder="average", attention="dot")
    about = {"table": "released results", "corpus": "IMDB", "model": "average", "attention": "scaled_dot"}
    outcomes = evaluate(JAIN, [made])
    found = figure(outcomes, "tau_gradient", **about)
    assert (found.status, "NaN" in found.reason) == ("unavailable", True)
    assert figure(outcomes, "tau_gradient_significant_fraction", **about).settled


def test_a_corpus_that_cannot_be_had_is_compared_where_somebody_has_it(tmp_path: Path) -> None:
    assert figure(evaluate(JAIN), "tau_gradient", "0", corpus="ADR Tweets").status == "unavailable"
    found = figure(evaluate(JAIN, [cell(tmp_path, corpus="adr", tau=0.45)]), "tau_gradient", "0", corpus="ADR Tweets")
    assert found.status == "agrees"


def both(tmp_path: Path, bilstm: float, average: float, **choices: Any) -> list[MadeUpCell]:
    return [
        cell(tmp_path, seed=s, tau=tau, encoder=encoder, **choices)
        for encoder, tau in (("bilstm", bilstm), ("average", average))
        for s in range(2)
    ]


def test_a_figure_s_interval_is_no_narrower_than_student_s_over_its_seeds(tmp_path: Path) -> None:
    taus = (0.30, 0.40, 0.50)
    found = figure(evaluate(JAIN, [cell(tmp_path, seed=s, tau=tau) for s, tau in enumerate(taus)]), "tau_gradient", "0")
    half = 4.302653 * 0.1 / 3**0.5  # the 97.5 % quantile of t with two degrees of freedom
    assert found.low == pytest.approx(0.4 - half, abs=1e-6)
    assert found.high == pytest.approx(0.4 + half, abs=1e-6)
    assert found.status == "unsettled"  # published .40, but seeds differ too much to say
    assert found.interval == "wider"
    one = figure(evaluate(JAIN, [cell(tmp_path / "one", tau=0.4)]), "tau_gradient", "0")
    assert one.high - one.low < 0.1  # over texts alone: one seed says nothing of others
    assert one.interval == "bootstrap"


@pytest.mark.parametrize(("average", "status"), [(0.6, "agrees"), (0.2, "differs"), (0.36, "unsettled")])
def test_a_direction_is_settled_by_its_whole_interval(tmp_path: Path, average: float, status: str) -> None:
    found = direction(evaluate(JAIN, both(tmp_path, 0.36, average)), "average agrees more than BiLSTM")
    assert found.status == status
    assert found.ours == pytest.approx(average - 0.36, abs=1e-9)
    assert found.low <= found.ours <= found.high
    assert found.also == f"{average:.3f} against 0.360"
    assert len(found.run_ids) == 4
    assert found.interval == "wider"


def test_a_direction_with_one_seed_on_one_side_has_no_student_s_interval(tmp_path: Path) -> None:
    cells = [cell(tmp_path, seed=s, tau=0.3) for s in range(2)]
    found = direction(
        evaluate(JAIN, [*cells, cell(tmp_path, tau=0.6, encoder="average")]), "average agrees more than BiLSTM"
    )
    assert (found.seeds, found.interval) == ((0, 1), "bootstrap")


def test_a_direction_needs_both_sides(tmp_path: Path) -> None:
    found = direction(evaluate(JAIN, [cell(tmp_path)]), "average agrees more than BiLSTM")
    assert (found.status, "reproduce" in found.reason) == ("not run", True)


def test_a_direction_within_one_model_draws_the_same_seeds(tmp_path: Path) -> None:
    # The control is higher by .1 in every seed, while the seeds themselves lie far apart.
    cells = [
        cell(tmp_path, seed=s, noise=0.0, tau={PAIRS[0]: t, PAIRS[1]: t, PAIRS[2]: t + 0.1})
        for s, t in enumerate((0.1, 0.3, 0.5))
    ]
    found = direction(evaluate(JAIN, cells), "the control agrees more")
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.status == "agrees"


@pytest.mark.parametrize(("tau", "status"), [(0.36, "agrees"), (0.7, "differs"), (0.5, "unsettled")])
def test_a_direction_may_have_a_mark(tmp_path: Path, tau: float, status: str) -> None:
    found = direction(evaluate(JAIN, [cell(tmp_path, tau=tau)]), "BiLSTM's τ is modest")
    assert found.status == status
    assert found.also == f"{tau:.3f} against the mark 0.5"


@pytest.mark.parametrize(("tau", "status"), [(0.40, "agrees"), (0.80, "differs"), (0.51, "unsettled")])
def test_a_direction_may_be_that_two_are_near(tmp_path: Path, tau: float, status: str) -> None:
    cells = [cell(tmp_path, tau=0.36), cell(tmp_path, tau=tau, encoder="convolution")]
    assert direction(evaluate(JAIN, cells), "convolution is like BiLSTM").status == status


def test_a_direction_on_other_data_is_marked_too(tmp_path: Path) -> None:
    found = direction(evaluate(JAIN, both(tmp_path, 0.3, 0.6, vectors=None)), "average agrees more than BiLSTM")
    assert (found.status, found.like_for_like) == ("agrees", False)
    assert found.difference == f"no pretrained vectors instead of {SIMPLE}"


def test_shares_and_correlations_are_read_from_the_texts(tmp_path: Path) -> None:
    outcomes = evaluate(JAIN, [cell(tmp_path, median_change=0.05, divergence=0.65)])
    small = direction(outcomes, "permutation often changes little")
    assert (small.status, small.ours) == ("agrees", pytest.approx(0.5))
    peaked = direction(outcomes, "large weights, small changes")
    assert (peaked.judged, peaked.status) == (100, "agrees")  # the upper half of the weights
    assert direction(outcomes, "adversaries come near the bound").status == "agrees"
    assert direction(outcomes, "peaked attention is harder to replace").ours == pytest.approx(-1)
    assert direction(outcomes, "but only weakly").status == "differs"
    large = evaluate(JAIN, [cell(tmp_path, median_change=0.3, divergence=0.4, seed=1, name="large")])
    assert direction(large, "permutation often changes little").status == "differs"
    assert direction(large, "adversaries come near the bound").status == "differs"


def test_findings_that_were_altered_are_not_compared(tmp_path: Path) -> None:
    made = cell(tmp_path)
    file = made.folder.path / "findings" / "agreement.parquet"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(StorageError, match="altered"):
        evaluate(JAIN, [made])


def test_counts_of_another_shape_are_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"corpus\.json"):
        evaluate(JAIN, [cell(tmp_path, counts={"vocabulary": 3})])


def test_findings_of_another_version_are_named(tmp_path: Path) -> None:
    made = cell(tmp_path, without=("permutation",))
    other = cell(tmp_path, seed=0, name="other")
    source = other.folder.path / "findings" / "instances.parquet"
    target = made.folder.path / "findings" / "permutation.parquet"
    target.write_bytes(source.read_bytes())
    made.folder.finish("findings/permutation.parquet")
    with pytest.raises(InputError, match="another version"):
        evaluate(JAIN, [made])
