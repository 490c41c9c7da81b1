from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, write

from attentest.data.corpora.cnn import CNN
from attentest.errors import InputError


def question(answer: str, context: str = "( @entity1 ) -- The @entity10 met 3 @entity2 .") -> str:
    return f"http://web/x\n\n{context}\n\n@placeholder met\n\n{answer}\n\n@entity1:Rome\n@entity10:Mr. A\n"


def official(folder: Path) -> Path:
    return write(
        folder,
        {
            "cnn/questions/training/b.question": question("@entity10"),
            "cnn/questions/training/a.question": question("@entity2"),
            "cnn/questions/validation/c.question": question("@entity2"),
            "cnn/questions/test/d.question": question("@entity10"),
            "cnn/questions/test/e.question": question("@entity99"),
            "cnn/questions/test/f.question": question("@entity2", "( @entity1 ) -- The @entity10 met nobody ."),
        },
    )


def test_the_official_files_give_the_article_the_gap_and_the_entity(tmp_path: Path) -> None:
    made, splits = from_official(CNN(), official(tmp_path))
    assert list(made.classes) == ["@entity2", "@entity10"]
    assert [i.id for i in splits["train"]] == ["a", "b"]
    test = splits["test"][0]
    assert test.tokens == ["(", "@entity1", ")", "--", "the", "@entity10", "met", "3", "@entity2", "."]
    assert test.second == ["@placeholder", "met"]
    assert test.label == 1
    assert test.candidates == [0, 1]
    _, cased = from_official(CNN(lowercase=False), tmp_path)
    assert cased["test"][0].tokens[4] == "The"


def test_an_entity_that_training_never_asks_for_or_the_article_does_not_name_is_left_out_and_counted(
    tmp_path: Path,
) -> None:
    made, splits = from_official(CNN(), official(tmp_path))
    assert len(splits["test"]) == 1
    assert made.left_out == [
        "test: 1 question left out: an answer that no training question has",
        "test: 1 question left out: an answer that the article does not name",
    ]


def test_the_entity_map_is_kept_in_the_rows(tmp_path: Path) -> None:
    row = next(iter(CNN().read_official(official(tmp_path))["dev"]))
    assert row["entities"] == ["@entity1:Rome", "@entity10:Mr. A"]
    assert row["url"] == "http://web/x"


def test_a_folder_or_a_file_that_is_not_official_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no folder questions/training"):
        CNN().read_official(tmp_path)
    write(official(tmp_path), {"cnn/questions/validation/c.question": "http://web/x\n\nonly this"})
    with pytest.raises(InputError, match=r"c\.question is no question"):
        list(CNN().read_official(tmp_path)["dev"])
    (tmp_path / "cnn/questions/validation/c.question").unlink()
    with pytest.raises(InputError, match=r"has no \.question files"):
        list(CNN().read_official(tmp_path)["dev"])
