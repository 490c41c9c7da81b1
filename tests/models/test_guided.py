from __future__ import annotations

import copy

import pytest
import torch
from tests.conftest import classifier, made_up_corpus, made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import NotApplicable
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.wrappers.guided import Guided
from attentest.training.loop import Training, fit, predict
from attentest.training.resume import Resume

WORDS = Architecture(ENCODERS.parse("average(hidden=7, activation='tanh')"), embedding=8)
CONTEXT = Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=10)


def pair(classes: int = 2):
    words, encoded = classifier(WORDS, made_up_split(), classes)
    guide, _ = classifier(CONTEXT, made_up_split(), classes, seed=1)
    return words, guide, encoded


@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_guided_by_itself_says_what_it_says(classes):
    words, _, encoded = pair(classes)
    batch = whole(encoded)
    with torch.no_grad():
        own, guided = words.read(batch), Guided(words, words).read(batch)
    assert torch.allclose(own.logits, guided.logits, atol=1e-5)
    assert torch.equal(own.weights, guided.weights)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_weighs_its_own_states_by_the_guides_weights(classes):
    words, guide, encoded = pair(classes)
    batch = whole(encoded)
    with torch.no_grad():
        own, theirs, guided = words.read(batch), guide.read(batch), Guided(words, guide).read(batch)
        for i, real in enumerate(batch.mask):
            context = sum(a * h for a, h in zip(theirs.weights[i][real], own.states[i][real], strict=True))
            assert torch.allclose(words.head(context), guided.logits[i], atol=1e-5)
        assert torch.equal(guided.weights, theirs.weights)
        assert torch.allclose(guided.reread(guided.weights[:, None])[:, 0], guided.logits, atol=1e-6)


def test_the_guide_is_neither_trained_nor_saved_with_it():
    words, guide, encoded = pair()
    guided = Guided(words, guide.train())
    assert not guide.training
    assert guided.train().training
    assert not guide.training
    own = {id(parameter) for parameter in words.parameters()}
    assert {id(parameter) for parameter in guided.parameters()} == own
    assert {name.removeprefix("classifier.") for name in guided.state_dict()} == set(words.state_dict())
    reading = guided(whole(encoded))
    reading.logits.sum().backward()
    assert not reading.weights.requires_grad
    assert all(parameter.grad is None for parameter in (*guide.parameters(), *words.attention.parameters()))
    assert all((p.grad != 0).any() for p in (*words.encoder.parameters(), *words.head.parameters()))


def trained(architecture, encoded, vocabulary, training, guide=None, resume=None):
    model = Classifier(architecture, len(vocabulary), 2, torch.Generator().manual_seed(0))
    fit(model if guide is None else Guided(model, guide), *encoded, training, seed=0, resume=resume)
    return model


def encoded_corpus():
    corpus = made_up_corpus()
    vocabulary = Vocabulary.from_split(corpus["train"])
    return vocabulary, [Encoded.of(corpus[name], vocabulary) for name in ("train", "dev")]


@pytest.mark.slow
def test_it_is_trained_by_the_one_loop_and_leaves_its_guide_as_it_was():
    vocabulary, encoded = encoded_corpus()
    training = Training(epochs=12, batch_size=8, learning_rate=2e-2, patience=0)
    guide = trained(CONTEXT, encoded, vocabulary, training)
    before = copy.deepcopy(guide.state_dict())
    model = trained(WORDS, encoded, vocabulary, training, guide)
    assert all(torch.equal(before[name], value) for name, value in guide.state_dict().items())
    again = Guided(model, guide)
    right = predict(again, encoded[1]).argmax(-1) == encoded[1].labels
    assert right.mean() > 0.9
    untouched = Classifier(WORDS, len(vocabulary), 2, torch.Generator().manual_seed(0))
    for now, then in zip(model.attention.parameters(), untouched.attention.parameters(), strict=True):
        assert torch.equal(now, then), "attention that is not used is not trained"


@pytest.mark.slow
def test_uniform_weights_from_a_guide_are_uniform_attention():
    vocabulary, encoded = encoded_corpus()
    flat = Architecture(WORDS.encoder, ATTENTIONS.parse("uniform"), embedding=8)
    guide = Classifier(flat, len(vocabulary), 2, torch.Generator().manual_seed(3)).eval()
    model = trained(flat, encoded, vocabulary, Training(epochs=3))
    guided = trained(flat, encoded, vocabulary, Training(epochs=3), guide)
    for name, value in model.state_dict().items():
        assert torch.allclose(value, guided.state_dict()[name], atol=1e-4), name


def test_a_guided_training_goes_on_where_it_was_killed(tmp_path):
    vocabulary, encoded = encoded_corpus()
    guide = Classifier(CONTEXT, len(vocabulary), 2, torch.Generator().manual_seed(3)).eval()
    whole_ = trained(WORDS, encoded, vocabulary, Training(epochs=4, patience=0), guide)

    class Killed(Exception):
        pass

    class Kills(Resume):
        def save(self, *given):
            super().save(*given)
            if len(given[-1]) == 2:
                raise Killed

    resume = Kills(tmp_path / "training", "key", 0)
    with pytest.raises(Killed):
        trained(WORDS, encoded, vocabulary, Training(epochs=4, patience=0), guide, resume)
    resume = Resume(tmp_path / "training", "key", 0)
    again = trained(WORDS, encoded, vocabulary, Training(epochs=4, patience=0), guide, resume)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole_.state_dict().items())


def test_its_words_cannot_be_deleted_one_by_one():
    words, guide, encoded = pair()
    with pytest.raises(NotApplicable, match="no attention of its own"):
        Guided(words, guide).delete_each(whole(encoded))
