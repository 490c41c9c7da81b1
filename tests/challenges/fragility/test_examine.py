"""Fragility: scores against the explainers' own, slopes against finite differences, searches against brute force."""

from __future__ import annotations

import pyarrow as pa
import pytest
import torch
from scipy.stats import spearmanr
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges.challenge import Examination
from attentest.challenges.fragility.examine import Fragility
from attentest.challenges.fragility.figures import overlap_curves
from attentest.challenges.fragility.presentation import fragility_line
from attentest.challenges.fragility.search import Search, random_signs, sizes_of, top_of
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.gradient.traced import traced
from attentest.models.architecture import Architecture
from attentest.models.huggingface.building import build_pretrained
from attentest.models.parts.encoders import ENCODERS
from attentest.presentation.presentation import Results
from attentest.runs.applicable import applicable
from attentest.runs.questions import Usual
from attentest.store.findings import Findings
from attentest.store.summary import estimate

METHODS = (
    "attention",
    "gradient",
    "gradient_norm",
    "gradient_x_input",
    "integrated_gradients(n_steps=4, most_steps=1)",
)


def examination(encoder: str = "bilstm(hidden=5)", count: int = 8, classes: int = 2, low: int = 3) -> Examination:
    split = made_up_split(count, low=low, high=7)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), embedding=6), split, classes)
    batch = whole(encoded)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    with torch.no_grad():
        return Examination(model.double(), batch, model.double().read(batch), 0, tokens)


def search(examined: Examination, method: str, **given) -> Search:
    challenge = Fragility((method,), top=2, output_change=1.0, **given)
    return challenge.search_of(examined, method, examined.subject.embed(examined.batch).detach())


@pytest.mark.parametrize("encoder", ["bilstm(hidden=5)", "convolution(filters=4)"])
@pytest.mark.parametrize("method", METHODS)
def test_traced_scores_are_the_explainers_own(method, encoder):
    examined = examination(encoder, classes=3)
    own = EXPLAINERS.parse(method)
    embeddings = examined.subject.embed(examined.batch).detach().requires_grad_()
    found = traced(own, examined.subject, examined.batch, embeddings, examined.reading.predicted)
    expected = own.scores(examined.subject, examined.batch, examined.reading)
    assert torch.allclose(found.scores * examined.mask, expected * examined.mask, atol=1e-9)
    assert torch.allclose(found.logits, examined.reading.logits)


@pytest.mark.parametrize("objective", ["top", "centre"])
@pytest.mark.parametrize("method", ["attention", "gradient_norm", "gradient_x_input", METHODS[-1]])
def test_the_slope_that_is_followed_is_that_of_finite_differences(method, objective):
    one = search(examination(), method, objective=objective)
    signs = random_signs(one.batch, 6, 0).double()

    def distance(moved):
        with torch.enable_grad():
            return one.distance(one.at(moved.requires_grad_()).scores.double().abs())

    here = (0.02 * signs).requires_grad_()
    (slope,) = torch.autograd.grad(distance(here).sum(), here)
    draw = torch.Generator().manual_seed(1)
    for _ in range(3):
        way = torch.randn(here.shape, generator=draw, dtype=torch.double) * one.batch.mask[..., None]
        up, down = (distance(here.detach() + h * way).detach() for h in (1e-5, -1e-5))
        assert ((up - down) / 2e-5).tolist() == pytest.approx((slope * way).sum((1, 2)).tolist(), rel=2e-3, abs=1e-5)


@pytest.mark.parametrize("ball", ["max", "length"])
def test_a_search_moves_scores_further_than_random_changes_do_and_stays_within_its_ball(ball):
    examined = examination(count=6)
    one = search(examined, "gradient_x_input", ball=ball)
    radius = 0.3 * sizes_of(one.embeddings, one.batch.mask)
    signs = random_signs(one.batch, 6, 0).double()
    found = one.searched(radius, signs, 25)
    reached = one.distance(found.scores)
    best = torch.full_like(reached, -torch.inf)
    for draw in range(200):
        tried = one.random(radius, random_signs(one.batch, 6, draw).double())
        best = torch.maximum(best, torch.where(tried.kept, one.distance(tried.scores), best))
    assert (reached >= best - 1e-9).double().mean() > 0.8
    far = one.inside(100 * signs, radius)
    size = far.abs().amax((1, 2)) if ball == "max" else far.square().sum((1, 2)).sqrt()
    allowed = radius[:, 0, 0] if ball == "max" else radius[:, 0, 0] * (6 * one.batch.mask.sum(-1)).sqrt()
    assert size.tolist() == pytest.approx(allowed.tolist())


def test_rows_say_how_far_scores_moved_where_the_prediction_stayed():
    examined = examination(count=10, low=1)
    challenge = Fragility(("attention", "gradient_norm"), sizes=(0.05, 0.5), top=2, steps=3, output_change=0.2)
    with torch.no_grad():
        table = challenge.examine(examined)
    seen = 0
    for row in table.to_pylist():
        i, real = row["row"], examined.mask[row["row"]]
        assert (row["not_judged"] is not None) == (int(real.sum()) <= 2)
        if row["not_judged"] is not None or row["way"] == "searched":
            continue
        seen += 1
        moved = examined.subject.embed(examined.batch).detach()
        text = moved[i][real]
        signs = random_signs(examined.batch, 6, 0)[i]
        moved[i] += float(row["size"]) * text.square().mean().sqrt() * signs
        with torch.no_grad():
            reading = examined.subject.read(examined.batch, embeddings=moved)
        probabilities = [r.logits[i].double().softmax(-1) for r in (reading, examined.reading)]
        change = float((probabilities[0] - probabilities[1]).abs().sum() / 2)
        same = int(reading.predicted[i]) == int(examined.reading.predicted[i])
        assert row["output_change"] == pytest.approx(change, abs=1e-9)
        assert row["kept"] == (same and change <= 0.2)
        assert (row["spearman"] is None) == (not row["kept"])
        if row["kept"] and row["explainer"] == "attention":
            before, after = (r.weights[i][real].numpy() for r in (examined.reading, reading))
            assert row["spearman"] == pytest.approx(spearmanr(before, after).statistic)
            tops = [set(sorted(range(len(w)), key=lambda t: -w[t])[:2]) for w in (before, after)]
            assert row["overlap"] == pytest.approx(len(tops[0] & tops[1]) / 2)
    assert seen > 10
    findings = Findings("fragility", challenge.measures, table)
    line = fragility_line(findings, Results({}, {}))
    assert line.estimate == estimate(findings, "attention.searched.0.5.overlap")
    assert overlap_curves(findings).to_dict()["hconcat"]


def test_scores_do_not_depend_on_the_batch_around_a_text():
    examined = examination(count=5)
    challenge = Fragility(("gradient_x_input",), sizes=(0.1,), top=2, steps=3)
    with torch.no_grad():
        rows = challenge.examine(examined).to_pylist()
        alone = examined.some(torch.tensor([3]))
        single = challenge.examine(alone).to_pylist()
    expected = [row for row in rows if row["row"] == 3]
    for one, other in zip(expected, single, strict=True):
        assert one["output_change"] == pytest.approx(other["output_change"], abs=1e-9)
        assert one["overlap"] == other["overlap"]


def test_the_top_is_chosen_among_real_tokens():
    scores, mask = torch.tensor([[9.0, 1.0, 2.0, 2.0, 9.0]]), torch.tensor([[False, True, True, True, False]])
    assert top_of(scores, mask, 2).tolist() == [[False, False, True, True, False]]


@pytest.mark.parametrize(
    ("explainer", "said"),
    [
        ("lrp", "'fragility': 'lrp' does not apply: .* can be replayed layer by layer"),
        ("deep_lift", "'fragility': 'deep_lift' does not apply: .* can be replayed layer by layer"),
        ("attention_x_gradient", "'fragility' does not apply: attention_x_gradient is made of states"),
    ],
)
def test_what_a_checkpoint_has_no_slope_of_is_refused(explainer, said):
    tokenizer, split = tokenizer_of(), made_up_split(4)
    transformer = build_pretrained(tiny("bert", size=len(tokenizer)), tokenizer, Vocabulary.from_split(split))
    challenge = Fragility(("attention", explainer))
    with pytest.raises(NotApplicable, match=said):
        applicable([challenge], Usual(), transformer, has_rationale=False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"explainers": ("lime",)},
            "'lime' has no gradient to follow here. Name some of attention, .*smooth_grad, .*lrp",
        ),
        ({"ball": "square"}, "ball='square' must be one of max, length"),
        ({"objective": "all"}, "objective='all' must be one of top, centre"),
        ({"sizes": (0.0,)}, "must lie above 0"),
        ({"steps": 0}, "steps=0"),
    ],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        Fragility(**given)
