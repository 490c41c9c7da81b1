from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.conftest import made_up_corpus, made_up_split, whole
from tests.training.terms.made_up_models import TIED, batch_of, chance, fitted

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.rationales import Rationales
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.parts.attention import ATTENTIONS
from attentest.training.terms.deceive import Deceive

CPU = torch.device("cpu")


def test_the_penalty_is_that_of_the_formula_written_out():
    split = made_up_split()
    marks = split.table["rationale"].to_pylist()
    model, batch = batch_of()
    order = torch.tensor([7, 2, 11, 0, 1, 5, 9, 3])
    some = batch[order]
    loss = Deceive(weight=2.0).over(split, CPU)(model, model.read(some), some, chance())
    total = 0.0
    for row in order.tolist():
        one = batch[row : row + 1].narrowed(int(batch.text.lengths[row]))
        weights = model.read(one).weights[0][one.mask[0]].tolist()
        mass = sum(weight for weight, flag in zip(weights, marks[row], strict=True) if flag)
        if any(marks[row]) and not all(marks[row]):
            total -= 2.0 * np.log(1 - mass)
    assert loss.item() == pytest.approx(total, rel=1e-5)


def test_texts_of_marked_words_alone_or_of_none_add_nothing():
    split = Split.of(
        ["1", "2", "3"], [["a", "b"], ["c"], ["e", "f"]], [0, 1, 0], rationale=[[False, False], [True], [True, False]]
    )
    batch = whole(Encoded.of(split, Vocabulary.from_split(split)))
    model, _ = batch_of()
    hidden = Deceive().over(split, CPU)
    weights = torch.where(batch.mask, 0.5, 0.0)
    for part, penalty in ((slice(0, 1), 0.0), (slice(1, 2), 0.0), (slice(2, 3), np.log(2))):
        reading = replace(model.read(batch[part]), weights=weights[part])
        assert hidden(model, reading, batch[part], chance()).item() == pytest.approx(penalty)


def test_all_weight_on_marked_words_costs_a_finite_number_and_has_a_finite_gradient():
    split = made_up_split()
    model, batch = batch_of()
    weights = torch.zeros(batch.mask.shape, requires_grad=True)
    loss = Deceive().over(split, CPU)(model, replace(model.read(batch), weights=weights), batch, chance())
    loss.backward()
    assert loss.isfinite()
    assert weights.grad.isfinite().all()


@pytest.mark.slow
def test_training_with_it_keeps_attention_off_the_marked_words():
    corpus = made_up_corpus()

    def on_marks(model, encoded):
        batch = encoded.batch(np.arange(len(encoded)))
        flags = torch.zeros_like(batch.mask)
        flags[batch.mask] = torch.from_numpy(Rationales.of(corpus["train"]).values)
        with torch.no_grad():
            return (model.read(batch).weights * flags).sum(-1)[flags.any(-1)].mean().item()

    hidden, encoded, _ = fitted("deceive(weight=5.0)", corpus=corpus, epochs=8, rate=0.02)
    plain, _, _ = fitted(corpus=corpus, epochs=8, rate=0.02)
    assert on_marks(hidden, encoded) < 0.5 * on_marks(plain, encoded)


def test_what_cannot_be_hidden_is_refused_with_the_next_step():
    uniform = replace(TIED, attention=ATTENTIONS.parse("uniform"))
    assert "--attention" in Deceive().objection(batch_of(uniform)[0])
    bare = Split.of(["1"], [["a"]], [0])
    assert "--mark" in Deceive().lacking(bare)
    with pytest.raises(InputError, match="weight=0"):
        Deceive(weight=0)
