"""DiffMask on a model whose deciding words are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.challenges.selection.test_examine import examination
from tests.conftest import made_up_corpus, made_up_split
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges.selection.examine import Selection
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable, StorageError
from attentest.explainers import EXPLAINERS
from attentest.explainers.shared import Shared
from attentest.explainers.trained.gates import keep_gates, with_kept_gates
from attentest.explainers.trained.masker import Masker
from attentest.models.huggingface.building import build_pretrained
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.store.findings import Findings
from attentest.store.folder import RunFolder
from attentest.store.summary import estimate
from attentest.training.loop import Training, fit
from attentest.training.training_texts import TrainingTexts

DIFFMASK = "diffmask(epochs=12, rate=0.01)"


@pytest.fixture(scope="module")
def known():
    corpus = made_up_corpus(count=300)
    vocabulary = Vocabulary.from_split(corpus["train"])
    parts = Architecture(ENCODERS.parse("bilstm(hidden=8)"), embedding=16)
    model = Classifier(parts, len(vocabulary), 2, torch.Generator().manual_seed(0))
    train, dev, test = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev", "test"))
    fit(model, train, dev, Training(epochs=20, learning_rate=0.02, patience=0), seed=0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    return examination(model, test, corpus["test"], training=TrainingTexts(lambda: train)), before


def test_it_keeps_the_words_that_decide_and_the_prediction(known):
    about, _ = known
    challenge = Selection(explainers=(DIFFMASK, "random", "first_words"), erasure="mask")
    findings = Findings("selection", challenge.measures, challenge.examine(about))
    numbers = {
        (name, column): estimate(findings, f"{name}.{column}").value
        for name in (DIFFMASK, "random", "first_words")
        for column in ("share", "auprc", "stays")
    }
    assert numbers[DIFFMASK, "share"] < 0.5
    assert numbers[DIFFMASK, "stays"] > 0.85
    for other in ("random", "first_words"):
        assert numbers[DIFFMASK, "auprc"] > numbers[other, "auprc"] + 0.2


def test_the_model_stays_as_it_was_and_the_scores_are_the_same_again(known):
    about, before = known
    first = about.scores(DIFFMASK)
    assert all(torch.equal(value, before[name]) for name, value in about.subject.state_dict().items())
    assert all(parameter.requires_grad for parameter in about.subject.parameters())
    again = TrainingTexts(about.training.encode)
    found = EXPLAINERS.parse(DIFFMASK).explain_sharing(
        Shared(about.subject, about.batch, about.reading, training=again)
    )
    assert torch.equal(found.scores.double(), first)


def test_gates_that_a_run_keeps_explain_other_texts_alike(known, tmp_path):
    about, _ = known
    first = about.scores(DIFFMASK)
    folder = RunFolder.create(tmp_path / "run", {}, {})
    keep_gates(folder, about.training)
    kept = with_kept_gates(folder, about.subject, (EXPLAINERS.parse(DIFFMASK), EXPLAINERS.parse("attention")))
    shared = Shared(about.subject, about.batch, about.reading, training=kept)
    assert torch.equal(EXPLAINERS.parse(DIFFMASK).explain_sharing(shared).scores.double(), first)
    with pytest.raises(NotApplicable, match=r"keeps those of diffmask\(epochs=12, rate=0.01\)"):
        EXPLAINERS.parse("diffmask").explain_sharing(shared)
    none = with_kept_gates(RunFolder(tmp_path / "elsewhere"), about.subject, (EXPLAINERS.parse(DIFFMASK),))
    with pytest.raises(NotApplicable, match="keeps none"):
        EXPLAINERS.parse(DIFFMASK).explain_sharing(Shared(about.subject, about.batch, about.reading, training=none))
    gates = next((tmp_path / "run").glob("gates-*"))
    gates.write_bytes(gates.read_bytes()[:-1])
    with pytest.raises(StorageError, match="altered"):
        with_kept_gates(folder, about.subject, (EXPLAINERS.parse(DIFFMASK),))


def test_without_training_texts_it_is_refused(known):
    about, _ = known
    with pytest.raises(NotApplicable, match="use it in a challenge"):
        EXPLAINERS.parse("diffmask").explain(about.subject, about.batch, about.reading)
    with pytest.raises(NotApplicable, match="there are none"):
        EXPLAINERS.parse("diffmask").explain_sharing(Shared(about.subject, about.batch, about.reading))


def test_a_checkpoint_is_asked_like_any_other_model_and_stays_as_it_was():
    split = made_up_split(40, 2, 9)
    vocabulary = Vocabulary.from_split(split)
    encoded, tokenizer = Encoded.of(split, vocabulary), tokenizer_of()
    subject = build_pretrained(tiny("bert", size=len(tokenizer)), tokenizer, vocabulary)
    before = {name: value.clone() for name, value in subject.state_dict().items()}
    batch = encoded.batch(np.arange(8))
    with torch.no_grad():
        reading = subject.read(batch)
    shared = Shared(subject, batch, reading, training=TrainingTexts(lambda: encoded))
    scores = EXPLAINERS.parse("diffmask(epochs=3, rate=0.03, texts=24)").explain_sharing(shared).scores
    assert scores.shape == batch.mask.shape
    assert bool(((scores >= 0) & (scores <= 1)).all())
    assert bool((scores[~batch.mask] == 0).all())
    assert all(torch.equal(value, before[name]) for name, value in subject.state_dict().items())
    # An untrained model says nearly the same of any words: nearly none is needed.
    assert float(scores[batch.mask].mean()) < 0.5


def test_a_masked_word_keeps_its_pieces_and_an_open_gate_changes_nothing():
    split = made_up_split(6, 2, 9)
    vocabulary = Vocabulary.from_split(split)
    encoded, tokenizer = Encoded.of(split, vocabulary), tokenizer_of()
    subject = build_pretrained(tiny("bert", size=len(tokenizer)).double(), tokenizer, vocabulary)
    batch = encoded.batch(np.arange(6))
    with torch.no_grad():
        own = subject.read(batch)
        masker = Masker(subject, own.states.shape[-1], seed=0).double()
        torch.nn.init.constant_(masker.gate.bias, 50.0)
        assert torch.allclose(masker.read(batch).logits, own.logits, atol=1e-12)
        torch.nn.init.constant_(masker.gate.bias, -50.0)
        # One word is always left: the first of those that are alike.
        embedded = subject.embed(batch)
        gone = batch.mask & (torch.arange(batch.mask.shape[1]) != 1)
        alone = subject.read(batch, embeddings=torch.where(gone[..., None], 0.0, embedded))
        masker.gate.weight.zero_()
        assert torch.allclose(masker.read(batch).logits, alone.logits, atol=1e-12)


def test_what_stands_for_an_absent_word_can_be_what_a_challenge_puts_there(known):
    about, _ = known
    fixed = Masker(about.subject, about.reading.states.shape[-1], seed=0, absent="mask").absent
    assert torch.equal(fixed, about.subject.baseline("mask"))
    assert not fixed.requires_grad
    with pytest.raises(InputError, match="learnt, zero, mean, mask"):
        EXPLAINERS.parse("diffmask(absent='nothing')")
