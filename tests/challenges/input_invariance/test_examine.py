from __future__ import annotations

import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.challenges.challenge import Examination
from attentest.challenges.input_invariance.examine import InputInvariance
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.wrappers.shifted import shifted as shifted_by

ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")


def made(encoder: str, classes: int = 2):
    split = made_up_split(low=1)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), embedding=10), split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    return model, batch, reading, split.table["tokens"].combine_chunks()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_the_shifted_model_is_the_same_function_also_at_the_borders(encoder, classes):
    model, batch, reading, _ = made(encoder, classes)
    shifted = shifted_by(model, torch.linspace(-2, 2, 10))
    with torch.no_grad():
        other = shifted.read(batch)
        assert torch.allclose(other.logits, reading.logits, atol=1e-5)
        assert torch.allclose(other.weights, reading.weights, atol=1e-6)
        assert torch.equal(shifted.delete_each(batch), model.delete_each(batch))
        assert torch.allclose(other.embeddings - shifted.shift, model.embed(batch), atol=1e-6)


@pytest.mark.parametrize("encoder", ["bilstm(hidden=8)", "average(hidden=8)"])
def test_taking_the_shift_back_is_what_a_changed_bias_would_do(encoder):
    """The paper's form: the first layer's bias becomes b − Wm."""
    model, batch, _, _ = made(encoder)
    shift = torch.linspace(-1, 1, 10)
    twin, _, _, _ = made(encoder)
    with torch.no_grad():
        twin.embedding.weight += shift
        if encoder.startswith("bilstm"):
            for lstm in (twin.encoder.rightward, twin.encoder.leftward):
                lstm.bias_ih_l0 -= lstm.weight_ih_l0 @ shift
        else:
            twin.encoder.linear.bias -= twin.encoder.linear.weight @ shift
        folded, ours = twin.read(batch), shifted_by(model, shift).read(batch)
    assert torch.allclose(folded.logits, ours.logits, atol=1e-5)
    for explainer in ("gradient", "lrp", "deep_lift"):
        method = EXPLAINERS.parse(explainer)
        theirs = method.scores(twin, batch, folded).double()
        mine = method.scores(shifted_by(model, shift), batch, ours).double()
        assert torch.allclose(theirs, mine, atol=0.02 * float(theirs.abs().max())), explainer


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_attention_and_deletion_know_of_no_origin_and_products_with_the_input_do(encoder):
    model, batch, reading, tokens = made(encoder)
    challenge = InputInvariance(("attention", "leave_one_out", "gradient"))
    with torch.no_grad():
        table = challenge.examine(Examination(model, batch, reading, 0, tokens))
    found: dict[str, list] = {}
    for row in table.to_pylist():
        assert row["output_change"] < 1e-4
        assert (row["not_judged"] == "fewer than two tokens") == (int(batch.mask[row["row"]].sum()) < 2)
        if row["not_judged"] is None:
            found.setdefault(row["explainer"], []).append(row)
    for explainer in ("attention", "leave_one_out"):
        # A word that occurs twice has two equal scores, until they are rounded.
        assert all(row["invariant"] and row["spearman"] > 0.9 for row in found[explainer])
        assert not any(row["top_changed"] for row in found[explainer])
    changed = [row for row in found["gradient"] if not row["invariant"]]
    assert len(changed) > len(found["gradient"]) / 2
    assert all(row["largest_change"] > 0.01 for row in changed)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"shift": 0.0}, "other than 0"),
        ({"explainers": ()}, "at least one"),
        ({"tolerance": 0.0}, "above 0"),
        ({"explainers": ("precomputed(file='theirs.parquet')",)}, "looks at no model"),
        ({"explainers": ("oracle",)}, "looks at no model"),
    ],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        InputInvariance(**given)
