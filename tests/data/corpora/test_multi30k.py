from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, prepared, real, write

from attentest.data.corpora.multi30k import LATER_TESTS, Multi30k, Multi30kAligned
from attentest.errors import InputError


def official(folder: Path) -> Path:
    raw = folder / "dataset" / "data" / "task1" / "raw"
    raw.mkdir(parents=True)
    for split in ("train", "val", "test_2016_flickr", *LATER_TESTS):
        (raw / f"{split}.en.gz").write_bytes(gzip.compress(b"A dog-sled.\nA\xe2\x80\xa8man.\n"))
        (raw / f"{split}.de.gz").write_bytes(gzip.compress(b"Ein Hunde-Schlitten.\nEin Mann.\n"))
    return folder


def test_the_official_files_go_line_by_line_and_a_line_separator_is_no_new_line(tmp_path: Path) -> None:
    made, splits = from_official(Multi30k(), official(tmp_path))
    assert set(splits) == {"train", "dev", "test", *LATER_TESTS}
    assert [i.id for i in splits["dev"]] == ["dev-0", "dev-1"]
    assert [i.id for i in splits["test"]] == ["test_2016_flickr-0", "test_2016_flickr-1"]
    assert splits["train"][0].tokens == ["A", "dog", "-", "sled", "."]
    assert splits["train"][0].target == ["Ein", "Hunde-Schlitten", "."]
    assert splits["train"][0].label == 0
    assert list(made.classes) == ["translation"]


def test_whitespace_tokens_give_the_text_back(tmp_path: Path) -> None:
    _, splits = from_official(Multi30k(tokenizer="whitespace"), official(tmp_path))
    assert " ".join(splits["train"][0].target or ()) == "Ein Hunde-Schlitten."
    _, splits = from_official(Multi30k(tokenizer="whitespace", lowercase=True), official(tmp_path / "again"))
    assert splits["train"][0].tokens == ["a", "dog-sled."]
    with pytest.raises(InputError, match="must be one of spacy, whitespace"):
        Multi30k(tokenizer="moses")


def test_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    write(official(tmp_path) / "dataset/data/task1/raw", {"val.de": "Ein Mann.\n"})
    (tmp_path / "dataset/data/task1/raw/val.de.gz").unlink()
    with pytest.raises(InputError, match=r"val\.de ends before line 2"):
        list(Multi30k().read_official(tmp_path)["dev"])


def aligned(folder: Path, align: str = "0-0 1-1") -> Path:
    files = {"src": "A dog\n", "trg": "Nummer \u00a0 28 .\n", "align": f"{align}\n"}
    return write(folder, {f"{s}.en-de.{e}": text for s in ("train", "dev", "test") for e, text in files.items()})


def test_a_no_break_space_is_a_word_of_the_alignment(tmp_path: Path) -> None:
    made, splits = from_official(Multi30kAligned(), aligned(tmp_path, "0-0 1-3"))
    first = splits["train"][0]
    assert first.target == ["Nummer", "\u00a0", "28", "."]
    assert first.alignment == ["0-0", "1-3"]
    assert made.left_out == []


def test_double_spaces_hold_no_word_and_links_beyond_the_words_are_counted() -> None:
    rows = [
        {"id": "1", "en": "a   b", "de": "c", "align": "1-0"},
        {"id": "2", "en": "a b", "de": "c", "align": "2-0"},
        {"id": "3", "en": "a b", "de": "c", "align": "nonsense"},
    ]
    made, splits = prepared(Multi30kAligned(), {"train": rows, "dev": [], "test": []})
    assert [i.id for i in splits["train"]] == ["1"]
    assert made.left_out == ["train: 2 pairs left out: an alignment to a word that is not there"]


def test_three_files_of_different_lengths_are_refused(tmp_path: Path) -> None:
    write(aligned(tmp_path), {"dev.en-de.align": ""})
    with pytest.raises(InputError, match="must have as many lines"):
        list(Multi30kAligned().read_official(tmp_path)["dev"])


@pytest.mark.corpora
def test_the_real_captions_are_all_there() -> None:
    _, splits = real(Multi30k())
    sizes = {"train": 29_000, "dev": 1_014, "test": 1_000}
    sizes |= {"test_2017_flickr": 1_000, "test_2017_mscoco": 461, "test_2018_flickr": 1_071}
    assert {name: len(split) for name, split in splits.items()} == sizes


@pytest.mark.corpora
def test_every_real_alignment_is_within_its_sentences_and_spacy_gives_the_same_tokens() -> None:
    made, splits = real(Multi30kAligned())
    assert {name: len(split) for name, split in splits.items()} == {"train": 29_000, "dev": 1_014, "test": 1_000}
    assert made.left_out == []
    _, ours = real(Multi30k())
    same = sum(list(a.tokens) == list(b.tokens) for a, b in zip(splits["test"], ours["test"], strict=True))
    assert same == 1_000
