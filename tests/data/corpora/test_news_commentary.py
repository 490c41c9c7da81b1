from __future__ import annotations

from pathlib import Path

from tests.data.corpora.made_up import from_official, write

from attentest.data.corpora.news_commentary import NewsCommentary


def test_the_two_files_go_line_by_line_and_dev_and_test_are_cut_from_them(tmp_path: Path) -> None:
    english = "".join(f"Sentence {i}.\n" for i in range(1500)) + "\nLast.\n"
    german = "".join(f"Satz {i}.\n" for i in range(1500)) + "Allein.\nLetzter.\n"
    stem = "training-parallel-nc-v11/news-commentary-v11.de-en"
    _, splits = from_official(NewsCommentary(), write(tmp_path, {f"{stem}.en": english, f"{stem}.de": german}))
    ids = [i.id for split in splits.values() for i in split]
    assert len(ids) == len(set(ids)) == 1_501
    assert "train-1500" not in ids
    assert 3 < len(splits["dev"]) < 40
    assert 3 < len(splits["test"]) < 40
    first = next(i for i in splits["train"] if i.id == "train-1501")
    assert (first.tokens, first.target) == (["Last", "."], ["Letzter", "."])
