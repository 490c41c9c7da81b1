"""Answers leave and come back the same; items leave without secrets; nothing is half imported."""

from __future__ import annotations

import csv
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.errors import InputError, StorageError
from attentest.people import PeopleStudy
from attentest.people.exchange.incoming import Imported, columns_from, import_answers
from attentest.people.exchange.outgoing import label_studio_tasks, write_answers, write_items
from attentest.people.simulated import simulate


@pytest.fixture
def answered(study: PeopleStudy) -> PeopleStudy:
    for name in ("anna", "ben"):
        who = study.annotator(study.invite(name))
        study.consent(who, study.documents().version)
        for number, item in enumerate(study.assigned(who)[:12]):
            study.answer(who, item.id, item.shown.choices[number % 2].value, f"nonce-{number:04d}", 1.5)
    simulate(study, 2, 0.1)
    return study


def read(path: Path) -> list[dict]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_answer_of_people_leaves_and_comes_back(answered: PeopleStudy, make, tmp_path: Path, ending: str) -> None:
    to = tmp_path / f"answers.{ending}"
    assert write_answers(answered, to) == 24
    rows = read(to)
    assert {row["kind"] for row in rows} == {"person"}
    for row, answer in zip(rows, answered.answers("person"), strict=True):
        item = answered.items[answer.item]
        assert (row["annotator"], row["item"], row["choice"]) == (answer.annotator, answer.item, answer.choice)
        assert (row["condition"], row["item_kind"]) == (item.hidden.condition, item.hidden.kind)
        assert float(row["seconds"]) == 1.5
    back = make(name="back")
    assert list(back.items) == list(answered.items)
    assert import_answers(back, to) == Imported(2, 24)
    returned, given = ({(a.annotator, a.item): a.choice for a in s.answers()} for s in (back, answered))
    assert returned == {key: choice for key, choice in given.items() if not key[0].startswith("simulated")}
    assert {answer.kind for answer in back.answers()} == {"imported"}


def test_simulated_answers_leave_by_themselves(answered: PeopleStudy, tmp_path: Path) -> None:
    write_answers(answered, tmp_path / "s.csv", "simulated")
    assert {row["kind"] for row in read(tmp_path / "s.csv")} == {"simulated"}


def test_tasks_of_label_studio_hold_nothing_that_must_not_be_seen(study: PeopleStudy, tmp_path: Path) -> None:
    tasks, config = write_items(study, tmp_path / "tasks.json")
    text = tasks.read_text("utf-8")
    assert len(json.loads(text)) == len(study.items)
    for item in study.items.values():
        assert not item.hidden.text or item.hidden.text not in text
    assert not any(f'"{word}"' in text for word in ("original", "permuted", "gold", "truth", "planted", "condition"))
    root = ET.fromstring(config.read_text("utf-8"))
    assert [choice.get("alias") for choice in root.iter("Choice")] == ["yes", "no"]
    assert [choice.get("hotkey") for choice in root.iter("Choice")] == ["y", "n"]
    marked = sum(text.count("<mark>") for text in (task["data"]["html"] for task in json.loads(text)))
    assert marked == sum(len(item.shown.panels[0].marked) for item in study.items.values())


def test_strangers_tokens_are_escaped(study: PeopleStudy) -> None:
    from dataclasses import replace

    item = next(iter(study.items.values()))
    panel = replace(item.shown.panels[0], tokens=("<script>alert(1)</script>", "b"), marked=(1,))
    (task,) = label_studio_tasks([replace(item, shown=replace(item.shown, panels=(panel,)))])
    assert "<script" not in task["data"]["html"]


def test_items_leave_as_a_table(study: PeopleStudy, tmp_path: Path) -> None:
    write_items(study, tmp_path / "items.csv")
    rows = read(tmp_path / "items.csv")
    assert [row["item"] for row in rows] == list(study.items)
    assert {row["choices"] for row in rows} == {"yes|no"}
    with pytest.raises(InputError, match=r"must end in \.json"):
        write_items(study, tmp_path / "items.txt")


def label_studio(study: PeopleStudy, **other: object) -> list[dict]:
    """An export as Label Studio writes it: a task for every item, annotated by two people."""
    tasks = []
    for number, item in enumerate(study.items.values(), start=1):
        annotations = [
            {
                "id": 10 * number + person,
                "completed_by": {"id": person, "email": f"p{person}@example.org"} if person == 1 else person,
                "result": [
                    {
                        "from_name": "answer",
                        "to_name": "text",
                        "type": "choices",
                        "value": {"choices": [("yes", "No, they are not")[(number + person) % 2]]},
                    }
                ],
                "was_cancelled": False,
                "lead_time": 3.25,
                "created_at": "2026-03-01T10:00:00.000000Z",
            }
            for person in (1, 2)
        ]
        skipped = {"id": 99, "was_cancelled": True, "result": [], "completed_by": 1}
        tasks.append({"id": number, "data": {"item": item.id}, "annotations": [*annotations, skipped]} | other)
    return tasks


def test_annotations_of_label_studio_are_imported(study: PeopleStudy, tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(label_studio(study)), "utf-8")
    assert import_answers(study, path) == Imported(2, 2 * len(study.items))
    assert {answer.annotator for answer in study.answers()} == {"p1@example.org", "2"}
    assert {answer.choice for answer in study.answers()} == {"yes", "no"}
    assert {answer.seconds for answer in study.answers()} == {3.25}


@pytest.mark.parametrize(
    "content",
    [
        *('{"a": 1}', '[{"item": "x", "answer": "yes"}]', "not json", "[" * 100_000),
        *('[{"annotations": 5}]', '[{"annotations": ["x"]}]', '[{"annotations": [{"result": [3]}]}]'),
    ],
    ids=["object", "flat", "text", "deep", "number", "texts", "result"],
)
def test_what_is_no_export_of_label_studio_is_refused(study: PeopleStudy, tmp_path: Path, content: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"no export of Label Studio|cannot be read"):
        import_answers(study, path)


def prolific(
    study: PeopleStudy, path: Path, rows: list[tuple[str, ...]], columns: str = "PROLIFIC_PID,Q item,Q3,rt"
) -> Path:
    path.write_text("\ufeff" + columns + "\n" + "".join(",".join(row) + "\n" for row in rows), "utf-8")
    return path


def test_a_table_with_other_columns_is_imported_by_a_mapping(study: PeopleStudy, tmp_path: Path) -> None:
    ids = list(study.items)
    path = prolific(study, tmp_path / "p.csv", [("5f1", ids[0], "YES", "2.5"), ("5f1", ids[1], "no", "")])
    with pytest.raises(InputError, match="no column for the item: name it with --columns item=COLUMN"):
        import_answers(study, path)
    assert import_answers(study, path, columns_from("item=Q item, choice=Q3, seconds=rt")) == Imported(1, 2)
    assert [(a.annotator, a.choice, a.seconds) for a in study.answers()] == [("5f1", "yes", 2.5), ("5f1", "no", None)]


def test_every_bad_row_is_named_and_nothing_is_imported(study: PeopleStudy, tmp_path: Path) -> None:
    study.invite("anna")
    ids = list(study.items)
    rows = [
        *(("p1", ids[0], "yes", "1"), ("p1", "nosuch", "yes", "1"), ("p1", ids[1], "perhaps", "1")),
        *(("p1", ids[2], "yes", "soon"), ("", ids[3], "yes", "1"), ("anna", ids[4], "yes", "1")),
        *(("p1", ids[0], "no", "1"), ("p1", ids[5], "yes", "-3"), ("p2", ids[0], "yes", "nan")),
    ]
    path = prolific(study, tmp_path / "p.csv", rows, "annotator,item,choice,seconds")
    with pytest.raises(InputError) as error:
        import_answers(study, path)
    said = str(error.value)
    assert "8 of 9 answers cannot be imported, so none was" in said
    for words in (
        *("row 3: item 'nosuch' is not of this study", "row 4: 'perhaps' is no answer (yes, no)"),
        *("row 5: 'soon' are no seconds", "row 6: '' is no name", "an annotator is already called 'anna'"),
        *(
            "row 8: 'p1' answered item",
            "in row 2 already",
            "row 9: '-3' are no seconds",
            "row 10: 'nan' are no seconds",
        ),
    ):
        assert words in said
    assert study.answers() == []
    assert [who.name for who in study.store.annotators()] == ["anna"]


def test_prolifics_rows_of_who_withdrew_are_left_out_and_its_time_is_that_of_all(
    study: PeopleStudy, tmp_path: Path
) -> None:
    ids = list(study.items)
    when = "2026-11-03T09:31:22.000Z"
    rows = [
        (who, status, when, "1882", item, "yes")
        for who, status in (("5f1", "APPROVED"), ("60a", "RETURNED"), ("71b", "AWAITING REVIEW"), ("82c", "TIMED-OUT"))
        for item in ids[:3]
    ]
    columns = "Participant id,Status,Completed at,Time taken,item_id,response"
    assert import_answers(study, prolific(study, tmp_path / "p.csv", rows, columns)) == Imported(2, 6, 6)
    assert {answer.annotator for answer in study.answers()} == {"5f1", "71b"}
    assert {(answer.seconds, answer.at) for answer in study.answers()} == {(None, when)}


def test_a_survey_with_a_column_an_item_is_imported(study: PeopleStudy, tmp_path: Path) -> None:
    """As Qualtrics writes it: three rows of headings, one person a row, previews, and questions left open."""
    ids = list(study.items)
    rows = [
        ["EndDate", "Status", "Duration (in seconds)", "PROLIFIC_PID", *ids],
        [
            "End Date",
            "Response Type",
            "Duration (in seconds)",
            "PROLIFIC_PID",
            *["Are the marked words relevant?"] * len(ids),
        ],
        [json.dumps({"ImportId": name}).replace(": ", ":") for name in ["endDate", "status", "duration", "PID", *ids]],
        ["2026-11-03 09:31:00", "Survey Preview", "60", "me", *["yes"] * len(ids)],
        ["2026-11-03 09:31:00", "IP Address", "1860", "71a", "Yes, they are relevant", "no", *[""] * (len(ids) - 2)],
        ["2026-11-04 09:31:00", "IP Address", "1500", "72b", *["no"] * len(ids)],
    ]
    path = tmp_path / "survey.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as handle:
        csv.writer(handle).writerows(rows)
    assert import_answers(study, path) == Imported(2, 2 + len(ids), 1)
    first = [answer for answer in study.answers() if answer.annotator == "71a"]
    assert [(answer.item, answer.choice, answer.seconds) for answer in first] == [
        (ids[0], "yes", None),
        (ids[1], "no", None),
    ]
    assert {answer.at for answer in first} == {"2026-11-03 09:31:00"}
    rows[4][5] = "perhaps"
    rows[4][3] = rows[5][3] = "somebody"
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows(rows)
    with pytest.raises(InputError, match=rf"row 5, column {ids[1]}: 'perhaps' is no answer") as error:
        import_answers(study, path)
    assert f"'somebody' answered item {ids[0]!r} in row 5, column {ids[0]} already" in str(error.value)


@pytest.mark.parametrize("text", ["who=PID", "item", "item="])
def test_a_mapping_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="must be one of annotator, item, choice, seconds, at"):
        columns_from(text)


def test_a_column_that_could_be_either_of_two_is_refused(study: PeopleStudy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--columns names 'item' twice, as 'a' and 'b'"):
        columns_from("item=a,item=b")
    path = prolific(study, tmp_path / "p.csv", [("p", "q", "i", "yes")], "annotator,annotator,item,choice")
    with pytest.raises(InputError, match="has the column 'annotator' twice: rename one"):
        import_answers(study, path)


@pytest.mark.parametrize("name", ["gone.csv", "a.xlsx", "bad.parquet", "empty.csv"])
def test_files_that_cannot_be_read_are_refused_in_one_line(study: PeopleStudy, tmp_path: Path, name: str) -> None:
    if not name.startswith("gone"):
        (tmp_path / name).write_bytes(b"" if name.startswith("empty") else b"no table")
    with pytest.raises((InputError, StorageError)):
        import_answers(study, tmp_path / name)
    with pytest.raises(InputError, match="has no column 'nope'"):
        import_answers(study, prolific(study, tmp_path / "q.csv", [("a", "b", "c", "d")]), {"item": "nope"})


def test_pipes_tables_without_end_and_deep_rows_are_refused(study: PeopleStudy, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    many = pa.table({"item": pa.DictionaryArray.from_arrays(pa.array([0] * 10_000_001, pa.int8()), ["x"])})
    pq.write_table(many, tmp_path / "many.parquet")
    for name, said in (("pipe.jsonl", "a pipe"), ("deep.jsonl", "nested too deep"), ("many.parquet", "cells")):
        with pytest.raises(InputError, match=said):
            import_answers(study, tmp_path / name)
