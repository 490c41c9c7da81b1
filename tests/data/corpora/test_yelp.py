from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.yelp import Yelp, YelpSample
from attentest.errors import InputError

CSV = '"5","Best ""tacos""\\nin 2 towns"\n"3","Fine."\n"1","Cold."\n'


def rows(name: str) -> list[dict[str, object]]:
    return [{"id": f"{name}{n}", "text": f"Ate here {n} times", "label": None, "stars": n % 5 + 1} for n in range(100)]


def test_the_official_files_are_read_with_stars_and_polarity(tmp_path: Path) -> None:
    read = Yelp().read_official(written(tmp_path, {"train.csv": CSV, "test.csv": CSV}))
    assert [(row["stars"], row["label"]) for row in read["train"]] == [(5, 1), (3, None), (1, 0)]
    assert next(iter(read["test"]))["text"] == 'Best "tacos"\\nin 2 towns'


def test_a_file_with_a_title_is_another_corpus(tmp_path: Path) -> None:
    written(tmp_path, {"train.csv": '"5","T","x"\n', "test.csv": CSV})
    with pytest.raises(InputError, match=r"train.csv, record 1 has 3 columns, not 2\.$"):
        list(Yelp().read_official(tmp_path)["train"])


def test_three_stars_are_left_out_and_counted() -> None:
    prepared = Yelp().prepare(Given(train=rows("a"), test=rows("b")))
    assert counts(prepared) == {
        "train": {"negative": 36, "positive": 36},
        "dev": {"negative": 4, "positive": 4},
        "test": {"negative": 40, "positive": 40},
    }
    assert prepared.left_out == ["train: 20 texts left out: three stars", "test: 20 texts left out: three stars"]


def test_five_stars_are_five_classes_and_digits_stay() -> None:
    prepared = Yelp(five=True).prepare(Given(train=rows("a"), test=rows("b")))
    test = list(prepared.splits["test"])
    assert (test[0].tokens[:2], test[0].tokens[2].isdigit()) == (["ate", "here"], True)
    assert prepared.classes == ["1 star", "2 stars", "3 stars", "4 stars", "5 stars"]
    assert all(int(text.id[1:]) % 5 == text.label for text in test)


@pytest.mark.corpora
def test_the_real_sample() -> None:
    corpus = YelpSample()
    prepared = corpus.prepare(on_this_machine(corpus))
    assert "sample" in prepared.partial
    assert counts(prepared) == {
        "train": {"negative": 1067, "positive": 2969},
        "dev": {"negative": 118, "positive": 330},
        "test": {"negative": 1141, "positive": 3314},
    }
    assert prepared.left_out == ["train: 516 texts left out: three stars", "test: 545 texts left out: three stars"]
