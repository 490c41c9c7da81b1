from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.conftest import made_up_corpus, made_up_split, whole
from tests.training.terms.made_up_models import TIED, batch_of, chance, fitted

from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.corpora.declared import Declared
from attentest.data.corpus import Split
from attentest.data.rationales import Rationales
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.parts.attention import ATTENTIONS
from attentest.training.terms.supervised import Supervised

CPU = torch.device("cpu")
NAMED = ["reviews", "aspects", "stories-1", "world-keyword", "planted-sst", "planted-imdb"]
NAMED += ["sst", "cad_imdb", "eraser_movies", "hatexplain", "yelp_hat"]


def test_the_loss_and_its_gradient_are_those_of_the_formula_written_out():
    split = made_up_split()
    marks = split.table["rationale"].to_pylist()
    assert any(not any(flags) for flags in marks)
    model, batch = batch_of()
    order = torch.tensor([7, 2, 11, 0, 1, 5, 9, 3])
    some = batch[order]
    loss = Supervised(weight=2.0).over(split, CPU)(model, model.read(some), some, chance())
    model.zero_grad()
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    total = torch.zeros(())
    for row in order.tolist():
        one = batch[row : row + 1].narrowed(int(batch.text.lengths[row]))
        weights = model.read(one).weights[0][one.mask[0]]
        for flag, weight in zip(marks[row], weights, strict=True):
            total = total - (weight.log() / sum(marks[row]) if flag else 0)
    (2 * total).backward()
    assert loss.item() == pytest.approx(2 * total.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-5)


def test_texts_without_a_rationale_add_nothing_whether_it_is_empty_or_missing():
    tokens, flags = [["a", "b"], ["c", "d"], ["e"]], [[False, False], None, [True]]
    split = Split.of(["1", "2", "3"], tokens, [0, 1, 0], rationale=flags)
    batch = whole(Encoded.of(split, Vocabulary.from_split(split)))
    model, _ = batch_of()
    taught = Supervised().over(split, CPU)
    for part, nothing in ((slice(0, 2), True), (slice(0, 3), False)):
        weights = torch.where(batch.mask, 0.25, 0.0)[part]
        reading = replace(model.read(batch[part]), weights=weights)
        assert (taught(model, reading, batch[part], chance()).item() == 0) == nothing


def test_a_weight_of_zero_costs_a_finite_number_and_has_a_finite_gradient():
    split = made_up_split()
    model, batch = batch_of()
    weights = torch.zeros(batch.mask.shape, requires_grad=True)
    loss = Supervised().over(split, CPU)(model, replace(model.read(batch), weights=weights), batch, chance())
    loss.backward()
    assert loss.isfinite()
    assert weights.grad.isfinite().all()


def test_training_with_it_puts_attention_on_the_rationale():
    corpus = made_up_corpus()

    def on_rationale(model, encoded):
        batch = encoded.batch(np.arange(len(encoded)))
        flags = torch.zeros_like(batch.mask)
        flags[batch.mask] = torch.from_numpy(Rationales.of(corpus["train"]).values)
        with torch.no_grad():
            return (model.read(batch).weights * flags).sum(-1).mean().item()

    without, with_it = (
        on_rationale(*fitted(*terms, rate=0.02, epochs=6)[:2]) for terms in ((), ("supervised(weight=3)",))
    )
    assert with_it > 0.8 > without + 0.2


def test_texts_without_rationales_and_attention_that_learns_nothing_are_refused():
    corpus = made_up_corpus()
    bare = Split(corpus["train"].table.drop_columns("rationale"))
    assert "have no rationales" in Supervised().lacking(bare)
    none = Split.of(["1"], [["a"]], [0], rationale=[[False]])
    assert "have no rationales" in Supervised().lacking(none)
    assert Supervised().lacking(corpus["train"]) is None
    for attention in ("uniform", "random"):
        model, _ = batch_of(replace(TIED, attention=ATTENTIONS.parse(attention)))
        assert "its attention learns nothing" in Supervised().objection(model)
    assert Supervised().objection(batch_of()[0]) is None


@pytest.mark.parametrize("name", NAMED)
def test_the_corpora_that_its_words_name_have_rationales_to_train_on(name):
    about = Supervised.__doc__
    assert f"`{name.partition('-')[0]}" in about or name.startswith("world-")
    corpus = CORPORA.parse(name)
    try:
        train = corpus.load()["train"]
    except InputError as missing:
        assert isinstance(corpus, Declared) or name.startswith("planted")
        pytest.skip(str(missing))
    assert Supervised().lacking(train) is None
