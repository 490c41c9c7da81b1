from __future__ import annotations

import itertools

import pytest
import torch
from captum.attr import IntegratedGradients
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.explainers.small_models import ENCODER_TEXTS, Plain, arguments, made, margins, targets

from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.explainers.gradient.integrated_gradients import IntegratedGradients as Ours
from attentest.explainers.gradient.quadrature import LOBATTO, RULES, quadrature
from attentest.models.shared_work import lines
from attentest.models.shared_work.lines import line_through


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("baselines", ["zero", "mean", "mask"])
def test_scores_equal_captums_for_any_class_rule_and_baseline(encoder, classes, baselines):
    model, batch, reading = made(encoder, classes)
    for target, method in itertools.product(targets(reading, classes), RULES):
        output = margins(model, batch, reading.predicted if target is None else target)
        embeddings, start, rows = arguments(model, batch, baselines)
        theirs = IntegratedGradients(output).attribute(
            embeddings, start, additional_forward_args=(rows,), n_steps=20, method=method
        )
        explainer = Ours(n_steps=20, baselines=baselines, method=method, most_steps=1)
        ours = explainer.scores(model, batch, reading, target)
        assert torch.allclose(ours, (theirs.sum(-1) * batch.mask).float(), atol=1e-5), method


@pytest.mark.parametrize("path", ["full", "detached"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_scores_add_up_to_the_difference_from_the_baseline(encoder, classes, path):
    model, batch, reading = made(encoder, classes)
    for target in targets(reading, classes):
        wanted = reading.predicted if target is None else target
        found = Ours(path=path, most_steps=100_000).explain(model, batch, reading, target)
        embeddings, start, rows = arguments(model, batch)
        with torch.no_grad():
            if path == "full":
                output = margins(model, batch, wanted)
                rise = output(embeddings, rows) - output(start, rows)
            else:
                held = reading.weights[:, None]
                at_start = model.read(batch, embeddings=start).reread(held)[:, 0]
                rise = margin(reading.reread(held)[:, 0], wanted) - margin(at_start, wanted)
        gap = (found.scores.sum(-1) - rise).abs()
        assert torch.all(gap <= 1e-4 * rise.abs() + 2e-5)
        assert torch.all(found.certificate["complete"] == 1)
        assert torch.allclose(found.certificate["completeness_gap"].float(), gap, atol=1e-5)
        assert torch.allclose(found.certificate["difference"].float(), rise, atol=1e-5)


def test_on_the_detached_path_attention_is_held_at_the_texts_own_weights():
    model, batch, reading = made("bilstm(hidden=8)")
    ours = Ours(path="detached").scores(model, batch, reading)
    embeddings, start, _ = arguments(model, batch)
    expected = torch.zeros_like(ours)
    points, weights = quadrature("gausslegendre", 50)
    for point, weight in zip(points, weights, strict=True):
        at = (start + point * (embeddings - start)).requires_grad_()
        logits = model.read(batch, embeddings=at).reread(reading.weights[:, None])[:, 0]
        (slope,) = torch.autograd.grad(margin(logits, reading.predicted).sum(), at)
        expected += weight * (slope * (embeddings - start)).sum(-1)
    assert torch.allclose(ours, expected, atol=1e-5)


def steep():
    """A model that changes its mind within a thousandth of the way: fifty even steps do not see it."""
    model, batch, _ = made("bilstm(hidden=8)", low=4)
    with torch.no_grad():
        model.encoder.rightward.weight_ih_l0.mul_(400)
        model.encoder.rightward.bias_ih_l0.add_(-150)
        return model, batch, model.read(batch)


@pytest.mark.slow
def test_where_the_model_jumps_steps_are_added_there_until_the_scores_add_up():
    model, batch, reading = steep()
    plain = Ours(most_steps=1).explain(model, batch, reading)
    wide = plain.certificate["completeness_gap"] > 0.01 * plain.certificate["difference"].abs()
    assert wide.any()
    assert torch.all(plain.certificate["complete"][wide] == 0)
    found = Ours(most_steps=3000).explain(model, batch, reading)
    assert torch.all(found.certificate["complete"] == 1)
    assert torch.all(found.certificate["steps"][wide] > 50)
    assert torch.all(found.certificate["steps"] <= 3000)
    assert torch.all(found.certificate["steps"][plain.certificate["complete"] == 1] == 50)
    # The slow way to the same integral: a very fine even grid.
    fine = Ours(n_steps=20_000, method="riemann_middle", most_steps=1).scores(model, batch, reading)
    assert torch.allclose(found.scores, fine, atol=1e-3 * float(fine.abs().max()))


def test_what_the_maximum_of_steps_leaves_open_is_said():
    model, batch, reading = steep()
    found = Ours(most_steps=120).explain(model, batch, reading)
    assert torch.all(found.certificate["steps"] <= 120)
    short = found.certificate["complete"] == 0
    assert short.any()
    gap, rise = found.certificate["completeness_gap"], found.certificate["difference"]
    assert torch.all(gap[short] > 1e-4 * rise[short].abs())


@pytest.mark.parametrize("path", ["full", "detached"])
def test_a_way_that_does_not_end_at_the_models_own_output_is_not_complete(path, monkeypatch):
    model, batch, reading = made("bilstm(hidden=8)")
    recurrence = lines.recurrence
    monkeypatch.setattr(lines, "recurrence", lambda *given: 0.5 * recurrence(*given))
    found = Ours(path=path).explain(model, batch, reading).certificate
    some = batch.mask.any(-1)
    assert torch.all(found["complete"][some] == 0)
    assert torch.all(found["completeness_gap"][some] > 0.01 * found["difference"][some].abs())


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_how_much_goes_into_one_pass_changes_nothing(encoder):
    model, batch, reading = made(encoder, 3)
    expected = Ours(n_steps=11, most_steps=1).scores(model, batch, reading)
    for size in (1, 7, 60, 10_000):
        explainer = Ours(n_steps=11, most_steps=1, internal_batch_size=size)
        assert torch.allclose(explainer.scores(model, batch, reading), expected, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_a_line_reads_as_its_points_do(encoder, classes):
    model, batch, reading = made(encoder, classes)
    generator = torch.Generator().manual_seed(0)
    start, direction = torch.randn(2, *reading.embeddings.shape, generator=generator)
    rows = torch.tensor([3, 0, 0, 7, 11])
    at = torch.rand(5, 4, generator=generator)
    weight = torch.rand(5, 4, generator=generator)
    for held in (None, reading.weights):
        fast, slow = (line_through(subject, batch, start, direction, held) for subject in (model, Plain(model)))
        assert type(fast) is not type(slow)
        assert torch.allclose(fast.logits(rows, at), slow.logits(rows, at), atol=1e-5)
        for line_fast, line_slow in zip(
            fast.scores(rows, at, weight, lambda logits: logits[..., 1].tanh()),
            slow.scores(rows, at, weight, lambda logits: logits[..., 1].tanh()),
            strict=True,
        ):
            assert torch.allclose(line_fast, line_slow, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=8))
def test_rules_of_quadrature_are_exact_for_polynomials(coefficients):
    def integral(rule):
        points, weights = rule
        return sum(w * sum(c * x**i for i, c in enumerate(coefficients)) for x, w in zip(points, weights, strict=True))

    exact = sum(c / (i + 1) for i, c in enumerate(coefficients))
    assert integral(LOBATTO) == pytest.approx(exact, abs=1e-12)
    assert integral(quadrature("gausslegendre", 4)) == pytest.approx(exact, abs=1e-12)
    for rule in RULES:
        assert sum(quadrature(rule, 7)[1]) == pytest.approx(1)


def test_the_registered_explainer_has_captums_defaults():
    assert EXPLAINERS.parse("integrated_gradients") == Ours(n_steps=50, method="gausslegendre", baselines="zero")
