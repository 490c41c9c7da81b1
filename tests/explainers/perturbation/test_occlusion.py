from __future__ import annotations

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation
from tests.conftest import classifier, made_up_split, whole
from tests.explainers.small_models import ENCODER_TEXTS, Plain, arguments, made, margins, targets

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import margin
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.shared_work.substitution import replace_each, replaceable


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("baselines", ["zero", "mean", "mask"])
def test_occlusion_equals_captums_feature_ablation_for_any_class(encoder, classes, baselines):
    model, batch, reading = made(encoder, classes)
    embeddings, start, rows = arguments(model, batch, baselines)
    positions = torch.arange(embeddings.shape[1])[None, :, None].expand_as(embeddings)
    for target in targets(reading, classes):
        output = margins(model, batch, reading.predicted if target is None else target)
        with torch.no_grad():
            theirs = FeatureAblation(output).attribute(
                embeddings, start, additional_forward_args=(rows,), feature_mask=positions
            )
        for subject in (model, Plain(model)):
            ours = EXPLAINERS.parse(f"occlusion(baselines={baselines!r})").scores(subject, batch, reading, target)
            assert torch.allclose(ours.float(), theirs[..., 0] * batch.mask, atol=1e-5)


@pytest.mark.parametrize("attention", [name for name in ATTENTIONS if name != "random"])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_replacing_each_token_with_shared_work_equals_reading_each_replaced_text(encoder, attention):
    split = made_up_split(low=1)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10), split)
    batch = whole(encoded)
    assert replaceable(model)
    instead = torch.randn(10, generator=torch.Generator().manual_seed(0))
    found = replace_each(model, batch, instead)
    for t in range(batch.mask.shape[1]):
        embeddings = model.embed(batch).detach().clone()
        embeddings[:, t] = instead
        with torch.no_grad():
            expected = model.read(batch, embeddings=embeddings).logits
        here = batch.mask[:, t]
        assert torch.allclose(found[here, t], expected[here], atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["margin", "probability"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_deletion_equals_a_loop_that_deletes_and_encodes_again(encoder, classes, output):
    split = made_up_split(low=2)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), embedding=10), split, classes)
    batch, vocabulary = whole(encoded), Vocabulary.from_split(split)
    with torch.no_grad():
        reading = model.read(batch)
    for target in (reading.predicted, (reading.predicted + 1) % classes):
        ours = EXPLAINERS.parse(f"deletion(output={output!r})").scores(model, batch, reading, target)
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            for t in range(len(text)):
                shorter = Split.of(["x"], [text[:t] + text[t + 1 :]], [0])
                with torch.no_grad():
                    other = model.read(Encoded.of(shorter, vocabulary).batch(np.array([0])))
                ends = torch.stack([reading.logits[row], other.logits[0]]).double()
                own = target[row].expand(2)
                values = margin(ends, own) if output == "margin" else ends.softmax(-1)[:, own[0]]
                assert float(ours[row, t + 1]) == pytest.approx(float(values[0] - values[1]), abs=1e-5)


def test_for_one_sigmoid_deletion_of_the_probability_is_leave_one_out_with_its_sign():
    model, batch, reading = made("bilstm(hidden=8)")
    signed = EXPLAINERS.parse("deletion(output='probability')").scores(model, batch, reading)
    assert torch.allclose(signed.abs(), EXPLAINERS.parse("leave_one_out").scores(model, batch, reading), atol=1e-6)
    assert (signed < 0).any()
    assert (signed > 0).any()


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_occlusion_does_not_depend_on_how_many_texts_go_together(encoder, monkeypatch):
    model, batch, reading = made(encoder)
    together = EXPLAINERS.parse("occlusion").scores(model, batch, reading)
    monkeypatch.setattr("attentest.explainers.perturbation.one_by_one.POSITIONS", 1)
    alone = EXPLAINERS.parse("occlusion").scores(model, batch, reading)
    assert torch.allclose(together, alone, atol=1e-6)
