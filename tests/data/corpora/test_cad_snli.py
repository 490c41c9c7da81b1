from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.data.corpora.made_up import from_official, real, write

from attentest.data.corpora.cad_snli import CadSNLI, edited
from attentest.data.corpora.declared import Instance
from attentest.data.corpora.pairs import CLASSES
from attentest.errors import InputError

HEADER = "sentence1\tsentence2\tgold_label\n"


def official(folder: Path) -> Path:
    for split in ("train", "dev", "test"):
        write(
            folder / "repo" / "NLI",
            {
                f"original/{split}.tsv": HEADER + 'A dog runs fast.\t"He said ""run""."\tneutral\n',
                f"revised_premise/{split}.tsv": HEADER
                + 'A big dog runs fast.\t"He said ""run""."\tentailment\n'
                + 'A dog sleeps.\t"He said ""run""."\tcontradiction\n',
                f"revised_hypothesis/{split}.tsv": HEADER
                + "A dog runs fast.\tHe runs.\tentailment\nA dog runs fast.\tHe sits.\tcontradiction\n",
            },
        )
    return folder


def flags(instance: Instance) -> list[str]:
    return [token for token, flag in zip(instance.tokens, instance.rationale or (), strict=True) if flag]


def test_the_rationale_is_the_words_an_edit_took_away_or_put_in(tmp_path: Path) -> None:
    made, splits = from_official(CadSNLI(), official(tmp_path))
    assert made.rationale == "human"
    found = {instance.id: flags(instance) for instance in splits["train"]}
    assert found == {
        "train-original-0": ["runs", "fast", "."],
        "train-revised_premise-0": ["big"],
        "train-revised_premise-1": ["sleeps", "."],
        "train-revised_hypothesis-0": [],
        "train-revised_hypothesis-1": [],
    }


def test_quoted_cells_are_read_and_the_hypothesis_can_be_attended_to(tmp_path: Path) -> None:
    _, splits = from_official(CadSNLI(attend="hypothesis"), official(tmp_path))
    original = next(i for i in splits["dev"] if "original" in i.id)
    assert original.tokens == ["he", "said", '"', "run", '"', "."]
    assert flags(next(i for i in splits["dev"] if i.id.endswith("hypothesis-1"))) == ["sits", "."]


def test_an_edit_that_is_missing_is_refused(tmp_path: Path) -> None:
    write(official(tmp_path) / "repo" / "NLI", {"revised_premise/dev.tsv": HEADER + "A.\tB.\tneutral\n"})
    with pytest.raises(InputError, match="1 originals need 2 rows of version revised_premise, and there are 1"):
        from_official(CadSNLI(), tmp_path)


def test_edits_are_found_word_by_word() -> None:
    assert edited(["a", "b", "c"], ["a", "c", "d"]) == ({1}, {2})
    assert edited(["a", "b"], ["a", "b"]) == (set(), set())


@pytest.mark.corpora
def test_the_real_pairs_are_all_there_and_no_longer_sorted() -> None:
    _, splits = real(CadSNLI())
    assert {name: len(split) for name, split in splits.items()} == {"train": 8_330, "dev": 1_000, "test": 2_000}
    assert Counter(CLASSES[i.label] for i in splits["test"]) == {
        "neutral": 677,
        "contradiction": 669,
        "entailment": 654,
    }
    assert all(count > 40 for count in Counter(i.label for i in splits["train"][:200]).values())
    marked = sum(any(i.rationale or ()) for i in splits["train"])
    assert marked == 4_750
