from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, written

from attentest.data.corpora.yahoo import TOPICS, Yahoo
from attentest.errors import InputError

CSV = '"5","why ""C""?","","Because."\n"10","a","b","c"\n'


def rows(name: str) -> list[dict[str, object]]:
    return [{"id": f"{name}{n}", "title": "Why?", "question": "", "answer": "So!", "label": n % 10} for n in range(100)]


def test_the_official_files_are_read(tmp_path: Path) -> None:
    read = Yahoo().read_official(written(tmp_path, {"train.csv": CSV, "test.csv": CSV}))
    first, second = read["train"]
    assert first == {"id": "train-0", "title": 'why "C"?', "question": "", "answer": "Because.", "label": 4}
    assert second["label"] == 9


def test_question_and_answer_are_joined() -> None:
    prepared = Yahoo().prepare(Given(train=rows("a"), test=rows("b")))
    found = counts(prepared)
    assert found["test"] == dict.fromkeys(TOPICS, 10)
    assert found["dev"] == dict.fromkeys(TOPICS, 1)
    given = Given(train=rows("a"), test=rows("b"))
    assert next(iter(Yahoo().prepare(given).splits["test"])).tokens == ["why", "?", "so", "!"]
    assert next(iter(Yahoo(parts=("answer",)).prepare(given).splits["test"])).tokens == ["so", "!"]


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"parts names 'body', which is not one of title, question, answer\.$"):
        Yahoo(parts=("body",)).prepare(Given(train=[], test=[]))
