from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from tests.papers.made_up_cells import cell

from attentest.errors import InputError
from attentest.papers import PAPERS
from attentest.papers.claims import load_claims
from attentest.papers.evidence import in_words
from attentest.papers.outcome_files import (
    COLUMNS,
    REPRODUCED,
    committed,
    completed,
    given_outcomes,
    read_outcomes,
    row_of,
    write_outcomes,
)
from attentest.papers.outcomes import Outcome, evaluate, rate
from attentest.studies.study import read_study

JAIN = "jain_wallace_2019"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    root = tmp_path_factory.mktemp("runs")
    cells = [cell(root, seed=s, tau=0.35 + 0.1 * s) for s in range(2)]
    return evaluate(JAIN, [*cells, cell(root, encoder="average", tau=0.6, vectors=None)])


def test_outcomes_come_back_as_they_were_written(outcomes: list[Outcome], tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    write_outcomes(path, outcomes)
    back = read_outcomes(path.read_text("utf-8"), "outcomes.csv", load_claims(JAIN))
    assert [row_of(outcome) for outcome in back] == [row_of(outcome) for outcome in outcomes]
    assert rate(back) == rate(outcomes)
    assert rate(back, like_for_like=False) == rate(outcomes, like_for_like=False)
    again = tmp_path / "again.csv"
    write_outcomes(again, back)
    assert again.read_bytes() == path.read_bytes()


def test_a_row_says_everything_to_four_digits(outcomes: list[Outcome], tmp_path: Path) -> None:
    path = tmp_path / "outcomes.csv"
    write_outcomes(path, outcomes)
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8"))))
    assert len(rows) == len(load_claims(JAIN).every)
    row = next(r for r in rows if r["measure"] == "tau_gradient" and r["table"] == "Table 2" and r["group"] == "0")
    assert row["kind"] == "figure"
    assert (row["published"], row["published_spread"], row["ours"]) == ("0.40", "0.21", "0.4")
    assert (row["seeds"], row["like_for_like"], row["status"]) == ("0 1", "yes", "unsettled")
    assert len(row["run_ids"].split()) == 2
    assert row["runs"] == "sst, bilstm, additive, preset released, vectors wiki.simple.vec"
    assert (row["attentest"], row["torch"], row["device"]) == ("0.1.0", "2.13.0", "cpu (x86_64)")
    for number in (row[name] for row in rows for name in ("ours", "low", "high", "spread")):
        assert len(number.partition(".")[2]) <= 4
    assert not any(row["like_for_like"] for row in rows if row["status"] in ("not run", "unavailable"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("kind,", "sort,", 1), "not a table of outcomes"),
        (lambda text: text.replace(",SST,", ",SSR,", 1), "no claim"),
        (lambda text: text.replace(",agrees,", ",agree,", 1), "Did you mean 'agrees'"),
        (lambda text: text.replace(",0.4,", ",high,", 1), "cannot be read"),
        (lambda text: text.replace(",wider,", ",wide,", 1), "Did you mean 'wider'"),
    ],
)
def test_a_table_that_was_altered_is_named(outcomes: list[Outcome], tmp_path: Path, change, said: str) -> None:
    path = tmp_path / "outcomes.csv"
    write_outcomes(path, outcomes)
    with pytest.raises(InputError) as caught:
        read_outcomes(change(path.read_text("utf-8")), "outcomes.csv", load_claims(JAIN))
    assert said in str(caught.value)


def test_claims_that_no_run_answers_stay_as_an_earlier_table_has_them(tmp_path: Path) -> None:
    before = evaluate(JAIN, [cell(tmp_path / "before", tau=0.1), cell(tmp_path / "before", corpus="20news", tau=0.1)])
    after = evaluate(JAIN, [cell(tmp_path / "after", tau=0.4)])
    found = completed(after, before)
    assert [one.claim for one in found] == [one.claim for one in after]
    assert [one for one in found if one.claim.corpus == "SST"] == [one for one in after if one.claim.corpus == "SST"]
    others = [one for one in before if one.claim.corpus == "20 Newsgroups"]
    assert any(one.settled for one in others)
    assert [one for one in found if one.claim.corpus == "20 Newsgroups"] == others


@pytest.mark.parametrize("name", PAPERS)
def test_a_committed_table_has_every_claim_of_its_paper(name: str) -> None:
    kept = committed(name)
    if kept is None:
        pytest.skip(f"no table of {name} comes with attentest")
    assert [outcome.claim for outcome in kept] == load_claims(name).every
    assert len(COLUMNS) == len(row_of(kept[0]))


@pytest.mark.parametrize("name", PAPERS)
def test_the_runs_of_a_committed_table_are_cells_of_the_paper_s_studies(name: str) -> None:
    cells = {in_words(cell.choices) for path in PAPERS[name].studies() for cell in read_study(path).cells()}
    for outcome in committed(name) or []:
        assert bool(outcome.runs) == bool(outcome.run_ids)
        assert set(outcome.runs.split("; ")) - {""} <= cells


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"kind,paper\n", b"x" * 300_000, "LONG", "SHORT", "INF", "UTF16"],
)
def test_a_table_that_somebody_names_is_read_or_refused_in_a_line(tmp_path: Path, content: bytes | str) -> None:
    loaded = load_claims("jain_wallace_2019")
    whole = PAPERS["jain_wallace_2019"].text(REPRODUCED) or ""
    head, first = whole.splitlines()[:2]
    made = {
        "LONG": f"{head}\n{first},1,2\n",
        "SHORT": f"{head}\ndirection\n",
        "INF": f"{head}\n{first.replace('0.2388', 'inf')}\n",
        "UTF16": "",
    }
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else made[content].encode() or whole.encode("utf-16"))
    with pytest.raises(InputError) as refused:
        given_outcomes(path, loaded)
    assert "\n" not in str(refused.value)
    path.write_bytes(b"\xef\xbb\xbf" + f"{head}\n{first}\n".encode())
    assert len(given_outcomes(path, loaded)) == 1
