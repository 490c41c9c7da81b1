"""Candidates: only the classes that a text names may be chosen for it, and everything exact stays exact."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, whole
from tests.data.corpora.made_up import from_official, write

import attentest
from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.candidates import with_candidates
from attentest.data.corpora.cnn import CNN
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.measures.adversary.bracket import bracket
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


@pytest.fixture(scope="module")
def articles(tmp_path_factory) -> tuple[Split, tuple[str, ...]]:
    """Made-up questions in CNN's official form, prepared as CNN's are."""
    rng = np.random.default_rng(0)
    files = {}
    for folder, count in (("training", 24), ("validation", 2), ("test", 12)):
        for i in range(count):
            named = [f"@entity{j}" for j in rng.permutation(7)[: int(rng.integers(2, 5))]]
            words = [f"word{j}" for j in rng.integers(0, 20, int(rng.integers(2, 8)))]
            context = rng.permutation([*named, *words]).tolist()
            files[f"questions/{folder}/{folder}-{i}.question"] = (
                f"http://x\n\n{' '.join(context)}\n\n@placeholder did word{i % 5}\n\n{named[0]}\n\n@entity0:A\n"
            )
    made, splits = from_official(CNN(), write(tmp_path_factory.mktemp("cnn"), files))
    rows = splits["test"]
    split = Split.of(
        [r.id for r in rows], [r.tokens for r in rows], [r.label for r in rows], second=[r.second for r in rows]
    )
    column = pa.array([r.candidates for r in rows], pa.list_(pa.int32()))
    return Split(split.table.append_column("candidates", column)), tuple(made.classes)


def model_of(articles, head: str, query: str = "separate"):
    split, classes = articles
    made = Architecture(
        ENCODERS.parse("bilstm(hidden=6)"), ATTENTIONS.parse("additive"), HEADS.parse(head), 10, query=query
    )
    return (*classifier(made, split, len(classes)), classes)


def allowed(articles) -> torch.Tensor:
    """Straight from the definition."""
    split, classes = articles
    return torch.tensor([[name in tokens for name in classes] for tokens in split.table["tokens"].to_pylist()])


def test_candidates_are_the_classes_that_the_text_names(articles):
    split, classes = articles
    found = with_candidates(Split(split.table.drop_columns(["candidates"])), classes)
    assert found.table["candidates"].to_pylist() == split.table["candidates"].to_pylist()
    model, encoded, _ = model_of(articles, "joint")
    assert torch.equal(model.candidates(whole(encoded)), allowed(articles))
    part = whole(encoded)[torch.tensor([3, 1])].to(torch.device("cpu"))
    assert torch.equal(model.candidates(part), allowed(articles)[[3, 1]])
    assert model.candidates(dataclasses.replace(part, candidates=None)) is None


def test_a_text_that_names_no_class_has_no_candidate(articles):
    none = with_candidates(Split.of(["a", "b"], [["x"], ["@entity1", "y", "@entity1"]], [0, 0]), articles[1])
    assert none.table["candidates"].to_pylist() == [[], [articles[1].index("@entity1")]]


@pytest.mark.parametrize(
    ("head", "query"), [("joint", "separate"), ("joint_tanh", "shared"), ("softmax", "conditional")]
)
def test_predictions_are_candidates_and_own_weights_put_back_reproduce_the_output(articles, head, query):
    model, encoded, _ = model_of(articles, head, query)
    batch, may = whole(encoded), allowed(articles)
    reading = model.read(batch)
    assert may.gather(1, reading.predicted[:, None]).all()
    assert torch.all(reading.probabilities[~may] == 0)
    free = model.read(dataclasses.replace(batch, candidates=None))
    assert torch.equal(reading.logits[may], free.logits[may])
    assert not may.gather(1, free.predicted[:, None]).all()
    again = reading.reread(reading.weights[:, None])[:, 0]
    assert torch.allclose(again[may], reading.logits[may], atol=2e-6)
    assert torch.all(again.softmax(-1)[~may] == 0)


@pytest.mark.parametrize("head", ["joint", "joint_tanh"])
def test_deleting_tokens_of_either_text_keeps_the_candidates(articles, head):
    model, encoded, _ = model_of(articles, head)
    batch, may = whole(encoded), allowed(articles)
    for subject, read in ((model, batch), (model.second_text(), batch.swapped())):
        without = subject.delete_each(read)
        for row, place in read.mask.nonzero().tolist():
            assert torch.all(without[row, place].softmax(-1)[~may[row]] == 0)
        assert not torch.allclose(without[read.mask].softmax(-1).max(-1).values, torch.ones(()))


@pytest.mark.slow
def test_the_adversary_is_bracketed_among_the_candidates(articles):
    model, encoded, classes = model_of(articles, "joint")
    batch, may = whole(encoded), allowed(articles)
    tokens = articles[0].table["tokens"].chunk(0)
    examined = Examination(model, batch, model.read(batch), 0, tokens)
    found = CHALLENGES.parse("adversary(epsilon=0.05, steps=50)").examine(examined).to_pylist()
    for i, row in enumerate(found):
        assert row["lower"] <= row["upper"] + 1e-9
        assert row["adversarial_change"] <= 0.05 + 1e-6
        chances = torch.tensor(row["adversarial_probabilities"])
        assert len(chances) == len(classes)
        assert torch.all(chances[~may[i]] == 0)
    # The same as a model of the candidates alone would give.
    for i in (0, 5):
        z = examined.reading.token_logits[i : i + 1, :, may[i]]
        part = slice(i, i + 1)
        alone = bracket(examined.weights[part], z.double(), examined.mask[part], 0.05)
        assert found[i]["upper"] == pytest.approx(float(alone.upper[0]), abs=0.02)


@pytest.mark.parametrize(
    "explainer", ["gradient", "integrated_gradients", "lrp", "deep_lift", "leave_one_out", "occlusion"]
)
@pytest.mark.parametrize("head", ["joint", "joint_tanh"])
def test_explainers_speak_of_the_candidates_alone(articles, explainer, head):
    model, encoded, _ = model_of(articles, head)
    batch = whole(encoded)
    reading = model.read(batch)
    scores = EXPLAINERS.parse(explainer).scores(model, batch, reading)
    assert torch.all(torch.isfinite(scores))
    assert scores.abs().amax(-1).gt(0).all()
    assert float(scores.abs().max()) < 100


def test_a_vocabulary_without_the_names_leaves_candidates_as_they_are(articles):
    split, _ = articles
    words = Vocabulary.from_split(split, 1000)
    assert torch.equal(
        Encoded.of(split, words).batch(np.arange(2)).candidates, whole(Encoded.of(split, words))[:2].candidates
    )


@pytest.mark.slow
@torch.enable_grad()
def test_an_audit_and_an_explanation_choose_among_candidates(articles, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    split, classes = articles
    splits = dict.fromkeys(("train", "dev", "test"), split)
    corpus = Corpus("articles", classes, splits, Provenance("made up", "words between spaces"), task="answer")
    assert corpus.candidates
    done = attentest.audit(
        corpus=corpus, encoder="bilstm(hidden=4)", embedding=6, epochs=2, challenges=["uniform", "permutation"]
    )
    assert done.folder.record["fields"]["corpus"]["candidates"]
    may = allowed(articles)
    assert all(may[i, c] for i, c in enumerate(done.to_frame("uniform")["predicted"]))
    said = attentest.explain("@entity1 met @entity3 there", model=done.folder.path, second="@placeholder met")
    assert {c for c, p in zip(said.classes, said.probabilities, strict=True) if p > 0} == {"@entity1", "@entity3"}
    (tmp_path / "new.csv").write_text(
        "text,asked,answer\n@entity1 met @entity3 there,@placeholder met,@entity1\n"
        "word1 then @entity2 left @entity4,@placeholder left,@entity2\n",
        "utf-8",
    )
    other = attentest.audit(
        done.folder.path,
        data="new.csv",
        second_column="asked",
        label_column="answer",
        tokenizer="whitespace",
        challenges=["uniform"],
    )
    shown = other.to_frame()
    assert {classes[c] for c in shown["predicted"]} <= {"@entity1", "@entity2", "@entity3", "@entity4"}
    for tokens, probabilities in zip(shown["tokens"], shown["probabilities"], strict=True):
        assert {classes[c] for c, p in enumerate(probabilities) if p > 0} == {t for t in tokens if t in classes}
