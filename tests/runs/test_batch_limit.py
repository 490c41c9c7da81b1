"""How much is examined at once: at first by a budget, then by what was found to fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from tests.conftest import Heard, classifier, made_up_split
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges import CHALLENGES
from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.models.huggingface import recomputing
from attentest.models.huggingface.building import build_pretrained
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.progress import SILENT
from attentest.runs.examination import batch_limit
from attentest.runs.examination.batch_limit import BatchLimit
from attentest.runs.examination.examine import examine, examiner_of

SPLIT = made_up_split(40, 2, 12)
ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.83 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate memory"),
]


def findings(model: Classifier, encoded: Encoded, folder: Path, **choices: Any) -> Any:
    folder.mkdir()
    say = choices.get("progress", SILENT).say
    examiner = examiner_of(model, SPLIT, encoded, {"permutation": CHALLENGES.parse("permutation")}, seed=0, say=say)
    examine(examiner, folder, **choices)
    return pq.read_table(folder / "permutation.parquet")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("error", ERRORS, ids=["cuda", "cpu"])
def test_what_fits_is_found_once_remembered_and_said(tmp_path, monkeypatch, error, workers) -> None:
    model, encoded = classifier(Architecture(embedding=8), SPLIT)
    monkeypatch.setitem(batch_limit.POSITIONS, "cpu", 100)
    expected = findings(model, encoded, tmp_path / "whole")
    real, sizes, failures, heard = Classifier.read, [], [], Heard()

    def scarce(self: Classifier, batch: Batch, **options: Any) -> Any:
        if not torch.is_grad_enabled():
            if batch.text.tokens.numel() > 40 and len(batch) > 1:
                failures.append(len(batch))
                raise error
            sizes.append(batch.text.tokens.numel())
        return real(self, batch, **options)

    monkeypatch.setattr(Classifier, "read", scarce)
    found = findings(model, encoded, tmp_path / "scarce", progress=heard, workers=workers)
    assert found["id"].to_pylist() == expected["id"].to_pylist()
    np.testing.assert_allclose(found["median_change"].to_numpy(), expected["median_change"].to_numpy(), atol=1e-6)
    assert len(failures) <= 2 * workers
    assert len(heard.lines) == 1
    assert heard.lines[0].startswith("Memory ran out")
    assert max(sizes) <= 60


def test_one_text_that_does_not_fit_is_an_error(tmp_path, monkeypatch) -> None:
    model, encoded = classifier(Architecture(embedding=8), SPLIT)

    def never(self: Classifier, batch: Batch, **options: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(Classifier, "read", never)
    with pytest.raises(torch.OutOfMemoryError):
        findings(model, encoded, tmp_path / "none")


def test_other_errors_are_not_taken_for_it(tmp_path, monkeypatch) -> None:
    model, encoded = classifier(Architecture(embedding=8), SPLIT)
    tried: list[int] = []

    def wrong(self: Classifier, batch: Batch, **options: Any) -> Any:
        tried.extend(batch.rows.tolist())
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(Classifier, "read", wrong)
    with pytest.raises(RuntimeError, match="mat1"):
        findings(model, encoded, tmp_path / "none")
    assert len(tried) == len(set(tried)) > 0


def test_a_larger_transformer_and_longer_texts_have_smaller_batches(monkeypatch) -> None:
    monkeypatch.setitem(recomputing.NUMBERS, "cpu", 2**20)

    def positions(split: Split, family: str = "bert") -> int:
        vocabulary, tokenizer = Vocabulary.from_split(split), tokenizer_of()
        answers = ["word1", "word2"] if family.endswith("lm") else None
        subject = build_pretrained(tiny(family, size=len(tokenizer)), tokenizer, vocabulary, answers=answers)
        return BatchLimit(subject, Encoded.of(split, vocabulary)).positions

    short, long = made_up_split(6, 2, 9), made_up_split(6, 80, 90)
    few = positions(short)
    assert positions(short, "llama-lm") < few <= batch_limit.POSITIONS["cpu"]
    assert positions(long) < few


def test_the_more_classes_the_fewer_texts_go_together() -> None:
    def positions(classes: int) -> int:
        model, encoded = classifier(Architecture(embedding=8), SPLIT, classes)
        return BatchLimit(model, encoded).positions

    assert positions(2) == positions(128) == batch_limit.POSITIONS["cpu"]
    assert positions(256) == batch_limit.POSITIONS["cpu"] // 2
    assert positions(1000) * 1000 < 2 * positions(128) * 128
    assert positions(5000) == batch_limit.FEWEST
