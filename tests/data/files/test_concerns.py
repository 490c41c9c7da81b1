from __future__ import annotations

from pathlib import Path

import pytest

from attentest.data.files.concerns import concerns_of_labels, concerns_of_spaces
from attentest.data.files.to_corpus import corpus_from_files

CHINESE = "这部电影真的非常好看，我很喜欢。"


def test_strong_imbalance_is_said_with_the_shares() -> None:
    (said,) = concerns_of_labels(range(100), ["a"] * 90 + ["b"] * 8 + ["c"] * 2)
    assert said.startswith("labels are strongly imbalanced: 90% of 100 rows are 'a', 2.0% are 'c'.")
    assert not list(concerns_of_labels(range(10), ["a"] * 7 + ["b"] * 3))
    assert not list(concerns_of_labels(range(10), ["a"] * 10))


def test_texts_with_several_labels_are_counted_once_each() -> None:
    (said,) = concerns_of_labels(["x", "y", "x", "x", "z", "z"], ["a", "b", "b", "a", "a", "a"])
    assert said == "1 text carries different labels in different rows (3 rows): no model can be right on all of them"


def test_texts_without_spaces_are_said_with_their_share_and_what_to_do() -> None:
    (said,) = concerns_of_spaces(
        [CHINESE, "日本語のテストです", "ภาษาไทยไม่มีช่องว่าง", "Four words of English"], "english"
    )
    assert said.startswith("75% of the texts are written without spaces between words")
    assert said.endswith("Use --tokenizer characters")
    assert not list(concerns_of_spaces([CHINESE], "characters"))
    assert not list(concerns_of_spaces(["The word 电影 means film", "हिन्दी में लिखा", "한국어 문장 입니다"], "english"))


@pytest.mark.parametrize(("tokenizer", "longest"), [("english", 6), ("characters", 30)])
def test_a_chinese_file_says_so_and_its_characters_are_tokens(tmp_path: Path, tokenizer: str, longest: int) -> None:
    rows = "".join(f"第{n}部：{CHINESE},{n % 2}\n" for n in range(40))
    (tmp_path / "films.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    corpus = corpus_from_files(tmp_path / "films.csv", tokenizer=tokenizer)
    lengths = [length for split in corpus.splits.values() for length in split.lengths]
    assert any("100% of the texts" in note for note in corpus.provenance.notes) == (tokenizer == "english")
    assert max(lengths) <= longest
    assert tokenizer == "english" or min(lengths) > 15
