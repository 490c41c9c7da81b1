from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient
from tests.conftest import classifier, made_up_split, whole
from tests.explainers.small_models import OF_ANY_MODEL

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.measures.rank import kendall
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS

ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")


def made(encoder: str, classes: int = 2, attention: str = "additive"):
    split = made_up_split(low=2)
    model, encoded = classifier(
        Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10), split, classes
    )
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    return split, model, batch, reading


def test_the_margin_is_the_logit_of_the_probability():
    logits = torch.randn(6, 4, dtype=torch.float64)
    target = torch.tensor([0, 1, 2, 3, 0, 2])
    p = logits.softmax(-1)[torch.arange(6), target]
    assert torch.allclose(margin(logits, target), torch.log(p / (1 - p)))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("path", ["detached", "full"])
def test_gradient_equals_captums_input_times_gradient(encoder, classes, path):
    _, model, batch, reading = made(encoder, classes)

    def output(embeddings: torch.Tensor) -> torch.Tensor:
        read = model.read(batch, embeddings=embeddings, detach_attention=path == "detached")
        return margin(read.logits, reading.predicted)

    embedded = model.embed(batch).detach().requires_grad_()
    captum = InputXGradient(output).attribute(embedded).sum(-1).abs()
    ours = EXPLAINERS.parse(f"gradient(path='{path}')").scores(model, batch, reading)
    assert torch.allclose(ours, captum * batch.mask, atol=1e-6)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_gradient_equals_a_loop_over_instances(encoder):
    _, model, batch, reading = made(encoder)
    ours = EXPLAINERS.parse("gradient").scores(model, batch, reading)
    for row in range(len(batch)):
        alone = batch[row : row + 1]
        embedded = model.embed(alone).detach().requires_grad_()
        read = model.read(alone, embeddings=embedded, detach_attention=True)
        sign = 1 if read.predicted.item() == 1 else -1
        (gradient,) = torch.autograd.grad(sign * read.logits[0, 1], embedded)
        for t in range(batch.mask.shape[1]):
            expected = abs(float(gradient[0, t] @ embedded[0, t].detach())) if batch.mask[row, t] else 0.0
            assert float(ours[row, t]) == pytest.approx(expected, abs=1e-5)


def test_gradient_times_state_with_fixed_attention_is_the_weight_times_the_states_logit():
    _, model, batch, reading = made("bilstm(hidden=8)")
    ours = EXPLAINERS.parse("gradient_state").scores(model, batch, reading)
    weight = model.head.linear.weight[0]
    expected = reading.weights * (reading.states @ weight).abs()
    assert torch.allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_leave_one_out_equals_a_loop_that_deletes_and_encodes_again(encoder, classes):
    split, model, batch, reading = made(encoder, classes)
    ours = EXPLAINERS.parse("leave_one_out").scores(model, batch, reading)
    vocabulary = Vocabulary.from_split(split)
    for row, text in enumerate(split.table["tokens"].to_pylist()):
        for t in range(len(text)):
            shorter = Split.of(["x"], [text[:t] + text[t + 1 :]], [0])
            with torch.no_grad():
                other = model.read(Encoded.of(shorter, vocabulary).batch(np.array([0])))
            p, q = reading.logits[row].double().softmax(-1), other.logits[0].double().softmax(-1)
            assert float(ours[row, t + 1]) == pytest.approx(0.5 * float((p - q).abs().sum()), abs=1e-6)


def test_leave_one_out_does_not_depend_on_how_many_instances_are_deleted_from_at_once(monkeypatch):
    _, model, batch, reading = made("bilstm(hidden=8)")
    together = EXPLAINERS.parse("leave_one_out").scores(model, batch, reading)
    monkeypatch.setattr("attentest.explainers.perturbation.one_by_one.POSITIONS", 1)
    alone = EXPLAINERS.parse("leave_one_out").scores(model, batch, reading)
    assert torch.allclose(together, alone, atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_state_erasure_equals_a_loop_that_zeroes_and_renormalises(classes):
    _, model, batch, reading = made("bilstm(hidden=8)", classes)
    ours = EXPLAINERS.parse("state_erasure").scores(model, batch, reading)
    z = reading.token_logits.double()
    for row in range(len(batch)):
        for t in batch.mask[row].nonzero()[:, 0].tolist():
            weights = reading.weights[row].double().clone()
            weights[t] = 0
            weights /= weights.sum()
            p, q = reading.logits[row].double().softmax(-1), (weights @ z[row]).softmax(-1)
            assert float(ours[row, t]) == pytest.approx(0.5 * float((p - q).abs().sum()), abs=1e-7)


def test_where_no_state_knows_of_other_tokens_erasing_a_state_is_deleting_its_token():
    _, model, batch, reading = made("average(hidden=8)")
    state = EXPLAINERS.parse("state_erasure").scores(model, batch, reading)
    token = EXPLAINERS.parse("leave_one_out").scores(model, batch, reading)
    assert torch.allclose(state, token, atol=1e-6)


@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_scores_are_finite_negative_only_if_signed_and_zero_outside_the_mask(name):
    split = made_up_split(low=1)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=4)"), embedding=6), split)
    batch = whole(encoded)
    reading = model.read(batch)
    scores = EXPLAINERS.parse(name).scores(model, batch, reading)
    assert torch.all(torch.isfinite(scores))
    assert EXPLAINERS.parse(name).has_sign() or torch.all(scores >= 0)
    assert torch.all(scores[~batch.mask] == 0)


def test_an_unknown_path_is_named():
    with pytest.raises(InputError, match="path='half'"):
        EXPLAINERS.parse("gradient(path='half')")


@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_rounding_does_not_decide_the_ranking_even_where_attention_has_left_almost_nothing(name):
    split = made_up_split(low=8)
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=8)"), embedding=10), split)
    with torch.no_grad():
        model.attention.vector.weight.mul_(8)
    twin = copy.deepcopy(model).double()
    batch = whole(encoded)
    with torch.no_grad():
        single, double = model.read(batch), twin.read(batch)
    assert float(single.weights[batch.mask].min()) < 1e-6
    scores = [
        EXPLAINERS.parse(name).scores(*arguments).double()
        for arguments in ((model, batch, single), (twin, batch, double))
    ]
    assert float(torch.nanmean(kendall(*scores, batch.mask).tau)) > 0.995


def test_shuffled_attention_is_the_same_weights_on_other_tokens_whatever_the_batch():
    _, model, batch, reading = made("bilstm(hidden=8)")
    shuffled = EXPLAINERS.parse("attention(shuffled=True)").scores(model, batch, reading)
    assert torch.equal(shuffled.sort(-1).values, reading.weights.sort(-1).values)
    assert torch.all(shuffled[~batch.mask] == 0)
    assert not torch.equal(shuffled, reading.weights)
    alone = batch[3:4]
    part = EXPLAINERS.parse("attention(shuffled=True)").scores(model, alone, model.read(alone))
    assert torch.allclose(part[0], shuffled[3], atol=1e-6)
