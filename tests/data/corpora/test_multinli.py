from __future__ import annotations

import json
from pathlib import Path

from tests.data.corpora.made_up import from_official, write

from attentest.data.corpora.multinli import MultiNLI


def pair(number: int, prompt: int, label: str = "neutral") -> str:
    fields = {"pairID": f"{number}n", "promptID": str(prompt), "gold_label": label, "genre": "fiction"}
    return json.dumps(fields | {"sentence1": f"Premise {prompt}.", "sentence2": "So it is."}) + "\n"


def test_both_official_development_sets_are_tests_and_dev_is_cut_by_prompt(tmp_path: Path) -> None:
    train = "".join(pair(i, i // 3) for i in range(900))
    write(
        tmp_path,
        {
            "multinli_1.0/multinli_1.0_train.jsonl": train,
            "multinli_1.0/multinli_1.0_dev_matched.jsonl": pair(1001, 1001) + pair(1002, 1001, "-"),
            "multinli_1.0/multinli_1.0_dev_mismatched.jsonl": pair(1003, 1002, "entailment"),
        },
    )
    made, splits = from_official(MultiNLI(), tmp_path)
    assert {name: len(split) for name, split in splits.items() if "test" in name} == {"test": 1, "test_mismatched": 1}
    assert len(splits["train"]) + len(splits["dev"]) == 900
    assert 0 < len(splits["dev"]) < 60
    prompts = {name: {int(i.id[:-1]) // 3 for i in splits[name]} for name in ("train", "dev")}
    assert prompts["train"].isdisjoint(prompts["dev"])
    assert made.left_out == ["test: 1 pair left out: no gold label ('-')"]
    assert splits["test_mismatched"][0].label == 2
