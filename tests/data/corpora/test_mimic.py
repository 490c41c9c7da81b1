from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts

from attentest.data.corpora.mimic import MimicAnemia, MimicDiabetes
from attentest.errors import InputError

NOTES = [
    "ROW_ID",
    "SUBJECT_ID",
    "HADM_ID",
    "CHARTDATE",
    "CHARTTIME",
    "STORETIME",
    "CATEGORY",
    "DESCRIPTION",
    "CGID",
    "ISERROR",
    "TEXT",
]
CODES = ["ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE"]


def table(header: list[str], rows: list[list[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerows([header, *rows])
    return text.getvalue()


def note(admission: object, text: str, kind: str = "Report", date: str = "2100-01-02", **more: str) -> list[object]:
    category, error = more.get("category", "Discharge summary"), more.get("error", "")
    return [1, 7, admission, date, "", "", category, kind, "", error, text]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A made-up miniature of the two tables."""

    def make(notes: list[list[object]], codes: list[list[object]], packed: bool = False) -> Path:
        for name, text in (("NOTEEVENTS", table(NOTES, notes)), ("DIAGNOSES_ICD", table(CODES, codes))):
            if packed:
                (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
            else:
                (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        return tmp_path

    return make


@pytest.mark.parametrize("packed", [False, True])
def test_summaries_are_joined_with_their_addenda_and_codes(folder: Callable[..., Path], packed: bool) -> None:
    notes = [
        note(11, "second addendum", "Addendum", "2100-01-09"),
        note(12, "an error", error="1"),
        note(12, "a nurse's note", category="Nursing"),
        note("", "no admission"),
        note(13, "no codes"),
        note(12, "whole"),
        note(11, "first addendum", "Addendum", "2100-01-03"),
        note(11, "the report\nitself", date="2100-01-05"),
    ]
    codes: list[list[object]] = [
        [1, 7, 11, 2, "25000"],
        [2, 7, 11, 1, "2851"],
        [3, 7, 12, 1, "V3001"],
        [4, 7, 14, "", ""],
    ]
    path = folder(notes, codes, packed)
    (path / "dev_50_hadm_ids.csv").write_text("12\n")
    rows = {row["admission"]: row for row in MimicDiabetes().read_official(path)["notes"]}
    assert rows[11]["text"] == "the report\nitself first addendum second addendum"
    assert rows[11]["codes"] == ["285.1", "250.00"]
    assert (rows[11]["caml"], rows[12]["caml"], rows[12]["codes"], rows[12]["id"]) == (
        "",
        "dev",
        ["V30.01"],
        "mimic-12",
    )
    assert set(rows) == {11, 12}


def test_another_table_is_refused(folder: Callable[..., Path]) -> None:
    path = folder([], [])
    (path / "NOTEEVENTS.csv").write_text("ROW_ID,TEXT\n1,x\n")
    with pytest.raises(InputError, match=r"NOTEEVENTS.csv has no column HADM_ID: it must be the table of MIMIC-III\.$"):
        list(MimicAnemia().read_official(path)["notes"])


def test_a_record_that_is_cut_is_refused(folder: Callable[..., Path]) -> None:
    path = folder([note(1, "x")[:-1]], [])
    with pytest.raises(InputError, match=r"record 2 has 10 columns, not 11\.$"):
        list(MimicAnemia().read_official(path)["notes"])


def test_a_subject_that_is_no_number_is_refused(folder: Callable[..., Path]) -> None:
    broken = note(1, "x")
    broken[1] = "seven"
    path = folder([broken], [[1, 7, 1, 1, "25000"]])
    with pytest.raises(InputError, match=r"'seven' in column SUBJECT_ID"):
        list(MimicAnemia().read_official(path)["notes"])


def admission(number: int, codes: list[str], caml: str = "", words: int = 10) -> dict[str, object]:
    text = f"Seen on [**2100-1-{number}**] by Dr. [**Last Name (un) **] ==== " + "stable " * words
    return {
        "id": f"mimic-{number}",
        "text": text,
        "subject": 1000 - number,
        "admission": number,
        "codes": codes,
        "caml": caml,
    }


def test_brackets_repeated_marks_and_digits_are_cleaned() -> None:
    rows = [admission(n, [("250.00", "401.9")[n % 2]], ("train", "dev", "test")[n % 3]) for n in range(12)]
    prepared = MimicDiabetes().prepare(Given(notes=rows))
    assert next(iter(prepared.splits["train"])).tokens[:8] == ["seen", "on", "<DE>", "by", "dr.", "<DE>", "=", "stable"]


def test_diabetes_takes_camls_split_where_it_is_given() -> None:
    rows = [admission(n, [("250.00", "250.02")[n % 2]], ("train", "dev", "test", "")[n % 4]) for n in range(16)]
    assert counts(MimicDiabetes().prepare(Given(notes=rows))) == {
        "train": {"no diabetes": 0, "diabetes": 4},
        "dev": {"no diabetes": 4, "diabetes": 0},
        "test": {"no diabetes": 0, "diabetes": 4},
    }
    assert counts(MimicDiabetes(code="250").prepare(Given(notes=rows)))["dev"] == {"no diabetes": 0, "diabetes": 4}


def test_diabetes_without_camls_lists_takes_every_admission_and_says_so() -> None:
    rows = [admission(n, [("250.00", "401.9")[n % 2]], words=5000 if n == 3 else 10) for n in range(40)]
    prepared = MimicDiabetes().prepare(Given(notes=rows))
    found = counts(prepared)
    assert sum(sum(split.values()) for split in found.values()) == 39
    assert any("1 text left out: 4000 tokens or more" in line for line in prepared.left_out)
    assert "put the *_50_hadm_ids.csv" in prepared.preparation
    assert "not verified" in prepared.preparation


def test_anemia_is_acute_or_chronic_and_never_both() -> None:
    kinds = (["285.1"], ["285.21"], ["285.1", "285.29"], ["401.9"])
    rows = [admission(n, kinds[n % 4], words=10 + n) for n in range(80)]
    prepared = MimicAnemia().prepare(Given(notes=rows))
    found = counts(prepared)
    assert sum(found["test"].values()) == 7  # 8 drawn, the shortest left out
    assert sum(sum(split.values()) for split in found.values()) == 37
    labels = {text.id: text.label for split in prepared.splits.values() for text in split}
    assert all(label == (int(name.removeprefix("mimic-")) % 4 == 0) for name, label in labels.items())


def test_one_kind_of_anemia_alone_is_refused() -> None:
    with pytest.raises(InputError, match="no admissions of both kinds"):
        MimicAnemia().prepare(Given(notes=[admission(1, ["285.1"])]))
