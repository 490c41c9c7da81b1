"""Questions come from a file row by row, and what is wrong with one is said in a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attentest.errors import InputError
from attentest.sources.question import Question, read_questions


def test_rows_become_questions(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(
        '{"question": "Where?", "contexts": ["Here.", "There."], "answer": "Here", "id": 7}\n\n'
        '{"question": "Who?", "contexts": "Anna."}\n',
        encoding="utf-8",
    )
    first, second = read_questions(path)
    assert first == Question("Where?", ("Here.", "There."), "Here", id="7")
    assert second == Question("Who?", ("Anna.",), id="3")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "is empty"),
        ("{", "is no JSON"),
        ("[1]", "must be an object"),
        ('{"question": "Where?", "passages": ["Here."]}', "no column 'contexts'"),
        ('{"contexts": ["Here."]}', "no column 'question'"),
        ('{"question": "Where?", "contexts": []}', "has no sources"),
        ('{"question": "Where?", "contexts": ["Here.", " "]}', "source 2 is empty"),
        ('{"question": " ", "contexts": ["Here."]}', "the question is empty"),
        ('{"question": "Where\\ud800?", "contexts": ["Here."]}', r"'\\ud800' is half a character"),
        ('{"question": "Where?", "contexts": ["Here.", "\\udfff"]}', r"'\\udfff' is half a character"),
        ('{"question": "Where?", "contexts": ["Here."], "answer": "\\ud800"}', "is half a character"),
        ('{"question": "Where?", "contexts": ["Here."], "id": "\\ud800"}', "is half a character"),
        ('{"question": "Where?", "contexts": [1]}', "a list of texts"),
        ('{"question": "Where?", "contexts": ["Here."], "answer": ""}', "the answer is empty"),
        ('{"question": "Where?", "contexts": ["Here."], "answer": 3}', "must be texts"),
        ('{"question": "Where?", "contexts": ["Here."], "answer": "Here", "span": "There"}', "is no part of"),
        (
            '{"question": "A", "contexts": ["B"], "id": "1"}\n{"question": "A", "contexts": ["B"], "id": 1}',
            "stands twice",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(line, encoding="utf-8")
    with pytest.raises(InputError, match=said) as raised:
        list(read_questions(path))
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_questions(tmp_path / "none.jsonl"))


def test_a_pipe_is_no_file_of_questions(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="a pipe or a device"):
        list(read_questions(tmp_path / "pipe.jsonl"))


def test_marks_that_end_lines_in_a_text_end_no_question(tmp_path: Path) -> None:
    row = '{"question": "Where\u2028?", "contexts": ["Here\x85."]}'
    (tmp_path / "q.jsonl").write_text(f"{row}\r\n{row}\n", encoding="utf-8", newline="")
    assert [one.question for one in read_questions(tmp_path / "q.jsonl")] == ["Where\u2028?"] * 2
