"""A model whose numbers are not finite is refused; a text whose numbers are not is not judged, and never averaged."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest
import torch
from tests.conftest import classifier, made_up_corpus, made_up_split
from tests.runs.test_run import small
from tests.support.pretrained import tiny, tokenizer_of

import attentest
from attentest.challenges import CHALLENGES
from attentest.data.corpus import Split
from attentest.errors import CheckpointError, Diverged
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.presentation.charts import Palette
from attentest.report.pages.examples import examples
from attentest.runs.examination.examine import examine, examiner_of
from attentest.runs.examination.finite import NOT_FINITE, refuse_not_finite
from attentest.runs.execute import execute
from attentest.runs.given import GivenRun
from attentest.runs.model import train
from attentest.runs.run import MODEL
from attentest.store.findings import read_findings
from attentest.store.summary import estimate
from attentest.training.checkpoints import load_network, save_network
from attentest.training.loop import Training

LINEAR = Architecture(ENCODERS.parse("none"), embedding=8)


def steep(split: Split):
    """A model whose head has large weights."""
    model, encoded = classifier(LINEAR, split)
    with torch.no_grad():
        for weight in model.head.parameters():
            weight.mul_(10)
    return model, encoded


def overflowing(split: Split, word: str):
    """A model with finite weights whose sums are not wherever the word stands, in whatever order they are added."""
    model, encoded = steep(split)
    tokens = split.table["tokens"].to_pylist()
    row = next(i for i, text in enumerate(tokens) if word in text)
    index = int(encoded.batch(np.array([row])).text.tokens[0, tokens[row].index(word) + 1])
    with torch.no_grad():
        model.embedding.weight[index] = 3e38
    return model, encoded, np.array([word in text for text in tokens])


@pytest.mark.parametrize("name", ["instances", "permutation", "uniform", "agreement", "adversary(steps=5)"])
def test_a_text_whose_output_is_not_finite_is_not_judged_and_the_others_are_as_without_it(tmp_path, name):
    split = made_up_split(20, 3, 9)
    model, encoded, broken = overflowing(split, "word7")
    assert 0 < broken.sum() < 20
    challenge = {"found": CHALLENGES.parse(name)}
    assert examine(examiner_of(model, split, encoded, challenge, seed=0), tmp_path) == {}
    found = read_findings(tmp_path / "found.parquet")
    ids = np.array(split.ids)
    told = pc.equal(found.table["not_judged"], NOT_FINITE).fill_null(False).to_numpy()
    assert set(found.table["id"].to_numpy()[told]) == set(ids[broken])
    assert not set(found.table["id"].to_numpy()[~told]) & set(ids[broken])
    whole = steep(split)[0]
    (tmp_path / "whole").mkdir()
    examine(examiner_of(whole, split, encoded, challenge, seed=0), tmp_path / "whole")
    without = read_findings(tmp_path / "whole" / "found.parquet").table
    for column in (c for c in without.column_names if str(without.schema.field(c).type) == "double"):
        ours, theirs = (table[column].to_numpy()[~told] for table in (found.table, without))
        np.testing.assert_allclose(ours, theirs, atol=1e-6, err_msg=column)
    for measure in found.measures:
        one = estimate(found, measure)
        assert np.isfinite(one.value) or one.judged == 0
        assert one.not_judged >= broken.sum()


def test_a_page_shows_no_text_whose_output_is_not_finite(tmp_path):
    split = made_up_split(20, 3, 9)
    model, encoded, broken = overflowing(split, "word7")
    examine(examiner_of(model, split, encoded, {"instances": CHALLENGES.parse("instances")}, seed=0), tmp_path)
    found = {"instances": read_findings(tmp_path / "instances.parquet")}
    predicted = found["instances"].table["predicted"].to_pylist()
    shown = {row["id"] for row in examples(found, Palette.of(["a", "b"], predicted), ["a", "b"])}
    assert shown
    assert not shown & set(np.array(split.ids)[broken])


def test_a_model_with_a_weight_that_is_not_finite_is_refused_in_one_line(tmp_path):
    trained = train(small(), tmp_path)
    model, _ = load_network(trained.path / MODEL, torch.device("cpu"))
    with torch.no_grad():
        next(model.head.parameters()).view(-1)[0] = torch.nan
    save_network(trained.path / MODEL, model, model.architecture)
    trained.finish(MODEL)
    with pytest.raises(CheckpointError, match=r"^1 of \d+ weights in head.* are not finite .* lower learning rate"):
        execute(GivenRun.of_run(trained, made_up_corpus()), tmp_path)


def test_a_checkpoint_with_a_weight_that_is_not_finite_is_refused_before_its_self_test():
    model = tiny("bert")
    with torch.no_grad():
        model.classifier.weight[0, 0] = torch.inf
    texts = [" ".join(text) for text in made_up_split(6, 3, 9).table["tokens"].to_pylist()]
    with pytest.raises(CheckpointError, match=r"^1 of 32 weights in classifier\.weight are not finite"):
        attentest.audit(model, tokenizer_of(), texts, [0, 1] * 3)


def test_a_model_whose_output_is_finite_for_no_text_is_refused():
    split = made_up_split(20, 3, 9)
    model, encoded = classifier(LINEAR, split)
    refuse_not_finite(model, encoded)
    with torch.no_grad():
        model.embedding.weight.fill_(3e38)
    with pytest.raises(CheckpointError, match=r"output is not finite .* first 8 texts"):
        refuse_not_finite(model, encoded)


def test_training_that_diverges_stops_at_once_and_says_what_to_do(tmp_path):
    run = small(training=Training(epochs=3, learning_rate=1e30))
    with pytest.raises(Diverged, match=r"diverged in epoch 1: its \w+ must be finite.*below 1e\+30.*--clip"):
        execute(run, tmp_path)
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("model.safetensors"))
