from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.yelp_hat import YelpHAT
from attentest.errors import InputError

HEADER = "Input.label,Input.text,Answer.Q1Answer,Answer.html_output\n"


def annotation(label: int, text: str, marked: str, words: str = "") -> str:
    spans = [
        f'<span class=""active"">{word}</span>' if word in marked.split() else f'<span class="""">{word}</span>'
        for word in (words or text).split()
    ]
    return f'{label},"{text}",yes,"{" ".join(spans)} <span></span>"\n'


def test_the_annotations_of_a_review_are_gathered(tmp_path: Path) -> None:
    text = HEADER + annotation(1, "A great place.", "great") + annotation(1, "A great place.", "great place.")
    text += annotation(0, "Cold & bad", "bad", "Cold &amp; <i>bad</i>")
    read = YelpHAT().read_official(written(tmp_path, {"raw_data/ham_part1(50words).csv": text}))
    first, second = read["part1_50words"]
    assert first["id"] == "part1_50words-0"
    assert first["tokens"] == ["A", "great", "place."]
    assert first["annotations"] == [{"answer": "yes", "selected": [1]}, {"answer": "yes", "selected": [1, 2]}]
    assert (second["label"], "tokens" in second["annotations"][0]) == (0, False)


def test_an_annotation_with_other_words_keeps_them(tmp_path: Path) -> None:
    text = HEADER + annotation(1, "A great place.", "great", "A great")
    read = YelpHAT().read_official(written(tmp_path, {"ham_part7.csv": text}))
    assert next(iter(read["part7"]))["annotations"][0]["tokens"] == ["A", "great"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"holds no ham_part\*.csv"),
        ({"ham_part7.csv": "a,b,c,d\n"}, "ham_part7.csv begins with 'a,b,c,d'"),
        ({"ham_part7.csv": HEADER + "2,x,y,z\n"}, r"label '2' is neither 0 nor 1\.$"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(YelpHAT().read_official(written(tmp_path, files)).get("part7", ()))


def review(number: int) -> dict[str, object]:
    marks = ([0, 1], [1], [1, 2])
    return {
        "id": f"part7-{number}",
        "text": "Loved everything. Twice!",
        "label": number % 2,
        "annotations": [{"answer": "yes", "selected": one} for one in marks]
        + [{"answer": "", "selected": [0], "tokens": ["Loved"]}],
    }


@pytest.mark.parametrize(
    ("agreement", "marked"),
    [
        ("any", ["loved", "everything", ".", "twice", "!"]),
        ("majority", ["everything", "."]),
        ("all", ["everything", "."]),
    ],
)
def test_agreement_decides_and_tokens_inherit_their_words_mark(agreement: str, marked: list[str]) -> None:
    prepared = YelpHAT(agreement=agreement).prepare(Given(part7=[review(n) for n in range(20)]))
    text = next(iter(prepared.splits["test"]))
    assert [token for token, flag in zip(text.tokens, text.rationale or (), strict=True) if flag] == marked
    assert text.annotations == [
        [True, True, True, False, False],
        [False, True, True, False, False],
        [False, True, True, True, True],
    ]
    assert "20 by 3" in prepared.preparation
    assert "part3" in prepared.partial


def test_another_agreement_is_refused() -> None:
    with pytest.raises(InputError, match=r"agreement='most' is not one of any, majority, all\.$"):
        YelpHAT(agreement="most")


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = YelpHAT()
    prepared = corpus.prepare(on_this_machine(corpus))
    assert counts(prepared) == {
        "train": {"negative": 533, "positive": 548},
        "dev": {"negative": 76, "positive": 78},
        "test": {"negative": 153, "positive": 157},
    }
    assert prepared.partial == "1,545 reviews; not here: part3, part4, part5"
    for text in prepared.splits["test"]:
        people = text.annotations or ()
        assert list(text.rationale or ()) == [2 * sum(marks) > len(people) for marks in zip(*people, strict=True)]
