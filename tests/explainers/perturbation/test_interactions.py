from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, UnknownName
from attentest.explainers.erasure import ERASURES
from attentest.explainers.explainer import margin
from attentest.explainers.perturbation.interactions import (
    INTERACTIONS,
    IntegratedHessians,
    PairwiseOcclusion,
    interactions,
)
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.subject import AffineReading, Subject

METHODS = ("pairwise_occlusion(erasure='zero')", "integrated_hessians")


def made(encoder: str, classes: int = 2, attention: str = "additive", low: int = 3, high: int = 6):
    split = made_up_split(6, low, high)
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 5)
    model, encoded = classifier(parts, split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        return split, model, batch, model.read(batch)


class Negation(Subject):
    """z = Σ value(word) + product of the values of "not" and "good", the first two real words."""

    classes = 2
    device = torch.device("cpu")

    def __init__(self) -> None:
        self.table = torch.linspace(-1, 1, 80)[:, None].repeat(1, 2).double()

    def embed(self, batch):
        return self.table[batch.text.tokens]

    def baseline(self, kind):
        return torch.zeros(2, dtype=torch.float64)

    def read(self, batch, *, embeddings=None, detach_attention=False):
        e = self.embed(batch) if embeddings is None else embeddings
        value = (e * batch.mask[..., None]).sum(-1)
        z = value.sum(-1) + 5 * value[:, 1] * value[:, 2]
        logits = torch.stack([torch.zeros_like(z), z], dim=-1)
        weights = batch.mask.double() / batch.mask.sum(-1, keepdim=True)
        return AffineReading(logits, weights, batch.mask, e, e, torch.zeros(*e.shape[:2], 2).double())

    def delete_each(self, batch):
        raise AssertionError


@pytest.mark.parametrize("method", METHODS)
def test_a_planted_product_is_found_as_that_pair_and_no_other(method):
    split = made_up_split(6, 3, 6)
    batch = whole(Encoded.of(split, Vocabulary.from_split(split)))
    subject = Negation()
    found = interactions(subject, batch, subject.read(batch), method, torch.ones(len(batch), dtype=torch.long))
    value = subject.embed(batch).sum(-1)
    product = 5 * value[:, 1] * value[:, 2]
    pairs = found.clone()
    pairs.diagonal(dim1=1, dim2=2).zero_()
    # Integrated Hessians give a product's quarters to (i, j), (j, i), (i, i) and (j, j).
    share = 1.0 if method.startswith("pairwise") else 0.25
    assert torch.allclose(pairs[:, 1, 2], share * product, atol=1e-6)
    pairs[:, 1, 2] = pairs[:, 2, 1] = 0
    assert torch.allclose(pairs, torch.zeros_like(pairs), atol=1e-9)


@pytest.mark.parametrize("method", [*METHODS, "pairwise_occlusion(erasure='mean')"])
def test_tokens_of_an_additive_model_do_not_interact(method):
    _, model, batch, _ = made("average(hidden=8)", attention="uniform")
    model.encoder.activation = lambda x: x
    with torch.no_grad():
        reading = model.read(batch)
    found = interactions(model, batch, reading, method)
    own = found.diagonal(dim1=1, dim2=2)
    assert float((found - torch.diag_embed(own)).abs().max()) < 1e-5
    if "mean" not in method:
        z = (model.embed(batch) @ (model.head.linear.weight @ model.encoder.linear.weight)[0]).detach()
        sign = torch.where(reading.predicted == 1, 1.0, -1.0)[:, None]
        expected = sign * z * batch.mask / batch.mask.sum(-1, keepdim=True)
        assert torch.allclose(own, expected.double(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["delete", "zero"])
@pytest.mark.parametrize("classes", [2, 3])
def test_pairwise_occlusion_equals_a_loop_over_pairs(mode, classes):
    split, model, batch, reading = made("bilstm(hidden=5)", classes)
    found = PairwiseOcclusion(mode).explain(model, batch, reading).scores
    vocabulary = Vocabulary.from_split(split)

    def output(row: int, text: list[str], gone: set[int]) -> float:
        left = [word for t, word in enumerate(text) if t not in gone] if mode == "delete" else text
        one = whole(Encoded.of(Split.of(["x"], [left], [0]), vocabulary))
        embeddings = model.embed(one).detach()
        if mode == "zero":
            embeddings[0, [t + 1 for t in gone]] = 0
        with torch.no_grad():
            read = model.read(one, embeddings=embeddings)
        return float(margin(read.logits.double(), reading.predicted[row : row + 1]))

    for row, text in enumerate(split.table["tokens"].to_pylist()[:3]):
        whole_ = output(row, text, set())
        for i, j in itertools.product(range(len(text)), repeat=2):
            expected = whole_ - output(row, text, {i})
            if i != j:
                expected += output(row, text, {i, j}) - output(row, text, {j})
            assert float(found[row, i + 1, j + 1]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("mode", ERASURES)
def test_pairs_are_symmetric_and_zero_outside_the_mask(mode):
    _, model, batch, reading = made("bilstm(hidden=5)")
    found = PairwiseOcclusion(mode).explain(model, batch, reading).scores
    assert torch.equal(found, found.mT)
    assert torch.all(found[~(batch.mask[:, :, None] & batch.mask[:, None, :])] == 0)
    assert torch.all(found.isfinite())


def test_a_pair_that_is_all_there_is_cannot_be_judged_by_deleting_it():
    _, model, batch, reading = made("bilstm(hidden=5)", low=2, high=2)
    found = PairwiseOcclusion().explain(model, batch, reading).scores
    assert torch.all(found[:, 1, 2].isnan())
    assert torch.all(found.diagonal(dim1=1, dim2=2).isfinite())


def test_pairwise_occlusion_does_not_depend_on_how_many_pairs_are_erased_at_once(monkeypatch):
    _, model, batch, reading = made("convolution(filters=3)")
    together = PairwiseOcclusion().explain(model, batch, reading).scores
    monkeypatch.setattr("attentest.explainers.perturbation.interactions.FLAGS", 1)
    assert torch.allclose(together, PairwiseOcclusion().explain(model, batch, reading).scores, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ["bilstm(hidden=5)", "average(hidden=6, activation='tanh')"])
def test_integrated_hessians_equal_the_papers_double_integral_and_add_up(encoder, classes):
    _, model, batch, _ = made(encoder, classes)
    model = model.double()
    with torch.no_grad():
        reading = model.read(batch)
    found = IntegratedHessians().explain(model, batch, reading)
    assert float(found.certificate["completeness_gap"].max()) < 1e-5
    assert float(found.certificate["symmetry_gap"].max()) < 1e-9
    row, steps = 1, 10
    one, real = batch[row : row + 1], batch.mask[row].nonzero()[:, 0]
    given, target = model.embed(one).detach(), reading.predicted[row : row + 1]

    def output(scale: torch.Tensor) -> torch.Tensor:
        full = torch.ones(batch.mask.shape[1], dtype=torch.float64).index_put((real,), scale)
        return margin(model.read(one, embeddings=full[:, None] * given).logits, target).sum()

    nodes, weights = np.polynomial.legendre.leggauss(steps)
    slow = torch.zeros(len(real), len(real), dtype=torch.float64)
    for (a, wa), (b, wb) in itertools.product(zip((nodes + 1) / 2, weights / 2, strict=True), repeat=2):
        point = torch.full((len(real),), a * b, dtype=torch.float64)
        hessian = torch.autograd.functional.hessian(output, point)
        slope = torch.autograd.functional.jacobian(output, point)
        slow += wa * wb * (a * b * hessian + torch.diag(slope))
    assert torch.allclose(found.scores[row][real][:, real], slow, atol=1e-6)


def test_a_kink_leaves_a_gap_that_the_certificate_shows_and_more_steps_are_not_wasted_on_it():
    _, model, batch, _ = made("average(hidden=8)", attention="uniform")
    with torch.no_grad():
        model.encoder.linear.bias.add_(torch.linspace(-2, 2, 8))
        reading = model.read(batch)
    certificate = IntegratedHessians().explain(model, batch, reading).certificate
    assert float(certificate["completeness_gap"].max()) > 1e-3
    assert float(certificate["steps"].max()) <= 128


@pytest.mark.slow
def test_steps_are_doubled_for_the_texts_that_do_not_add_up():
    _, model, batch, reading = made("bilstm(hidden=5)")
    few = IntegratedHessians(n_steps=2, most_steps=2).explain(model, batch, reading)
    more = IntegratedHessians(n_steps=2, tolerance=1e-4).explain(model, batch, reading)
    fine = IntegratedHessians(n_steps=64).explain(model, batch, reading)
    assert torch.all(few.certificate["steps"] == 2)
    assert float(few.certificate["completeness_gap"].max()) > 1e-3
    assert float(more.certificate["steps"].max()) > 2
    allowed = 1e-4 * more.certificate["difference"].abs() + 1e-5
    assert torch.all(more.certificate["completeness_gap"] <= allowed)
    assert torch.allclose(more.scores, fine.scores, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "pairwise_occlusion"])
def test_interactions_do_not_depend_on_the_batch_around_a_text(method, monkeypatch):
    _, model, batch, reading = made("bilstm(hidden=5)")
    together = interactions(model, batch, reading, method)
    monkeypatch.setattr("attentest.explainers.perturbation.interactions.positions", lambda _: 50)
    for row in range(0, len(batch), 2):
        part = slice(row, row + 1)
        with torch.no_grad():
            alone = interactions(model, batch[part], model.read(batch[part]), method)
        assert torch.allclose(together[part], alone, atol=1e-5)


def test_the_target_class_turns_the_sign_of_a_pair():
    _, model, batch, reading = made("bilstm(hidden=5)")
    zero, one = (torch.full((len(batch),), c) for c in (0, 1))
    for method in METHODS:
        against, for_ = (interactions(model, batch, reading, method, target) for target in (zero, one))
        assert torch.allclose(against, -for_, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("pairwise_oclusion", UnknownName, "Did you mean 'pairwise_occlusion'"),
        ("pairwise_occlusion(erasure='burn')", InputError, "must be one of"),
        ("integrated_hessians(n_steps=0)", InputError, "at least 1"),
        ("integrated_hessians(baselines='noise')", InputError, "must be one of"),
    ],
)
def test_wrong_methods_are_refused_in_one_line(text, error, said):
    with pytest.raises(error, match=said) as raised:
        INTERACTIONS.parse(text)
    assert "\n" not in str(raised.value)
