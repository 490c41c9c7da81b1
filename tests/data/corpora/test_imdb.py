from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.catalog.test_cleaning import Given

from attentest.data.catalog.installing import get
from attentest.data.catalog.presets import with_preset
from attentest.data.corpora.imdb import IMDB
from attentest.errors import InputError


def aclimdb(folder: Path, count: int = 20) -> Path:
    """The official tree, with texts of 1, 2, 3 … words and a line break."""
    for split in ("train", "test"):
        for label in ("neg", "pos"):
            place = folder / "aclImdb" / split / label
            place.mkdir(parents=True)
            for i in range(count):
                text = f"It's GOOD.<br /><br />Really {'very ' * i}"
                (place / f"{i}_{7 if label == 'pos' else 3}.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path / "cache"))
    get(IMDB(), from_folder=aclimdb(tmp_path / "official"))
    return tmp_path / "data" / "imdb"


def test_the_official_tree_gives_rows_of_both_classes_in_turn(tmp_path: Path) -> None:
    rows = list(IMDB().read_official(aclimdb(tmp_path, 11))["test"])
    assert [row["id"] for row in rows[:3]] == ["test/neg/0_3", "test/pos/0_7", "test/neg/1_3"]
    assert rows[-1]["id"] == "test/pos/10_7"
    assert (rows[1]["label"], rows[1]["rating"]) == (1, 7)


def test_what_is_not_the_official_tree_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no train/neg/\*.txt: give the folder that holds aclImdb/train"):
        list(IMDB().read_official(tmp_path)["train"])
    folder = aclimdb(tmp_path, 2)
    (folder / "aclImdb" / "train" / "pos" / "readme.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(InputError, match=r"readme.txt is not named <number>_<rating>.txt"):
        list(IMDB().read_official(folder)["train"])


def test_the_hub_s_files_give_the_same_rows_but_for_numbers_and_ratings(tmp_path: Path) -> None:
    for split in ("train", "test"):
        table = pa.table({"text": ["a", "b", "c"], "label": [0, 0, 1]})
        (tmp_path / "plain_text").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "plain_text" / f"{split}-00000-of-00001.parquet")
    rows = list(IMDB().read_official(tmp_path)["test"])
    assert [(row["id"], row["text"], row["label"]) for row in rows] == [
        ("test/neg/hub-0", "a", 0),
        ("test/pos/hub-0", "c", 1),
        ("test/neg/hub-1", "b", 0),
    ]


def test_splits_limits_and_what_was_left_out(installed: Path) -> None:
    corpus = IMDB(more_than=6, fewer_than=20).load()
    assert set(corpus["train"].ids) | set(corpus["dev"].ids) <= {f"train/{c}/{i}" for c, i in _names()}
    assert set(corpus["train"].ids).isdisjoint(corpus["dev"].ids)
    assert all(6 < split.lengths.min() <= split.lengths.max() < 20 for split in corpus.splits.values())
    assert corpus["train"].table["tokens"][0].as_py()[:5] == ["it", "'s", "good", ".", "really"]
    assert corpus.provenance.left_out[0] == "test: 32 texts left out: not in the 20% sample"
    assert any(line.endswith("20 tokens or more") for line in corpus.provenance.left_out)
    assert corpus.min_frequency == 10


def _names() -> list[tuple[str, str]]:
    return [("neg", f"{i}_3") for i in range(20)] + [("pos", f"{i}_7") for i in range(20)]


def test_the_presets_tokenise_as_the_papers_did(installed: Path) -> None:
    released = with_preset(IMDB, "released").load()
    assert released["train"].table["tokens"][0].as_py()[:5] == ["it's", "good", "br", "br", "really"]
    other = with_preset(IMDB, "tutek_snajder").load()
    assert other["train"].table["tokens"][0].as_py()[:3] == ["it's", "good", "really"]
    assert len(other["test"]) == 40
    assert other.min_frequency == 2


def test_an_option_that_means_nothing_is_named() -> None:
    with pytest.raises(InputError, match="tokens='nltk' is unknown"):
        IMDB(tokens="nltk")
    with pytest.raises(InputError, match=r"test_share=0.0 is no share"):
        IMDB(test_share=0.0)


@pytest.mark.corpora
def test_the_real_reviews_count_as_they_should(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "ATTENTEST_DATA" not in os.environ:
        pytest.skip("ATTENTEST_DATA is not set: no real corpora here")
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path))
    corpus = with_preset(IMDB, "released").load()
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 17229, "dev": 4287, "test": 4358}
    record = next(tmp_path.glob("prepared/*/corpus.json"))
    assert json.loads(record.read_text(encoding="utf-8"))["digest"] == corpus.digest


def test_ratings_may_be_the_classes(tmp_path: Path) -> None:
    rows = IMDB().read_official(aclimdb(tmp_path))
    given = {
        split: [*some, {"id": f"{split}/x", "text": "a", "label": 1, "rating": None}] for split, some in rows.items()
    }
    made = IMDB(tokens="words", ratings=True, test_share=1.0).prepare(Given(**given))
    splits = {split: list(texts) for split, texts in made.splits.items()}
    assert made.classes == [f"{rating} of 10" for rating in (1, 2, 3, 4, 7, 8, 9, 10)]
    assert {text.label for text in splits["test"]} == {2, 4}
    assert all(text.label == (4 if "/pos/" in text.id else 2) for text in splits["test"])
    assert "test: 1 review left out: no rating" in made.left_out


def test_reviews_without_ratings_are_no_classes_by_rating() -> None:
    rows = [{"id": f"r{n}", "text": "fine words", "label": n % 2} for n in range(8)]
    with pytest.raises(InputError, match="these reviews have no ratings; get the official archive"):
        IMDB(ratings=True).prepare(Given(train=rows, test=rows))
