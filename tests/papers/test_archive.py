"""What is kept of runs gives the same outcomes as the runs; what was altered, or is something else, is refused."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.papers.made_up_altered import pairs
from tests.papers.made_up_cells import MadeUpCell, cell

from attentest.errors import InputError, StorageError
from attentest.papers import PAPERS
from attentest.papers.archive import ARCHIVE, archived, write_archive
from attentest.papers.headline import headline
from attentest.papers.outcome_files import REPRODUCED, row_of
from attentest.papers.outcomes import evaluate

JAIN, VASHISHTH = "jain_wallace_2019", "vashishth_2019"


@pytest.fixture
def cells(tmp_path: Path) -> Sequence[MadeUpCell]:
    root = tmp_path / "runs"
    return [cell(root, seed=seed, encoder=encoder) for seed in (0, 1) for encoder in ("bilstm", "average")]


def rows(paper: str, cells: Sequence[MadeUpCell]) -> list[dict[str, str]]:
    return [row_of(outcome) for outcome in evaluate(paper, cells)]


def test_outcomes_are_those_of_the_runs_to_the_last_digit(cells: Sequence[MadeUpCell], tmp_path: Path) -> None:
    kept = write_archive(tmp_path / "a.zip", JAIN, cells)
    with archived(tmp_path / "a.zip", JAIN) as found:
        assert [row_of(outcome) for outcome in evaluate(JAIN, found)] == rows(JAIN, cells)
        instances = next(one.folder for one in found).path / "findings" / "instances.parquet"
        # Read by claims, and nothing else.
        assert set(pq.read_schema(instances).names) <= {"id", "predicted", "label", "correct", "not_judged"} | {
            "probabilities"
        }
        entry = found[0].folder.record["finished"]["findings/instances.parquet"]
        whole = next(one for one in cells if one.folder.path.name == found[0].folder.path.name).folder.record
        assert entry["whole"] == whole["finished"]["findings/instances.parquet"]["sha256"] != entry["sha256"]
    assert (kept.runs, kept.bytes) == (4, (tmp_path / "a.zip").stat().st_size)
    write_archive(tmp_path / "b.zip", JAIN, cells[::-1])
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_an_archive_of_an_archive_is_the_same_to_the_byte(cells: Sequence[MadeUpCell], tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", JAIN, cells)
    with archived(tmp_path / "a.zip", JAIN) as found:
        write_archive(tmp_path / "b.zip", JAIN, found)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.slow
def test_a_paper_with_a_headline_keeps_what_that_reads(tmp_path: Path) -> None:
    own = pairs(tmp_path / "runs", trained=0.35)
    control = pairs(tmp_path / "runs", head="joint", trained=0.75)
    write_archive(tmp_path / "a.zip", VASHISHTH, [*own, *control])
    with archived(tmp_path / "a.zip", VASHISHTH) as found:
        assert headline(VASHISHTH, found) == headline(VASHISHTH, [*own, *control])


def test_an_unpacked_archive_is_read_too_and_an_altered_one_is_not(cells: Sequence[MadeUpCell], tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", JAIN, cells)
    with zipfile.ZipFile(tmp_path / "a.zip") as file:
        file.extractall(tmp_path / "out")
    with archived(tmp_path / "out", JAIN) as found:
        assert len(found) == 4
    table = next((tmp_path / "out").glob("sst-bilstm-*/findings/agreement.parquet"))
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    with archived(tmp_path / "out", JAIN) as found, pytest.raises(StorageError, match="was altered"):
        evaluate(JAIN, found)


def test_what_is_no_archive_of_the_paper_is_named(cells: Sequence[MadeUpCell], tmp_path: Path) -> None:
    write_archive(tmp_path / "a.zip", JAIN, cells)
    (tmp_path / "text.zip").write_text("no zip", encoding="utf-8")
    for path, paper, words in (
        (tmp_path / "a.zip", VASHISHTH, "it has those of jain_wallace_2019"),
        (tmp_path / "text.zip", JAIN, "it is no archive of claims"),
        (tmp_path / "none.zip", JAIN, "There is no file"),
    ):
        with pytest.raises(InputError, match=words), archived(path, paper):
            pass
    with pytest.raises(InputError, match="There are no runs"):
        write_archive(tmp_path / "b.zip", JAIN, [])
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.slow
@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_every_committed_table_with_an_archive_is_what_the_archive_says(paper: str, tmp_path: Path) -> None:
    kept, table = (PAPERS[paper].folder / name for name in (ARCHIVE, REPRODUCED))
    if not kept.is_file():
        pytest.skip(f"no {ARCHIVE} of {paper} is kept: its table stands on runs alone")
    from attentest.papers.outcome_files import write_outcomes

    with archived(kept, paper) as cells:
        write_outcomes(tmp_path / REPRODUCED, evaluate(paper, cells))
    assert (tmp_path / REPRODUCED).read_text("utf-8") == table.read_text("utf-8")
