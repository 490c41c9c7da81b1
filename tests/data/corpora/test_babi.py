from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, prepared, real, write

from attentest.data.catalog.presets import with_preset
from attentest.data.corpora.babi import Babi, Babi1, Babi2, Babi3
from attentest.errors import InputError

STORY = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Mary went to the garden.
5 Where is Mary? \tgarden\t4
1 John got the milk.
2 Where is John? \tgarden\t1
"""


def official(folder: Path, title: str = "qa1_single-supporting-fact", text: str = STORY) -> Path:
    return write(folder, {f"tasks/en-10k/{title}_{split}.txt": text for split in ("train", "test")})


def rows(count: int, prefix: str = "q", answer: str = "garden") -> list[dict[str, object]]:
    return [
        {"id": f"{prefix}-{i}", "context": [f"Mary{i} ran."], "question": "Where?", "answer": answer, "support": [0]}
        for i in range(count)
    ]


def test_the_official_file_gives_the_story_so_far_and_its_supporting_facts(tmp_path: Path) -> None:
    read = list(Babi1().read_official(official(tmp_path))["train"])
    assert [row["id"] for row in read] == ["qa1-10k-train-0", "qa1-10k-train-1", "qa1-10k-train-2"]
    assert read[1] == {
        "id": "qa1-10k-train-1",
        "context": ["Mary moved to the bathroom.", "John went to the hallway.", "Mary went to the garden."],
        "question": "Where is Mary?",
        "answer": "garden",
        "support": [2],
    }
    assert read[2]["context"] == ["John got the milk."]


def test_the_folder_of_the_task_files_itself_may_be_given(tmp_path: Path) -> None:
    assert len(list(Babi1().read_official(official(tmp_path) / "tasks" / "en-10k")["test"])) == 3


def test_the_rationale_is_the_tokens_of_the_supporting_sentences(tmp_path: Path) -> None:
    made, splits = from_official(Babi1(), official(tmp_path))
    assert made.rationale == "planted"
    assert list(made.classes) == ["bathroom", "garden"]
    second = splits["test"][1]
    assert second.second == ["where", "is", "mary", "?"]
    assert [t for t, flag in zip(second.tokens, second.rationale or (), strict=True) if flag] == [
        *("mary", "went", "to", "the", "garden", ".")
    ]
    assert made.classes[second.label] == "garden"


def test_the_released_code_has_no_final_marks(tmp_path: Path) -> None:
    _, splits = from_official(with_preset(Babi1, "released"), official(tmp_path))  # type: ignore[arg-type]
    first = splits["test"][0]
    assert first.tokens == ["mary", "moved", "to", "the", "bathroom", ".", "john", "went", "to", "the", "hallway"]
    assert first.second == ["where", "is", "mary"]
    assert len(first.rationale or ()) == len(first.tokens)


def test_fifteen_percent_of_the_training_questions_are_dev() -> None:
    made, splits = prepared(Babi2(), {"train": rows(200), "test": rows(3)})
    assert {name: len(split) for name, split in splits.items()} == {"train": 170, "dev": 30, "test": 3}
    assert made.partial == "train has 200 of 10,000 questions"
    with pytest.raises(InputError, match=r"dev=1\.5 must be a share"):
        Babi2(dev=1.5)


def test_an_answer_that_training_lacks_is_left_out_and_counted() -> None:
    made, splits = prepared(Babi2(), {"train": rows(20), "test": [*rows(2), *rows(1, "x", "moon")]})
    assert len(splits["test"]) == 2
    assert made.left_out == ["test: 1 question left out: an answer that no training question has"]


def test_stand_ins_for_a_missing_training_file_are_named_and_repeated_questions_left_out() -> None:
    stand_ins = {"train_1k": rows(20), "train_10k_last10pct": rows(15, "other"), "test": rows(1)}
    made, splits = prepared(Babi3(), stand_ins)
    assert len(splits["train"]) + len(splits["dev"]) == 20
    assert made.partial == (
        "train is train_1k and train_10k_last10pct: 20 questions, 15 repeated ones left out, "
        "in place of the official 10,000"
    )


def test_a_file_in_another_format_is_one_clear_line(tmp_path: Path) -> None:
    for text in ("1 Mary ran.\n2 Where?\tgarden\n", "1 Mary ran.\n2 Where?\tgarden\t7\n", "1 Where?\tgarden\t1\n"):
        with pytest.raises(InputError, match="is no question of bAbI"):
            list(Babi1().read_official(official(tmp_path, text=text))["train"])


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("corpus", "sizes", "longest"),
    [
        (Babi1(final_marks=False), {"train": 8_500, "dev": 1_500, "test": 1_000}, 67),
        (Babi2(final_marks=False), {"train": 8_500, "dev": 1_500, "test": 1_000}, 421),
        (Babi3(final_marks=False), {"train": 1_636, "dev": 289, "test": 1_000}, None),
    ],
)
def test_the_real_questions_are_counted(corpus: Babi, sizes: dict[str, int], longest: int | None) -> None:
    made, splits = real(corpus)
    assert {name: len(split) for name, split in splits.items()} == sizes
    assert len(made.classes) == 6
    assert made.left_out == []
    if longest:  # what Jain & Wallace print as the average length of the next task
        assert made.partial == ""
        assert max(len(i.tokens) for name in ("train", "dev") for i in splits[name]) == longest
    else:
        assert made.partial.startswith("train is train_1k and train_10k_last10pct: 1,925 questions, 75 repeated")
