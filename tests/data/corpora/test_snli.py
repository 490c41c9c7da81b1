from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, prepared, real, write

from attentest.data.corpora.pairs import CLASSES
from attentest.data.corpora.snli import SNLI, SNLIHypotheses
from attentest.errors import InputError


def pair(name: str, label: str, premise: str = "A dog's 2 paws.", hypothesis: str = "An animal.") -> str:
    return json.dumps({"pairID": name, "gold_label": label, "sentence1": premise, "sentence2": hypothesis}) + "\n"


def official(folder: Path) -> Path:
    return write(
        folder,
        {
            "snli_1.0/snli_1.0_train.jsonl": pair("t1", "entailment") + pair("t2", "-") + pair("t3", "neutral"),
            "snli_1.0/snli_1.0_dev.jsonl": pair("d1", "contradiction"),
            "snli_1.0/snli_1.0_test.jsonl": pair("e1", "neutral"),
            "__MACOSX/snli_1.0_test.jsonl": "not JSON",
        },
    )


def test_the_official_files_give_the_premise_the_hypothesis_and_jain_and_wallaces_labels(tmp_path: Path) -> None:
    made, splits = from_official(SNLI(), official(tmp_path))
    assert tuple(made.classes) == CLASSES == ("neutral", "contradiction", "entailment")
    first = splits["train"][0]
    assert first.tokens == ["a", "dog", "'s", "qqq", "paws", "."]
    assert first.second == ["an", "animal", "."]
    assert first.rationale is None
    assert {name: [(i.id, i.label) for i in split] for name, split in splits.items()} == {
        "train": [("t1", 2), ("t3", 0)],
        "dev": [("d1", 1)],
        "test": [("e1", 0)],
    }


def test_pairs_without_a_gold_label_are_counted_and_a_partial_train_is_named(tmp_path: Path) -> None:
    made, _ = from_official(SNLI(), official(tmp_path))
    assert made.left_out == ["train: 1 pair left out: no gold label ('-')"]
    assert made.partial == "train has 3 of the 550,152 official pairs"


def test_attention_may_read_the_hypothesis_instead(tmp_path: Path) -> None:
    _, splits = from_official(SNLI(attend="hypothesis"), official(tmp_path))
    assert splits["dev"][0].tokens == ["an", "animal", "."]
    with pytest.raises(InputError, match="attend='both' must be 'premise' or 'hypothesis'"):
        SNLI(attend="both")


def test_fewer_pairs_to_train_on_are_part_of_more(tmp_path: Path) -> None:
    lines = "".join(pair(f"t{n}", "neutral") for n in range(9))
    folder = write(tmp_path, {f"snli_1.0_{split}.jsonl": lines for split in ("train", "dev", "test")})
    drawn = [from_official(SNLI(training=n), folder) for n in (3, 5, 0)]
    ids = [{i.id for i in splits["train"]} for _, splits in drawn]
    assert [len(some) for some in ids] == [3, 5, 9]
    assert ids[0] < ids[1] < ids[2]
    assert [len(splits["test"]) for _, splits in drawn] == [9, 9, 9]
    assert drawn[0][0].partial == "train has 3 of the 550,152 official pairs"


def test_hypotheses_alone_are_single_texts_with_the_same_labels(tmp_path: Path) -> None:
    _, splits = from_official(SNLIHypotheses(), official(tmp_path))
    assert SNLIHypotheses.task == "single"
    assert [(i.id, i.tokens, i.second, i.label) for i in splits["test"]] == [("e1", ["an", "animal", "."], None, 0)]


def test_a_missing_or_foreign_official_file_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no file snli_1\.0_train\.jsonl"):
        SNLI().read_official(tmp_path)
    official(tmp_path)
    for text, why in (
        ('{"pairID": "x"}\n', "line 1 has no 'gold_label'"),
        ("[1]\n", "not a JSON object"),
        ("{\n", "JSON"),
    ):
        write(tmp_path, {"snli_1.0/snli_1.0_dev.jsonl": text})
        with pytest.raises(InputError, match=why):
            list(SNLI().read_official(tmp_path)["dev"])
    (tmp_path / "snli_1.0/snli_1.0_dev.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        list(SNLI().read_official(tmp_path)["dev"])


def test_a_label_that_is_not_known_is_refused() -> None:
    row = {"id": "1", "premise": "a", "hypothesis": "b", "label": "maybe"}
    with pytest.raises(InputError, match="'maybe'"):
        prepared(SNLI(), {"train": [row], "dev": [], "test": []})


@pytest.mark.corpora
def test_the_real_pairs_are_counted_as_published() -> None:
    made, splits = real(SNLI())
    counts = {name: Counter(CLASSES[i.label] for i in split) for name, split in splits.items()}
    assert counts == {
        "train": {"neutral": 33_194, "contradiction": 33_311, "entailment": 33_385},
        "dev": {"neutral": 3_235, "contradiction": 3_278, "entailment": 3_329},
        "test": {"neutral": 3_219, "contradiction": 3_237, "entailment": 3_368},
    }
    assert made.partial == "train has 100,000 of the 550,152 official pairs"
    assert made.left_out == [
        "train: 110 pairs left out: no gold label ('-')",
        "test: 176 pairs left out: no gold label ('-')",
    ]
    lengths = [len(i.tokens) for i in splits["train"]]
    assert round(sum(lengths) / len(lengths)) == 14
