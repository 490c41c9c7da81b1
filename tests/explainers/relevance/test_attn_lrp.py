"""AttnLRP through whole models: conservation, a literal twin, and what it leaves as it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from tests.conftest import WORDS, made_up_split, whole
from tests.support.pretrained import FAMILIES, LANGUAGE, tiny, tokenizer_of
from torch import Tensor, nn

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, NotApplicable
from attentest.explainers.explainer import Attribution
from attentest.explainers.relevance.attn_lrp import AttnLRP
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.pretrained import Pretrained

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(5, 2, 6)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))
#: Constants of a model, which keep their share of the relevance: biases, and embeddings of positions and types.
CONSTANTS = ("bias", "position_embeddings", "token_type_embeddings", "wpe", "embed_positions")


def moved(family: str, **about: Any) -> Any:
    """A small model in double precision whose biases and factors of norms are not the first ones, 0 and 1."""
    model = tiny(family, size=len(TOKENIZER), **about).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for value in model.parameters():
            if value.ndim == 1:
                value.add_(torch.randn(value.shape, generator=generator) / 10)
    return model


def subject_of(model: Any) -> Pretrained:
    return build_pretrained(model, TOKENIZER, VOCABULARY)


def explained(subject: Pretrained, batch: Batch = BATCH, output: str = "logit") -> tuple[Attribution, Tensor]:
    with torch.no_grad():
        reading = subject.read(batch)
    return AttnLRP(output).explain(subject, batch, reading), reading.logits


def shares(found: Attribution, *names: str) -> Tensor:
    return torch.stack([found.certificate[name] for name in names]).sum(0)


@pytest.mark.slow
@pytest.mark.parametrize("family", [*FAMILIES, *LANGUAGE])
def test_shares_of_words_frame_positions_and_biases_add_up_to_the_logit(family: str) -> None:
    found, logits = explained(subject_of(moved(family)))
    best = logits.max(-1).values.double()
    every = found.scores.sum(-1) / best + shares(found, "symbols", "positions", "bias", "softmax")
    torch.testing.assert_close(every, torch.ones_like(every), atol=1e-4, rtol=0)
    assert found.certificate["conservation_gap"].max() < 1e-5  # Llama's norms compute in single precision


@pytest.mark.parametrize("family", FAMILIES)
def test_without_constants_words_and_frame_have_all_but_what_the_softmax_keeps(family: str) -> None:
    model = moved(family)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if any(constant in name for constant in CONSTANTS):
                value.zero_()
    found, logits = explained(subject_of(model))
    best = logits.max(-1).values.double()
    assert best.abs().min() > 1e-6
    every = found.scores.sum(-1) / best + shares(found, "symbols", "softmax")
    torch.testing.assert_close(every, torch.ones_like(every), atol=1e-4, rtol=0)
    assert shares(found, "positions", "bias").abs().max() < 1e-9


def test_a_whole_bert_by_hand() -> None:
    """Relevance itself, handed back step by step as the paper writes it; no gradients, one text at a time."""
    model = moved("bert")
    eager = copy.deepcopy(model)
    found, logits = explained(subject_of(model))
    for row in range(len(BATCH)):
        words = SPLIT.table["tokens"][row].as_py()
        coded = TOKENIZER(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            relevance = by_hand(eager, coded["input_ids"], int(logits[row].argmax()))
        owner = coded.word_ids()
        wanted = torch.stack([relevance[[o == word for o in owner]].sum() for word in range(len(words))])
        torch.testing.assert_close(found.scores[row][BATCH.mask[row]], wanted)


def by_hand(model: Any, ids: Tensor, target: int) -> Tensor:
    """The relevance of every piece."""
    bert, heads = model.bert, model.config.num_attention_heads
    told = bert.embeddings
    pieces = told.word_embeddings(ids)[0]
    stack = [pieces + told.position_embeddings.weight[: len(pieces)] + told.token_type_embeddings.weight[0]]
    hidden = told.LayerNorm(stack[0])
    for layer in bert.encoder.layer:
        own, mixed = layer.attention.self, layer.attention.output
        parts = [part(hidden).unflatten(-1, (heads, -1)).transpose(0, 1) for part in (own.query, own.key, own.value)]
        scores = parts[0] @ parts[1].transpose(1, 2) / parts[0].shape[-1] ** 0.5
        together = (scores.softmax(-1) @ parts[2]).transpose(0, 1).flatten(1)
        first = mixed.dense(together)
        middle = mixed.LayerNorm(hidden + first)
        inner = layer.intermediate.dense(middle)
        active = nn.functional.gelu(inner)
        second = layer.output.dense(active)
        stack.append((hidden, parts, scores, together, first, middle, active, second))
        hidden = layer.output.LayerNorm(middle + second)
    pooled = bert.pooler.dense(hidden[:1])
    logits = model.classifier(pooled.tanh())
    relevance = torch.zeros_like(logits)
    relevance[0, target] = logits[0, target]
    relevance = linear(pooled.tanh(), model.classifier, relevance)  # the tanh hands back what it is given
    relevance = torch.cat([linear(hidden[:1], bert.pooler.dense, relevance), torch.zeros_like(hidden[1:])])
    for layer, (given, parts, scores, together, first, middle, active, second) in zip(
        reversed(bert.encoder.layer), reversed(stack[1:]), strict=True
    ):
        relevance = norm(middle + second, layer.output.LayerNorm, relevance)
        up = relevance * second / (middle + second)
        up = linear(middle, layer.intermediate.dense, linear(active, layer.output.dense, up))  # gelu alike
        relevance = relevance * middle / (middle + second) + up
        relevance = norm(given + first, layer.attention.output.LayerNorm, relevance)
        of_first = linear(together, layer.attention.output.dense, relevance * first / (given + first))
        relevance = relevance * given / (given + first)
        query, key, value = parts
        weights = scores.softmax(-1)
        per_unit = (of_first / together).unflatten(-1, (heads, -1)).transpose(0, 1) / 2
        of_value = value * (weights.transpose(1, 2) @ per_unit)
        of_weights = weights * (per_unit @ value.transpose(1, 2))
        of_scores = scores * (of_weights - weights * of_weights.sum(-1, keepdim=True))
        per_unit = of_scores / scores / 2 / query.shape[-1] ** 0.5
        of_query, of_key = query * (per_unit @ key), key * (per_unit.transpose(1, 2) @ query)
        own = layer.attention.self
        for part, map_ in ((of_query, own.query), (of_key, own.key), (of_value, own.value)):
            relevance = relevance + linear(given, map_, part.transpose(0, 1).flatten(1))
    relevance = norm(stack[0], told.LayerNorm, relevance)
    return (relevance * pieces / stack[0]).sum(-1)


def linear(given: Tensor, layer: nn.Linear, relevance: Tensor) -> Tensor:
    """Σ_j x_i w_ji R_j / z_j."""
    return given * ((relevance / layer(given)) @ layer.weight)


def norm(given: Tensor, layer: nn.LayerNorm, relevance: Tensor) -> Tensor:
    """The same, of a map that takes off the mean and divides by a constant."""
    spread = (given.var(-1, correction=0, keepdim=True) + layer.eps).sqrt()
    per_unit = relevance / layer(given) * layer.weight / spread
    return given * (per_unit - per_unit.mean(-1, keepdim=True))


def test_of_two_classes_the_margin_is_handed_out() -> None:
    subject = subject_of(moved("bert"))
    found, logits = explained(subject, output="margin")
    margin = logits.max(-1).values - logits.min(-1).values
    every = found.scores.sum(-1) / margin + shares(found, "symbols", "positions", "bias", "softmax")
    torch.testing.assert_close(every, torch.ones_like(every), atol=1e-9, rtol=0)
    with torch.no_grad():
        reading = subject.read(BATCH)
    one, other = (AttnLRP("logit").scores(subject, BATCH, reading, torch.full((5,), label)) for label in (0, 1))
    best = logits.argmax(-1)[:, None] == 1
    torch.testing.assert_close(found.scores, torch.where(best, other - one, one - other))


@pytest.mark.parametrize("family", ["bert", "gpt2", "modernbert-mean", "llama"])
def test_ordinary_passes_stay_as_they_were(family: str) -> None:
    """Bit for bit, also in what is reread and in gradients; nothing is left in the model."""
    subject = subject_of(tiny(family, size=len(TOKENIZER)))

    def ordinary() -> list[Tensor]:
        with torch.enable_grad():
            leaf = subject.embed(BATCH).detach().requires_grad_()
            reading = subject.read(BATCH, embeddings=leaf)
            (slope,) = torch.autograd.grad(reading.logits.sum(), leaf)
        even = BATCH.mask / BATCH.mask.sum(-1, keepdim=True)
        return [reading.logits.detach(), slope, reading.reread(even[:, None]).detach()]

    before = ordinary()
    explained(subject)
    assert all(torch.equal(one, other) for one, other in zip(before, ordinary(), strict=True))
    assert all(value.grad is None for value in subject.model.parameters())


def test_long_texts_give_finite_scores() -> None:
    texts = [[WORDS[(7 * place) % len(WORDS)] for place in range(size)] for size in (1, 180)]
    split = Split.of(["short", "long"], texts, [0, 1])
    subject = build_pretrained(tiny("bert", size=len(TOKENIZER)), TOKENIZER, Vocabulary.from_split(split))
    found, _ = explained(subject, whole(Encoded.of(split, Vocabulary.from_split(split))))
    assert found.scores.isfinite().all()
    assert (found.scores != 0).sum() == 181
    assert all(values.isfinite().all() for values in found.certificate.values())


class Exponential(nn.Module):
    """A step that has no rule."""

    def forward(self, given: Tensor) -> Tensor:
        return given.exp()


class Hidden(nn.Module):
    """A step that torch is not asked for by any name: a function of its own."""

    def forward(self, given: Tensor) -> Tensor:
        return Cubed.apply(given)


class Cubed(torch.autograd.Function):
    """x³."""

    @staticmethod
    def forward(ctx: Any, given: Tensor) -> Tensor:
        ctx.save_for_backward(given)
        return given**3

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        return 3 * ctx.saved_tensors[0] ** 2 * slope


@pytest.mark.parametrize(("step", "words"), [(Exponential(), "computes with exp"), (Hidden(), "does not add up")])
def test_a_model_with_a_step_that_no_rule_covers_is_refused(step: nn.Module, words: str) -> None:
    model = moved("bert")
    model.classifier = nn.Sequential(step, model.classifier)
    subject = subject_of(model)
    assert words in str(AttnLRP().objection(subject))
    with pytest.raises(NotApplicable, match=words):
        explained(subject)


class First(nn.Module):
    """Such a step for the first text alone."""

    def forward(self, given: Tensor) -> Tensor:
        return torch.cat([Cubed.apply(given[:1]), given[1:]])


@pytest.mark.slow
def test_a_text_that_does_not_add_up_is_not_made_up_for_by_others() -> None:
    subject = subject_of(moved("bert"))
    model = subject.model
    model.classifier = nn.Sequential(First(), model.classifier)
    for rows in ([0], [0, *[1] * 4000]):
        with pytest.raises(NotApplicable, match="does not add up"):
            explained(subject, BATCH[torch.tensor(rows)])


def test_what_it_applies_to_and_takes() -> None:
    assert AttnLRP().objection(subject_of(moved("modernbert"))) is None
    with pytest.raises(InputError, match="output='loss'"):
        AttnLRP("loss")
