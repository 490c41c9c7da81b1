from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, written

from attentest.data.corpora.amazon import Amazon
from attentest.errors import InputError

CSV = '"3","more like funchuck","Gave this to my dad"\n"5","","Inspiring"\n'


def rows(name: str) -> list[dict[str, object]]:
    return [{"id": f"{name}{n}", "title": "Oh", "text": "My!", "label": n % 5} for n in range(50)]


def test_the_official_files_are_read(tmp_path: Path) -> None:
    read = Amazon().read_official(written(tmp_path, {"train.csv": CSV, "test.csv": CSV}))
    assert [(row["title"], row["label"]) for row in read["test"]] == [("more like funchuck", 2), ("", 4)]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"test\.csv"):
        Amazon().read_official(written(tmp_path, {"train.csv": CSV}))


def test_titles_come_first_or_not_at_all() -> None:
    given = Given(train=rows("a"), test=rows("b"))
    assert counts(Amazon().prepare(given))["dev"] == {f"{n} star{'s' * (n > 1)}": 1 for n in range(1, 6)}
    assert next(iter(Amazon().prepare(given).splits["test"])).tokens == ["oh", "my", "!"]
    assert next(iter(Amazon(title=False).prepare(given).splits["test"])).tokens == ["my", "!"]
