from __future__ import annotations

import pyarrow as pa
import pytest
import torch
from captum.attr import InputXGradient, Saliency
from tests.explainers.small_models import ENCODER_TEXTS, OF_ANY_MODEL, Plain, arguments, made, margins, targets

from attentest.challenges.challenge import Examination
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.measures.rank import kendall
from attentest.models.copies import copies
from attentest.models.subject import DecodedReading


def asked(name: str):
    """Fewer samples than by default where that is what takes time."""
    fewer = {"captum": "captum(n_samples=40)", "smooth_grad": "smooth_grad(nt_samples=5)"}
    return EXPLAINERS.parse(fewer.get(name, name))


@pytest.mark.parametrize("path", ["full", "detached"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_gradient_methods_equal_captums_for_any_class(encoder, classes, path):
    model, batch, reading = made(encoder, classes)
    for target in targets(reading, classes):
        wanted = reading.predicted if target is None else target
        output = margins(model, batch, wanted, detach_attention=path == "detached")
        embeddings, _, rows = arguments(model, batch)
        slope = Saliency(output).attribute(embeddings.requires_grad_(), additional_forward_args=(rows,), abs=False)
        product = InputXGradient(output).attribute(embeddings, additional_forward_args=(rows,)).detach()
        for text, expected in (
            ("gradient_norm(norm='l2', path='PATH')", slope.norm(dim=-1)),
            ("gradient_norm(norm='l1', path='PATH')", slope.abs().sum(-1)),
            ("gradient_norm(norm='sum', path='PATH')", slope.sum(-1)),
            ("gradient_x_input(path='PATH')", product.sum(-1)),
        ):
            ours = EXPLAINERS.parse(text.replace("PATH", path)).scores(model, batch, reading, target)
            assert torch.allclose(ours, expected * batch.mask, atol=1e-5), text


def test_gradient_is_the_absolute_value_of_gradient_times_input_on_the_detached_path():
    model, batch, reading = made("bilstm(hidden=8)")
    signed = EXPLAINERS.parse("gradient_x_input(path='detached')").scores(model, batch, reading)
    assert torch.allclose(EXPLAINERS.parse("gradient").scores(model, batch, reading), signed.abs(), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("affine", [True, False])
def test_attention_times_gradient_equals_finite_differences_of_the_rereading(classes, affine):
    model, batch, reading = made("bilstm(hidden=8)", classes)
    model = model.double()
    with torch.no_grad():
        reading = model.read(batch)
        if not affine:
            held = (reading.logits, reading.weights, reading.mask, reading.states, reading.embeddings)
            reading = DecodedReading(*held, lambda context: model.head(context).tanh())
    for target in (reading.predicted, (reading.predicted + 1) % classes):
        ours = EXPLAINERS.parse("attention_x_gradient").scores(model, batch, reading, target)
        step = 1e-6
        with torch.no_grad():
            for t in range(batch.mask.shape[1]):
                ends = []
                for sign in (1, -1):
                    weights = reading.weights.clone()
                    weights[:, t] += sign * step
                    ends.append(margin(reading.reread(weights[:, None])[:, 0], target))
                expected = reading.weights[:, t] * (ends[0] - ends[1]) / (2 * step) * batch.mask[:, t]
                assert torch.allclose(ours[:, t], expected, atol=1e-7)


def test_with_an_affine_head_attention_times_gradient_is_one_product_with_the_tokens_logits():
    model, batch, reading = made("bilstm(hidden=8)")
    ours = EXPLAINERS.parse("attention_x_gradient").scores(model, batch, reading)
    z = reading.token_logits
    sign = torch.where(reading.predicted == 1, 1.0, -1.0)[:, None]
    assert torch.allclose(ours, sign * reading.weights * (z[..., 1] - z[..., 0]), atol=1e-6)


def test_attention_times_value_norm_is_the_length_of_a_tokens_share_of_the_context():
    model, batch, reading = made("convolution(filters=4)")
    ours = EXPLAINERS.parse("attention_x_value_norm").scores(model, batch, reading)
    assert torch.allclose(ours, (reading.weights[..., None] * reading.states).norm(dim=-1), atol=1e-6)


def test_random_scores_depend_on_the_seed_and_the_text_and_agree_with_nothing():
    model, batch, reading = made("average(hidden=8)", low=8, count=40)
    first, other = (EXPLAINERS.parse(f"random(seed={seed})").scores(model, batch, reading) for seed in (0, 1))
    assert torch.equal(first, EXPLAINERS.parse("random").scores(model, batch, reading))
    assert not torch.equal(first, other)
    attention = reading.weights.double()
    for scores in (other, attention):
        assert abs(float(torch.nanmean(kendall(first, scores, batch.mask).tau))) < 0.12


@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_a_text_gets_the_same_scores_alone_and_among_longer_ones(name):
    model, batch, reading = made("bilstm(hidden=8)")
    explainer = asked(name)
    together = explainer.explain(model, batch, reading)
    for row in range(len(batch)):
        alone = copies(batch, torch.tensor([row]))
        with torch.no_grad():
            own = model.read(alone)
        found = explainer.explain(model, alone, own)
        assert torch.allclose(together.scores[row, : found.scores.shape[1]], found.scores[0], rtol=1e-4, atol=1e-5)
        for key, values in together.certificate.items():
            assert float(values[row]) == pytest.approx(float(found.certificate[key]), rel=1e-3, abs=1e-4), key


#: Scores for the other of two classes are these with the sign turned: their margin is.
TURNED = (
    "attention_x_gradient",
    "gradient_norm(norm='sum')",
    "gradient_x_input",
    "integrated_gradients",
    "smooth_grad",
    "occlusion",
    "deletion",
    "kernel_shap",
    "lime",
    "captum(method='FeatureAblation')",
    "captum(method='KernelShap')",
    "captum(method='GradientShap')",
)


@pytest.mark.parametrize("text", TURNED)
def test_what_speaks_for_one_of_two_classes_speaks_against_the_other(text):
    model, batch, reading = made("bilstm(hidden=8)")
    explainer = EXPLAINERS.parse(text)
    own = explainer.scores(model, batch, reading)
    other = explainer.scores(model, batch, reading, 1 - reading.predicted)
    assert torch.allclose(own, -other, atol=1e-5)
    assert float(own.abs().max()) > 1e-3


#: They ask for more than the seam: a network that is replayed, or one with an embedding for every word.
OF_NETWORKS = ("lrp", "deep_lift", "information_bottleneck")


@pytest.mark.parametrize("name", [name for name in OF_ANY_MODEL if name not in OF_NETWORKS])
def test_a_subject_that_is_nothing_but_the_seam_gets_the_same_scores(name):
    model, batch, reading = made("bilstm(hidden=8)", 3)
    explainer = asked(name)
    expected = explainer.scores(model, batch, reading)
    assert torch.allclose(explainer.scores(Plain(model), batch, reading), expected, atol=1e-5)


@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_scores_come_without_a_graph_and_leave_none_in_the_model(name):
    model, batch, _ = made("bilstm(hidden=8)", count=4)
    reading = model.read(batch)
    assert not asked(name).scores(model, batch, reading).requires_grad or name == "attention"
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gradient_norm(norm='l3')", "norm='l3' must be one of l2, l1, sum"),
        ("gradient_norm(path='half')", "path='half' must be 'full' or 'detached'"),
        ("gradient_x_input(path='half')", "path='half' must be 'full' or 'detached'"),
        ("integrated_gradients(baselines='noise')", "baselines='noise' must be one of zero, mean, mask"),
        ("integrated_gradients(method='simpson')", "method='simpson' must be one of gausslegendre"),
        ("integrated_gradients(n_steps=0)", "n_steps=0 must be at least 1"),
        ("smooth_grad(of='attention')", "No smoothed explainer is called 'attention'"),
        ("smooth_grad(nt_samples=0)", "nt_samples=0 must be at least 1"),
        ("smooth_grad(stdevs=-1.0)", "stdevs=-1.0 must be at least 0"),
        ("occlusion(output='logit')", r"output='logit' must be 'margin' \(log-odds\) or 'probability'"),
        ("deletion(output='logit')", "output='logit' must be"),
        ("lime(kernel_width=0.0)", "kernel_width=0.0 must be above 0"),
        ("kernel_shap(n_samples=1)", "n_samples=1 must be at least 2"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(text, words):
    with pytest.raises(Exception, match=words) as caught:
        EXPLAINERS.parse(text)
    assert "\n" not in str(caught.value)


def examination(marks: str, rationale: bool = True) -> Examination:
    model, batch, reading = made("average(hidden=8)")
    flags = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(0)) < 0.4
    tokens = pa.array([[]] * len(batch), pa.list_(pa.string()))
    return Examination(model, batch, reading, 0, tokens, flags if rationale else None, marks=marks)


def test_the_oracle_scores_the_planted_tokens():
    examined = examination("planted")
    scores = examined.scores("oracle")
    assert torch.equal(scores, (examined.rationale & examined.mask).double())


@pytest.mark.parametrize(
    ("marks", "rationale", "words"),
    [
        ("human", True, "this one's marks are human"),
        ("", True, "nobody said where this one's marks come from"),
        ("", False, "this one has no rationales"),
    ],
)
def test_without_planted_truth_the_oracle_says_so(marks, rationale, words):
    with pytest.raises(NotApplicable, match=f"needs a corpus with planted rationales, and {words}"):
        examination(marks, rationale).scores("oracle")


def test_the_oracle_cannot_be_asked_without_marks():
    model, batch, reading = made("average(hidden=8)")
    with pytest.raises(NotApplicable, match="planted rationales"):
        EXPLAINERS.parse("oracle").scores(model, batch, reading)


def test_an_unknown_baseline_is_an_input_error():
    with pytest.raises(InputError):
        EXPLAINERS.parse("occlusion(baselines='black')")
