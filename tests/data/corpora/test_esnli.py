from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official

from attentest.data.corpora.esnli import ESNLI, highlighted
from attentest.errors import InputError


def official(
    folder: Path, *, marked: tuple[str, ...] = ("A *man's* dog.", "A man's *dog.*", "*A* man's *dog.*")
) -> Path:
    for name, annotators in (("train_1", 1), ("train_2", 1), ("dev", 3), ("test", 3)):
        header = ["pairID", "gold_label", "Sentence1", "Sentence2"]
        row = [name, "entailment", "A man's dog.", "An animal, it seems"]
        for who in range(annotators):
            header += [f"Explanation_{who + 1}", f"Sentence1_marked_{who + 1}", f"Sentence2_marked_{who + 1}"]
            row += ["Dogs are\nanimals", marked[who], "An *animal,* it seems"]
        with (folder / f"esnli_{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, row])
    return folder


def flags(instance: object) -> list[str]:
    return [token for token, flag in zip(instance.tokens, instance.rationale, strict=True) if flag]  # type: ignore[attr-defined]


def test_the_highlighted_words_of_the_premise_are_the_rationale(tmp_path: Path) -> None:
    made, splits = from_official(ESNLI(), official(tmp_path))
    assert made.rationale == "human"
    assert [i.id for i in splits["train"]] == ["train_1", "train_2"]
    assert splits["train"][0].tokens == ["a", "man", "'s", "dog", "."]
    assert flags(splits["train"][0]) == ["man", "'s"]
    assert flags(splits["dev"][0]) == ["a", "man", "'s", "dog", "."]


def test_more_annotators_may_be_asked_to_agree_and_the_hypothesis_to_be_read(tmp_path: Path) -> None:
    _, splits = from_official(ESNLI(annotators=2), official(tmp_path))
    assert flags(splits["train"][0]) == ["man", "'s"]
    assert flags(splits["test"][0]) == ["dog", "."]
    _, splits = from_official(ESNLI(attend="hypothesis"), official(tmp_path))
    assert flags(splits["test"][0]) == ["animal", ","]


def test_highlights_on_other_words_are_counted_and_left_out(tmp_path: Path) -> None:
    made, splits = from_official(ESNLI(), official(tmp_path, marked=("A *man's* dog.", "A *cat.*", "A man's *dog.*")))
    assert flags(splits["dev"][0]) == ["man", "'s", "dog", "."]
    assert "dev: 1 highlighting left out: its words are not those of the text" in made.left_out


def test_an_asterisk_of_the_text_itself_is_no_highlight() -> None:
    assert highlighted("4 * 2 is 8", "4 * 2 is *8*") == {4}
    assert highlighted("one two", "one") is None


def test_a_table_without_the_official_columns_is_refused(tmp_path: Path) -> None:
    official(tmp_path)
    (tmp_path / "esnli_dev.csv").write_text("pairID,gold_label\n1,neutral\n")
    with pytest.raises(InputError, match="has no column 'Sentence1'"):
        list(ESNLI().read_official(tmp_path)["dev"])
    (tmp_path / "esnli_dev.csv").write_text((tmp_path / "esnli_test.csv").read_text() + "1,2\n")
    with pytest.raises(InputError, match="record 3 has 2 fields"):
        list(ESNLI().read_official(tmp_path)["dev"])
