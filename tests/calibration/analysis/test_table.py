from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.support.made_up_records import FOLLOWS, made_up_records

from attentest.calibration.analysis.table import Table, read_records, read_table
from attentest.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up_records(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def table(folder: Path) -> Table:
    return read_records(folder)


def test_the_table_is_that_of_the_records(folder: Path, table: Table) -> None:
    records = [json.loads(path.read_text()) for path in (folder / "members").glob("*.json")]
    assert len(table) == len(records)
    by_name = {(r["mechanism"], r["world"], r["value"]): r for r in records}
    for _, row in table.frame.iterrows():
        record = by_name[row["mechanism"], row["world"], row["value"]]
        assert row["truth words"] == pytest.approx(record["truth"]["words"][0], rel=1e-4)
        name = "importance.attention.held.mask"
        assert row[name] == pytest.approx(record["measures"][name][0], rel=1e-4)
        assert row[f"low of {name}"] == pytest.approx(record["measures"][name][1], rel=1e-4)


def test_a_table_is_written_and_read(table: Table, tmp_path: Path) -> None:
    table.write(tmp_path)
    again = read_table(tmp_path)
    assert again.measures == table.measures
    assert list(again.frame.columns) == list(table.frame.columns)
    for name in table.measures:
        assert again.column(name) == pytest.approx(table.column(name), nan_ok=True)
    assert again.text_evidence().truth.tolist() == table.text_evidence().truth.tolist()
    again.write(tmp_path / "again")
    for name in ("members.csv", "texts.parquet"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_measures_of_other_explainers_are_left_out(table: Table) -> None:
    assert set(table.measures) == {name for name in FOLLOWS if "gradient_norm" not in name}


def test_the_order_of_rows_is_not_that_of_files(table: Table, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "members").mkdir()
    for number, path in enumerate(sorted((folder / "members").glob("*.json"), reverse=True)):
        (tmp_path / "members" / f"x{number:05d}.json").write_bytes(path.read_bytes())
    assert read_records(tmp_path).frame.equals(table.frame)


def test_texts_belong_to_their_members(table: Table) -> None:
    evidence = table.text_evidence()
    assert len(evidence) == 11 * len(table)  # one of twelve was not judged
    by_member = table.texts.groupby("member")["truth"].mean()
    assert np.abs(by_member.to_numpy() - table.truth("words")).mean() < 0.1
    half = table.where(np.arange(len(table)) % 2 == 0)
    assert set(half.texts["member"]) == set(half.frame.index)


def test_members_that_guess_do_not_count(table: Table) -> None:
    frame = table.frame.copy()
    frame["accuracy"] = np.where(np.arange(len(frame)) % 3 == 0, 0.55, 0.97)
    frame.loc[0, "accuracy"] = np.nan
    able = Table(frame, table.texts).able
    assert able[0]
    guesses = (np.arange(len(frame)) % 3 == 0) & (table.column("classes") == 2) & (np.arange(len(frame)) > 0)
    assert not able[guesses].any()
    assert able[table.column("classes") == 5].all()  # .55 of five classes is far from chance


@pytest.mark.parametrize(("text", "said"), [("{", "no record"), ("{}", "has no family"), ("[]", "has no family")])
def test_a_file_that_is_no_record_is_named(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "members").mkdir()
    (tmp_path / "members" / "a.json").write_text(text)
    with pytest.raises(InputError, match=f"a.json.*{said}"):
        read_records(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no records in"):
        read_records(tmp_path)
    with pytest.raises(InputError, match="no table"):
        read_table(tmp_path)
