from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.catalog.presets import with_preset
from attentest.data.corpora.ag_news import AGNews, AGNews4
from attentest.errors import InputError

CSV = '"3","Wall St. ""Bears""","Short-sellers\\are\nseeing 5 greens"\n"1","T","D"\n'


def rows(count: int = 80, **more: str) -> list[dict[str, object]]:
    return [{"id": f"r{n}", "title": "T", "text": f"Rise {n} " * (n + 1), "label": n % 4, **more} for n in range(count)]


def test_the_official_files_are_read(tmp_path: Path) -> None:
    read = AGNews().read_official(written(tmp_path, {"ag_news_csv/train.csv": CSV, "ag_news_csv/test.csv": CSV}))
    first = next(iter(read["train"]))
    assert first == {
        "id": "train-0",
        "title": 'Wall St. "Bears"',
        "text": "Short-sellers\\are\nseeing 5 greens",
        "label": 2,
    }
    assert [row["id"] for row in AGNews4().read_official(tmp_path)["test"]] == ["test-0", "test-1"]


def test_a_label_that_is_no_number_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"train.csv": '"World","T","D"\n', "test.csv": CSV})
    with pytest.raises(InputError, match=r"train.csv, record 1: label 'World' is not a number from 1\.$"):
        list(AGNews().read_official(tmp_path)["train"])


def test_fewer_items_to_train_on_leave_dev_and_test_as_they_are() -> None:
    splits = [AGNews(training=n).prepare(Given(train=rows(), test=rows())).splits for n in (5, 9, 0)]
    ids = [{name: [text.id for text in texts] for name, texts in made.items()} for made in splits]
    assert [len(made["train"]) for made in ids] == [5, 9, len(ids[2]["train"])]
    assert set(ids[0]["train"]) < set(ids[1]["train"]) < set(ids[2]["train"])
    assert ids[0]["dev"] == ids[2]["dev"]
    assert ids[0]["test"] == ids[2]["test"]


@pytest.mark.slow
def test_world_and_business_are_kept_and_a_tenth_is_dev() -> None:
    prepared = AGNews().prepare(Given(train=rows(), test=rows()))
    assert prepared.partial == ""
    assert counts(prepared) == {
        "train": {"world": 18, "business": 18},
        "dev": {"world": 2, "business": 2},
        "test": {"world": 20, "business": 20},
    }
    assert next(iter(prepared.splits["test"])).tokens[:2] == ["rise", "qqq"]


def test_the_released_code_drops_the_shortest_and_the_longest() -> None:
    prepared = with_preset(AGNews, "released").prepare(Given(train=rows(), test=rows()))
    assert counts(prepared)["test"] == {"world": 19, "business": 19}
    assert prepared.left_out[-1] == "test: 1 text left out: 158 tokens or more"


def test_a_partial_training_set_is_named_and_its_confounded_parts_are_left() -> None:
    part = [*rows(40, src="head"), *({**row, "id": f"x{row['id']}"} for row in rows(40, src="world_scitech"))]
    prepared = AGNews4().prepare(Given(train_partial=part, test=rows()))
    assert prepared.partial.startswith("train is 15,003 of 120,000")
    found = counts(prepared)
    assert sum(found["train"].values()) + sum(found["dev"].values()) == 40
    assert set(found["test"]) == {"world", "sports", "business", "sci/tech"}


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = AGNews()
    assert counts(corpus.prepare(on_this_machine(corpus))) == {
        "train": {"world": 3375, "business": 3317},
        "dev": {"world": 375, "business": 369},
        "test": {"world": 1900, "business": 1900},
    }
    four = AGNews4()
    found = counts(four.prepare(on_this_machine(four)))
    assert found["test"] == {"world": 1900, "sports": 1900, "business": 1900, "sci/tech": 1900}
    assert sum(found["train"].values()) + sum(found["dev"].values()) == 15_003
