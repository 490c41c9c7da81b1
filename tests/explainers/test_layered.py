"""Explainers that follow attention through layers, against slow twins; and challenges on layers and heads."""

from __future__ import annotations

import copy
from itertools import combinations

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.explainers.small_models import OF_TRANSFORMERS
from tests.support.pretrained import tiny, tokenizer_of

from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.explainers import EXPLAINERS
from attentest.explainers.attention.attention_flow import flows_through
from attentest.models.copies import copies
from attentest.models.huggingface.building import build_pretrained
from attentest.models.networks.classifier import Architecture

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(5, 2, 6)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


@pytest.fixture(params=["bert", "gpt2", "modernbert-mean"])
def models(request: pytest.FixtureRequest):
    """The subject, and an untouched copy of its model with the library's own attention."""
    model = tiny(request.param, size=len(TOKENIZER))
    eager = copy.deepcopy(model)
    eager.set_attn_implementation("eager")
    return build_pretrained(model, TOKENIZER, VOCABULARY), eager


def library(eager, row: int):
    """Attentions [layer, head, query, slot] of one text, the words of its slots, and its number of words."""
    words = SPLIT.table["tokens"][row].as_py()
    coded = TOKENIZER(words, is_split_into_words=True, return_tensors="pt")
    inputs = {"input_ids": coded["input_ids"], "attention_mask": coded["attention_mask"]}
    out = eager(**inputs, output_attentions=True)
    return (
        out,
        torch.stack(out.attentions)[:, 0] if not out.attentions[0].requires_grad else out.attentions,
        coded.word_ids(),
    )


def summed(row: torch.Tensor, owner: list[int | None]) -> torch.Tensor:
    count = max(o for o in owner if o is not None) + 1
    return torch.stack([row[[o == word for o in owner]].sum() for word in range(count)])


def chosen(matrix: torch.Tensor, rows: str) -> torch.Tensor:
    return matrix.mean(0) if rows == "all" else matrix[0 if rows == "first" else -1]


def scores(subject, name: str):
    with torch.no_grad():
        reading = subject.read(BATCH)
    return EXPLAINERS.parse(name).explain(subject, BATCH, reading)


def test_mean_and_rollout_are_what_the_papers_write(models) -> None:
    subject, eager = models
    mean, rolled = scores(subject, "attention_mean"), scores(subject, "rollout")
    for row in range(len(BATCH)):
        with torch.no_grad():
            _, attentions, owner = library(eager, row)
        real = BATCH.mask[row]
        wanted = summed(chosen(attentions.mean((0, 1)), subject.rows), owner)
        torch.testing.assert_close(mean.scores[row][real], wanted, atol=1e-5, rtol=1e-4)
        product = torch.eye(attentions.shape[-1])
        for layer in attentions:
            product = (0.5 * layer.mean(0) + 0.5 * torch.eye(len(product))) @ product
        wanted = summed(chosen(product, subject.rows), owner)
        torch.testing.assert_close(rolled.scores[row][real], wanted, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(rolled.certificate["on_no_word"][row], 1 - wanted.sum(), atol=1e-5, rtol=1e-4)


def test_generic_relevance_is_chefers_rule(models) -> None:
    subject, eager = models
    found = scores(subject, "generic_relevance").scores
    for row in range(len(BATCH)):
        out, attentions, owner = library(eager, row)
        logits = out.logits[0]
        best = int(logits.argmax())
        margin = logits[best] - torch.cat([logits[:best], logits[best + 1 :]]).logsumexp(0)
        slopes = torch.autograd.grad(margin, attentions)
        relevance = torch.eye(attentions[0].shape[-1])
        for weights, slope in zip(attentions, slopes, strict=True):
            relevance = relevance + (weights * slope)[0].clamp(min=0).mean(0) @ relevance
        wanted = summed(chosen(relevance.detach() - torch.eye(len(relevance)), subject.rows), owner)
        torch.testing.assert_close(found[row][BATCH.mask[row]], wanted.detach(), atol=1e-5, rtol=1e-3)


def test_flow_is_the_smallest_cut() -> None:
    """Max-flow is min-cut: every cut of a small network, one by one."""
    rng = np.random.default_rng(0)
    pipes = rng.dirichlet([0.5] * 3, size=(2, 3))
    rows = np.array([True, False, False])
    found = flows_through(pipes, rows)
    nodes = [(layer, place) for layer in range(3) for place in range(3)]
    for sink in range(3):
        ends = ((2, 0), (0, sink))
        inner = [node for node in nodes if node not in ends]
        best = min(
            sum(
                pipes[layer - 1, query, slot]
                for layer, query in above
                if layer
                for slot in range(3)
                if (layer - 1, slot) not in above
            )
            for size in range(len(inner) + 1)
            for some in combinations(inner, size)
            for above in [{ends[0], *some}]
        )
        assert abs(found[sink] - min(best, 1.0)) < 1e-6


def test_flow_of_texts_and_its_limits(models) -> None:
    subject, _ = models
    found = scores(subject, "attention_flow")
    assert (found.scores[BATCH.mask] > 0).all()
    assert (found.certificate["rounding"] < 1e-5).all()
    assert (found.certificate["rounding"] > 1e-8).all()
    with pytest.raises(InputError, match="longest=3"):
        scores(subject, "attention_flow(longest=3)")


def test_value_weighted_norms_by_the_library(models) -> None:
    """‖Σ_h α_h W_O v_h‖ with values and projection caught by hooks on the untouched copy (BERT)."""
    subject, eager = models
    place = subject.places.places[subject.site.place]
    assert place.projection
    found = scores(subject, "value_weighted_norm").scores
    assert (found[BATCH.mask] > 0).all()
    if "Bert" not in type(eager).__name__ or "Modern" in type(eager).__name__:
        return
    layer = eager.bert.encoder.layer[-1].attention
    kept = []
    layer.self.value.register_forward_hook(lambda module, given, output: kept.append(output.detach()))
    for row in range(len(BATCH)):
        with torch.no_grad():
            _, attentions, owner = library(eager, row)
        values = kept.pop()[0].unflatten(-1, (2, -1)).transpose(0, 1)
        weighted = (attentions[-1][:, 0, :, None] * values).transpose(0, 1).flatten(1) @ layer.output.dense.weight.T
        count = int(BATCH.mask[row].sum())
        wanted = torch.stack([weighted[[o == word for o in owner]].sum(0).norm() for word in range(count)])
        torch.testing.assert_close(found[row][BATCH.mask[row]], wanted.detach(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_a_text_scores_alike_whatever_stands_beside_it(name: str) -> None:
    subject = build_pretrained(tiny("bert", size=len(TOKENIZER)), TOKENIZER, VOCABULARY)
    together = scores(subject, name).scores
    for row in range(len(BATCH)):
        alone = copies(BATCH, torch.tensor([row]))
        with torch.no_grad():
            reading = subject.read(alone)
        found = EXPLAINERS.parse(name).explain(subject, alone, reading).scores[0]
        torch.testing.assert_close(found, together[row, : len(found)], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", OF_TRANSFORMERS)
def test_models_without_layers_are_refused(name: str) -> None:
    model, encoded = classifier(Architecture(embedding=5), SPLIT)
    with pytest.raises(NotApplicable, match=name):
        EXPLAINERS.parse(name).explain(model, whole(encoded), model.read(whole(encoded)))
