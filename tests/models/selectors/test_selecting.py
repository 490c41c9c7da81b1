"""The network that selects: what it reads, what it does not, and the gradient of its training."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from tests.conftest import made_up_split, whole

from attentest.data.batches import Encoded
from attentest.data.vocabulary import UNKNOWN, Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.networks.classifier import Classifier
from attentest.models.networks.selecting import Drawn, Selecting, selected
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.selectors import SELECTORS
from attentest.training.loop import Training
from attentest.training.objectives import CrossEntropy
from attentest.training.selection import Selection


def made(selector: str, encoder: str = "bilstm(hidden=4)", attention: str = "additive", split=None):
    split = split or made_up_split()
    parts = Architecture(
        ENCODERS.parse(encoder), ATTENTIONS.parse(attention), embedding=6, selector=SELECTORS.parse(selector)
    )
    vocabulary = Vocabulary.from_split(split)
    model = build_network(parts, len(vocabulary), 2, torch.Generator().manual_seed(1))
    assert isinstance(model, Selecting)
    with torch.no_grad():  # so that some words are selected, and some are not
        for name, parameter in model.selector.named_parameters():
            if "weight" in name:
                parameter.mul_(4)
            if name == "shape.bias":
                parameter.copy_(torch.tensor([-0.8, 0.8]))
        for parameter in model.head.parameters():
            parameter.mul_(6)
    return model.eval(), whole(Encoded.of(split, vocabulary))


def plain(model: Selecting) -> Classifier:
    """The predictor alone."""
    parts = replace(model.architecture, selector=None)
    twin = Classifier(parts, model.words, model.classes, torch.Generator())
    twin.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("selector.")})
    return twin.eval()


@pytest.mark.parametrize("selector", list(SELECTORS))
@pytest.mark.parametrize("encoder", ["bilstm(hidden=4)", "convolution(filters=2, widths=(1, 3))", "average(hidden=5)"])
def test_the_prediction_is_that_of_the_predictor_given_a_text_of_the_selected_words_alone(selector, encoder):
    model, batch = made(selector, encoder)
    reading, chosen = model.read(batch), selected(model.kept(batch), batch.mask)
    assert chosen.any(-1).all()
    assert not chosen[~batch.mask].any()
    predictor = plain(model)
    for row in range(len(batch)):
        one = batch[row : row + 1]
        inside = torch.arange(one.mask.shape[1]) < one.text.lengths[:, None]
        left = (chosen[row] | (inside & ~one.mask)[0]).nonzero()[:, 0]
        text = replace(
            one.text, tokens=one.text.tokens[:, left], mask=one.mask[:, left], lengths=torch.tensor([len(left)])
        )
        alone = predictor.read(one.with_text(text))
        assert torch.allclose(alone.logits, reading.logits[row : row + 1], atol=1e-6)
        assert torch.allclose(alone.weights, reading.weights[row : row + 1, left], atol=1e-6)
    assert (reading.weights[~chosen] == 0).all()
    assert torch.allclose(reading.weights.sum(-1), torch.ones(len(batch)))


@pytest.mark.parametrize("attention", ["additive", "random", "uniform"])
def test_own_weights_put_back_reproduce_the_output_and_words_not_selected_weigh_nothing(attention):
    model, batch = made("hardkuma", attention=attention)
    reading = model.read(batch)
    assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-6)
    chosen = selected(model.kept(batch), batch.mask)
    assert (~chosen & batch.mask).any()
    assert (reading.states[~chosen] == 0).all()


def test_a_text_is_selected_by_itself_whatever_it_is_padded_with():
    for selector in SELECTORS:
        model, batch = made(selector)
        kept, reading = model.kept(batch), model.read(batch)
        for row in range(len(batch)):
            one = batch[row : row + 1]
            alone = one.narrowed(int(one.text.lengths[0]))
            width = alone.mask.shape[1]
            assert torch.allclose(model.kept(alone), kept[row : row + 1, :width], atol=1e-6)
            assert torch.allclose(model.read(alone).logits, reading.logits[row : row + 1], atol=1e-6)


def test_a_word_that_is_not_selected_changes_nothing_while_the_selection_stays():
    model, batch = made("lei", "average(hidden=5)")  # this selector sees one word at a time
    reading, chosen = model.read(batch), selected(model.kept(batch), batch.mask)
    unknown = replace(batch.text, tokens=torch.where(chosen | ~batch.mask, batch.text.tokens, UNKNOWN))
    other = batch.with_text(unknown)
    same = (selected(model.kept(other), other.mask) == chosen).all(-1)
    assert same.any()
    assert torch.allclose(model.read(other).logits[same], reading.logits[same], atol=1e-6)


def test_lei_has_the_gradient_of_the_expected_loss_over_all_selections():
    split = made_up_split(count=3, low=3, high=3)
    model, batch = made("lei(share=0.3, coherence=0.7)", "bilstm(hidden=3)", split=split)
    model = model.double()
    sel = Selection(model, CrossEntropy(), Training())
    parameters = [p for p in model.parameters() if p.requires_grad]
    model.selector.baseline.fill_(0.4)  # any baseline will do
    chances, estimated = [], [torch.zeros_like(p) for p in parameters]
    exact = torch.zeros((), dtype=torch.double)
    places = batch.mask.nonzero(as_tuple=True)
    for bits in itertools.product((0.0, 1.0), repeat=3):
        drawn = torch.zeros(batch.mask.shape, dtype=torch.double)
        drawn[places] = torch.tensor(bits, dtype=torch.double).repeat(3)
        embedded = model.embed(batch)
        gates = model.selector(embedded, batch.text.lengths)
        gated = embedded * torch.where(batch.mask, drawn, 1.0)[..., None]
        said = model.under(batch, embedded, gated, drawn > 0)
        each = torch.nn.functional.cross_entropy(said.logits, batch.labels, reduction="none")
        chance = (gates.log_chance(drawn) * batch.mask).sum(-1).exp()
        exact = exact + (chance * each).sum()
        chances.append(chance.detach())
        # The estimate of one text's draw, weighted by how probable the draw is: text by text, as chances differ.
        added = (each.detach() - 0.4) * (gates.log_chance(drawn) * batch.mask).sum(-1)
        loss = (chances[-1] * (each + added)).sum()
        slopes = torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True)
        estimated = [total if part is None else total + part for total, part in zip(estimated, slopes, strict=True)]
        # What training minimises under this draw is that estimate and the two penalties, which no draw changes.
        reading = Drawn(said.logits, said.weights, said.mask, said.states, embedded, said, gates, drawn)
        p = gates.kept[places].view(3, 3)
        broken = (p[:, :-1] * (1 - p[:, 1:]) + (1 - p[:, :-1]) * p[:, 1:]).sum(-1) / 2
        excess = p.mean() - 0.3
        wanted = (each + added).sum() + 0.7 * broken.sum() + 3 * excess**2
        assert sel(reading, batch).item() == pytest.approx(wanted.item())
    assert torch.allclose(torch.stack(chances).sum(0), torch.ones(3, dtype=torch.double))
    for one, other in zip(torch.autograd.grad(exact, parameters, allow_unused=True), estimated, strict=True):
        assert torch.allclose(torch.zeros_like(other) if one is None else one, other, atol=1e-10)


def test_hardkuma_has_the_gradient_that_differences_show():
    model, batch = made("hardkuma(breaks=0.1)", "average(hidden=4)", split=made_up_split(count=4, low=3, high=6))
    model = model.double()
    sel = Selection(model, CrossEntropy(), Training())

    def loss() -> torch.Tensor:
        torch.manual_seed(5)
        return sel(model(batch), batch)

    weight = model.selector.shape.weight
    (slope,) = torch.autograd.grad(loss(), weight)
    for place in ((0, 0), (1, 2)):
        with torch.no_grad():
            values = []
            for step in (1e-6, -1e-6):
                weight[place] += step
                values.append(loss().item())
                weight[place] -= step
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(slope[place].item(), rel=1e-4, abs=1e-6)


def test_an_empty_draw_is_read_as_a_text_without_words_and_trains():
    model, batch = made("lei")
    with torch.no_grad():
        model.selector.logit.bias.fill_(-50.0)
    reading = model.train()(batch)
    assert (reading.drawn == 0).all()
    Selection(model, CrossEntropy(), Training())(reading, batch).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_pairs_sentences_and_translations_are_refused():
    for wrong in ({"structure": "hierarchical"}, {"query": "separate"}, {"query": "own"}):
        with pytest.raises(InputError, match="selects words of single texts"):
            Architecture(selector=SELECTORS.parse("lei"), **wrong)


@pytest.mark.parametrize("explainer", ["lrp", "deep_lift", "gradient_x_input", "deletion", "gradient_state"])
def test_methods_that_look_inside_score_no_word_that_is_not_read(explainer):
    model, batch = made("hardkuma", split=made_up_split(low=2))
    reading, chosen = model.read(batch), selected(model.kept(batch), batch.mask)
    found = EXPLAINERS.parse(explainer).explain(model, batch, reading)
    assert found.scores[batch.mask].isfinite().all()
    if explainer != "deletion":  # without a word the selector may select others
        assert (found.scores[~chosen] == 0).all()
        assert (found.scores[chosen] != 0).any()
