"""The information bottleneck against torch's own divergence and a loop over texts, and on known deciding words."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import classifier, made_up_corpus, made_up_split, whole
from tests.explainers.small_models import ENCODER_TEXTS, Plain, made
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import cross_entropy

from attentest.data.batches import Encoded
from attentest.data.vocabulary import END, Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.gradient.smooth_grad import noise
from attentest.explainers.perturbation.information_bottleneck import InformationBottleneck, information
from attentest.measures.rank import average_precision
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import Subject
from attentest.training.loop import Training, fit


def test_the_information_is_torchs_divergence():
    generator = torch.Generator().manual_seed(0)
    given, mean = torch.randn(2, 3, 5, 7, generator=generator, dtype=torch.float64)[0], torch.randn(7).double()
    deviation = torch.rand(7, generator=generator).double() + 0.1
    logit = torch.linspace(-4, 6, 15, dtype=torch.float64).view(3, 5)
    through = logit.sigmoid()[..., None]
    behind = Normal(through * given + (1 - through) * mean, (1 - through) * deviation)
    expected = kl_divergence(behind, Normal(mean, deviation).expand(behind.mean.shape)).sum(-1)
    assert torch.allclose(information(logit, ((given - mean) / deviation).square()), expected)


def of_one_text(model: Classifier, batch, reading, row: int, method: InformationBottleneck) -> torch.Tensor:
    """The same for one text alone, as the paper writes it: autograd through all of the cost at once."""
    alone = batch[row : row + 1]
    mask, given, wanted = alone.mask[0], model.embed(alone).detach(), reading.predicted[row : row + 1]
    words = model.embedding.weight.detach()[END + 1 :]
    mean, deviation = words.mean(0), words.std(0, correction=0)
    logit = torch.full((int(mask.sum()),), 5.0, requires_grad=True)
    adam = torch.optim.Adam([logit], lr=method.rate)
    for step in range(method.steps):
        adam.zero_grad()
        through = logit.sigmoid()[:, None]
        own = given[0, mask]
        behind = Normal(through * own + (1 - through) * mean, (1 - through) * deviation)
        nats = kl_divergence(behind, Normal(mean, deviation).expand(behind.mean.shape))
        cost = method.beta * nats.mean()
        for draw in range(method.draws):
            drawn = noise(alone.keys, alone.mask, given, method.seed, step * method.draws + draw)[0, mask]
            mixed = given.clone()
            mixed[0, mask] = through * own + (1 - through) * (mean + deviation * drawn)
            cost = cost + cross_entropy(model.read(alone, embeddings=mixed).logits, wanted) / method.draws
        cost.backward()
        adam.step()
    scores = torch.zeros(batch.mask.shape[1])
    through = logit.detach().sigmoid()[:, None]
    behind = Normal(through * given[0, mask] + (1 - through) * mean, (1 - through) * deviation)
    scores[: len(mask)][mask] = kl_divergence(behind, Normal(mean, deviation).expand(behind.mean.shape)).sum(-1)
    return scores


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_scores_are_those_of_a_loop_over_texts(encoder, classes):
    model, batch, reading = made(encoder, classes, count=4)
    method = InformationBottleneck(steps=4, draws=3, beta=2.0)
    found = method.explain(model, batch, reading)
    for row in range(len(batch)):
        assert torch.allclose(found.scores[row], of_one_text(model, batch, reading, row, method), rtol=1e-3, atol=1e-3)
    assert torch.allclose(found.certificate["nats"], found.scores.sum(-1))


def test_slices_of_draws_and_other_texts_change_nothing(monkeypatch):
    model, batch, reading = made("bilstm(hidden=8)")
    method = EXPLAINERS.parse("information_bottleneck")
    together = method.explain(model, batch, reading).scores
    monkeypatch.setattr("attentest.explainers.perturbation.information_bottleneck.positions", lambda device: 1)
    assert torch.allclose(method.explain(model, batch, reading).scores, together, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        alone = model.read(batch[3:4])
    assert torch.allclose(method.explain(model, batch[3:4], alone).scores, together[3:4], rtol=1e-4, atol=1e-4)


def test_the_words_that_decide_pass_and_the_prediction_is_kept():
    corpus = made_up_corpus(count=300)
    vocabulary = Vocabulary.from_split(corpus["train"])
    parts = Architecture(ENCODERS.parse("bilstm(hidden=8)"), embedding=16)
    model = Classifier(parts, len(vocabulary), 2, torch.Generator().manual_seed(0))
    train, dev, test = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev", "test"))
    fit(model, train, dev, Training(epochs=20, learning_rate=0.02, patience=0), seed=0)
    batch = whole(test)
    with torch.no_grad():
        reading = model.read(batch)
    marks = torch.zeros_like(batch.mask)
    for row, (place, flags) in enumerate(zip(batch.rows.tolist(), batch.mask, strict=True)):
        marks[row, flags] = torch.tensor(corpus["test"].table["rationale"][place].as_py())
    found = InformationBottleneck(beta=0.2, steps=30).explain(model, batch, reading)
    own = reading.logits.softmax(-1).gather(-1, reading.predicted[:, None])[:, 0]
    assert float((own - found.certificate["probability_kept"]).mean()) < 0.1
    marked = marks.any(-1) & (marks.sum(-1) < batch.mask.sum(-1))
    precise = average_precision(found.scores, marks, batch.mask)[marked]
    random = average_precision(EXPLAINERS.parse("random").scores(model, batch, reading), marks, batch.mask)[marked]
    assert float(precise.nanmean()) > float(random.nanmean()) + 0.2


def test_dearer_information_leaves_less_of_it():
    model, encoded = classifier(Architecture(ENCODERS.parse("average(hidden=8)"), embedding=10), made_up_split(low=2))
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    cheap, dear = (InformationBottleneck(beta=beta, steps=20).explain(model, batch, reading) for beta in (0.01, 100.0))
    assert torch.all(dear.certificate["nats"] < cheap.certificate["nats"])


def test_what_has_no_embedding_for_every_word_is_refused():
    model, *_ = made("average(hidden=8)")
    subject: Subject = Plain(model)
    assert "embedding" in str(EXPLAINERS.parse("information_bottleneck").objection(subject))
