from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.data.catalog.test_cleaning import Given, counts, on_this_machine, written

from attentest.data.corpora.eraser_movies import EraserMovies
from attentest.errors import InputError

DOCUMENT = "what a dull film .\ni left early .\n"
LINE = {
    "annotation_id": "negR_000.txt",
    "classification": "NEG",
    "evidences": [
        [{"docid": "negR_000.txt", "start_token": 6, "end_token": 8, "text": "left early"}],
        [{"docid": "negR_000.txt", "start_token": 2, "end_token": 3, "text": "dull"}],
    ],
    "query": "What is the sentiment of this review?",
}


def official(folder: Path, line: object = LINE) -> Path:
    files = {f"movies/{name}.jsonl": json.dumps(line) + "\n" for name in ("train", "val", "test")}
    return written(folder, {**files, "movies/docs/negR_000.txt": DOCUMENT})


def test_the_official_files_are_read(tmp_path: Path) -> None:
    read = EraserMovies().read_official(official(tmp_path))
    assert list(read["dev"]) == [
        {"id": "negR_000.txt", "text": DOCUMENT.strip(), "label": 0, "rationale": [[2, 3], [6, 8]]}
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({**LINE, "classification": "MEH"}, "line 1 is no ERASER annotation"),
        ({"annotation_id": "x"}, "line 1 is no ERASER annotation"),
        ({**LINE, "annotation_id": "../../x.txt"}, r"line 1: docs/x.txt is missing\.$"),
    ],
)
def test_other_lines_are_refused(tmp_path: Path, line: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        list(EraserMovies().read_official(official(tmp_path, line))["train"])


def review(**more: object) -> dict[str, object]:
    return {"id": "a", "text": DOCUMENT, "label": 0, "rationale": [[2, 3], [6, 8]], **more}


def test_phrases_become_flags() -> None:
    prepared = EraserMovies().prepare(Given(train=[review()], dev=[review()], test=[review(rationale=[])]))
    text = next(iter(prepared.splits["train"]))
    assert [token for token, flag in zip(text.tokens, text.rationale or (), strict=True) if flag] == [
        "dull",
        "left",
        "early",
    ]
    assert (prepared.rationale, prepared.left_out) == ("human", ["test: 1 kept without a marked phrase"])
    assert "partial" in prepared.preparation


def test_reviews_can_be_cut() -> None:
    prepared = EraserMovies(first_tokens=7).prepare(Given(train=[review()], dev=[], test=[]))
    text = next(iter(prepared.splits["train"]))
    assert (len(text.tokens), sum(text.rationale or ())) == (7, 2)


def test_a_phrase_outside_the_review_is_refused() -> None:
    with pytest.raises(InputError, match=r"Review 'a': phrase 6–99 lies outside its 9 words\.$"):
        EraserMovies().prepare(Given(train=[review(rationale=[[6, 99]])], dev=[], test=[]))


@pytest.mark.corpora
def test_the_real_rows() -> None:
    corpus = EraserMovies()
    prepared = corpus.prepare(on_this_machine(corpus))
    assert counts(prepared) == {
        "train": {"negative": 800, "positive": 800},
        "dev": {"negative": 100, "positive": 100},
        "test": {"negative": 100, "positive": 99},
    }
    shares = {
        split: sum(sum(t.rationale or ()) for t in texts) / sum(len(t.tokens) for t in texts)
        for split, texts in ((name, list(stream)) for name, stream in prepared.splits.items())
    }
    assert shares["train"] == pytest.approx(0.086, abs=0.002)
    assert shares["test"] == pytest.approx(0.30, abs=0.01)
    assert prepared.left_out == ["train: 1 kept without a marked phrase"]
