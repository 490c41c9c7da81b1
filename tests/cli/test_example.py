from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_cli import fails_in_one_line, run

from attentest.data.corpora import CORPORA
from attentest.data.files.to_corpus import corpus_from_files

__all__ = ["run"]


@pytest.mark.slow
def test_the_example_is_a_file_to_audit_and_overwrites_none(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("example")
    assert code == 0
    assert "attentest audit --data reviews.csv" in out
    with (tmp_path / "reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["label"] for row in rows) == {"negative": 1500, "positive": 1500}
    corpus = corpus_from_files(tmp_path / "reviews.csv")
    assert not corpus.provenance.notes
    assert not corpus.provenance.left_out
    made = CORPORA.parse("reviews(train=3000, dev=1, test=1)").load()["train"].table["tokens"].to_pylist()
    found = [tokens for split in corpus.splits.values() for tokens in split.table["tokens"].to_pylist()]
    same = {" ".join(tokens) for tokens in made} & {" ".join(tokens) for tokens in found}
    assert len(same) > 0.95 * len(rows)
    before = (tmp_path / "reviews.csv").read_bytes()
    fails_in_one_line(run("example"), "reviews.csv is there already: name another file with --to")
    assert (tmp_path / "reviews.csv").read_bytes() == before
    assert run("example", "--to", "other.csv")[0] == 0
    assert (tmp_path / "other.csv").read_bytes() == before
