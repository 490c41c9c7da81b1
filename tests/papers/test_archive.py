"""What is kept of runs gives the same outcomes as the runs; what was altered, or is something else, is refused."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
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
from attentest.store.sealed import sealed

#: Corpora of papers whose runs were made before findings were kept: their rows stand on earlier runs alone.
ELSEWHERE = {"wiegreffe_pinter_2019": {"IMDB", "AG News"}}
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


def rewritten(path: Path, to: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    change(members)
    with zipfile.ZipFile(to, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return to


def in_study(**about: object) -> Callable[[dict[str, bytes]], None]:
    """Other things in the study's record, or in its first cell."""

    def change(members: dict[str, bytes]) -> None:
        record = json.loads(members[f"studies/{JAIN}.json"])
        (record if "cells" in about else record["cells"][0]).update(about)
        members[f"studies/{JAIN}.json"] = json.dumps(record).encode()

    return change


@pytest.mark.parametrize(
    "change",
    [
        in_study(cells=[None]),
        in_study(cells=[{"run": "x"}]),
        in_study(choices=None),
        in_study(choices={"seed": float("nan")}),
        in_study(run="../../elsewhere"),
        in_study(run="a" * 5000),
        in_study(run="a\0b"),
        lambda members: members.update({f"studies/{JAIN}.json": b"[" * 100_000}),
    ],
)
def test_a_study_that_is_none_is_passed_over_and_leads_nowhere(
    cells: Sequence[MadeUpCell], tmp_path: Path, change: Callable[[dict[str, bytes]], None]
) -> None:
    write_archive(tmp_path / "a.zip", JAIN, cells)
    path = rewritten(tmp_path / "a.zip", tmp_path / "b.zip", change)
    with pytest.raises(InputError, match="it is no archive of claims"), archived(path, JAIN):
        pass


def resealed(folder: str, table: pa.Table | None = None, **about: object) -> Callable[[dict[str, bytes]], None]:
    """Another record of a run, or another table in it, sealed as attentest seals."""

    def change(members: dict[str, bytes]) -> None:
        run = next(name for name in members if name.startswith(folder) and name.endswith("run.json")).split("/")[0]
        record = {**json.loads(members[f"{run}/run.json"]), **about}
        record.pop("seal")
        if table is not None:
            held = io.BytesIO()
            pq.write_table(table, held)
            members[f"{run}/findings/instances.parquet"] = held.getvalue()
            record["finished"]["findings/instances.parquet"]["sha256"] = sha256(held.getvalue()).hexdigest()
        members[f"{run}/run.json"] = sealed(record).encode()

    return change


ABOUT = {b"attentest": json.dumps({"format": 2, "challenge": "instances", "measures": [], "parameters": {}}).encode()}
MADE = pa.table(
    {"id": ["a"], "predicted": [0], "label": [0], "correct": [True], "not_judged": pa.nulls(1, pa.string())}
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (resealed("sst-bilstm", fields=3), "no record of a run"),
        (resealed("sst-bilstm", made_with=3), "no record of a run"),
        (resealed("sst-bilstm", finished={"findings/a.parquet": 1}), "no record of a run"),
        (resealed("sst-bilstm", finished={"findings/../../x.parquet": {"sha256": ""}}), "no record of a run"),
        (resealed("sst-bilstm", MADE.replace_schema_metadata({b"attentest": b"[" * 100_000})), "RecursionError"),
        (resealed("sst-bilstm", MADE.replace_schema_metadata({b"attentest": b"3"})), "AttributeError"),
        (resealed("sst-bilstm", MADE.set_column(0, "id", [[[1]]]).replace_schema_metadata(ABOUT)), "no claim can"),
        (
            resealed("sst-bilstm", pa.table({name: pa.nulls(3_000_000) for name in MADE.column_names})),
            "10,000,000 cells are the most",
        ),
        (lambda members: members.pop(next(one for one in members if one.endswith("run.json"))), "lacks its findings"),
    ],
)
def test_what_is_sealed_and_makes_no_sense_is_said_of_the_archive(
    cells: Sequence[MadeUpCell],
    tmp_path: Path,
    change: Callable[[dict[str, bytes]], None],
    words: str,
) -> None:
    write_archive(tmp_path / "a.zip", JAIN, cells)
    path = rewritten(tmp_path / "a.zip", tmp_path / "b.zip", change)
    with pytest.raises(StorageError, match=words) as refused, archived(path, JAIN) as found:
        evaluate(JAIN, found)
    assert str(refused.value).startswith(str(path))
    assert "attentest-" not in str(refused.value)


def test_pipes_devices_and_bombs_are_no_archives(cells: Sequence[MadeUpCell], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="a pipe or a device"), archived(path, JAIN):
            pass
    write_archive(tmp_path / "a.zip", JAIN, cells)
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("studies/x.json", bytes(300 << 20))
    with pytest.raises(InputError, match="100 times its size"), archived(bomb, JAIN):
        pass


@pytest.mark.slow
@pytest.mark.parametrize("paper", sorted(PAPERS))
def test_every_committed_table_with_an_archive_is_what_the_archive_says(paper: str, tmp_path: Path) -> None:
    kept, table = (PAPERS[paper].folder / name for name in (ARCHIVE, REPRODUCED))
    if not kept.is_file():
        pytest.skip(f"no {ARCHIVE} of {paper} is kept: its table stands on runs alone")
    from attentest.papers.outcome_files import committed, completed, write_outcomes

    with archived(kept, paper) as cells:
        outcomes = evaluate(paper, cells)
    without = ELSEWHERE.get(paper, set())
    assert not [one for one in outcomes if one.settled and one.claim.corpus in without]
    carried = [one for one in committed(paper) or [] if one.claim.corpus in without]
    write_outcomes(tmp_path / REPRODUCED, completed(outcomes, carried))
    assert (tmp_path / REPRODUCED).read_text("utf-8") == table.read_text("utf-8")
