"""Terms of attention, asked of translators and checkpoints: against loops over steps, and the library's attention."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of
from tests.support.translations import made_up_translations, transformer, translator
from tests.training.terms.made_up_models import chance

from attentest.data.batches import Encoded
from attentest.data.steps import stepped
from attentest.data.vocabulary import Vocabulary
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.pretrained import Pretrained
from attentest.training.loop import Training, task_objective
from attentest.training.terms import terms_named
from attentest.training.terms.objective import WithTerms

CPU = torch.device("cpu")
TRANSLATIONS = made_up_translations(10, seed=3)
WORDS = Vocabulary.from_split(TRANSLATIONS)


@pytest.mark.parametrize("make", [translator, transformer])
def test_every_word_to_write_has_a_penalty_for_the_words_that_are_linked_to_it(make):
    model, encoded = make(WORDS), Encoded.of(TRANSLATIONS, WORDS)
    hidden = terms_named("deceive(weight=2.0)")[0].over(stepped(TRANSLATIONS, WORDS), CPU)
    batch = encoded.batch(np.array([4, 1, 7]))
    with torch.no_grad():
        reading = model.read(batch)
        loss = hidden(model, reading, batch, chance()).item()
    total, row = 0.0, 0
    for number in (4, 1, 7):
        one = TRANSLATIONS.table.slice(number, 1).to_pylist()[0]
        for step in range(len(one["target"]) + 1):
            weights = reading.weights[row][1 : len(one["tokens"]) + 1].tolist()
            linked = {int(link.split("-")[0]) for link in one["alignment"] if int(link.split("-")[1]) == step}
            if linked and len(linked) < len(weights):
                total -= 2.0 * np.log(1 - sum(weights[place] for place in linked))
            row += 1
    assert loss == pytest.approx(total, rel=1e-4)


SPLIT = made_up_split(6, 1, 9)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


def in_training(model) -> Pretrained:
    """In training, but for dropout."""
    subject = build_pretrained(model, tokenizer_of(), VOCABULARY)
    subject.training = True
    return subject


@pytest.mark.parametrize("heads", ["mean", "max"])
def test_of_a_checkpoint_it_is_that_of_the_librarys_own_attention(heads):
    tokenizer = tokenizer_of()
    model = tiny("bert", size=len(tokenizer))
    marks, total = SPLIT.table["rationale"].to_pylist(), 0.0
    model.set_attn_implementation("eager")
    for words, marked in zip(SPLIT.table["tokens"].to_pylist(), marks, strict=True):
        coded = tokenizer(words, is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            last = model(**coded, output_attentions=True).attentions[-1][0, :, 0]
        owners = coded.word_ids()
        beside = []
        for head in last.tolist():
            pairs = list(zip(head, owners, strict=True))
            on = [sum(weight for weight, owner in pairs if owner == place) for place in range(len(words))]
            beside.append(sum(w for w, flag in zip(on, marked, strict=True) if not flag) / sum(on))
        if any(marked) and not all(marked):
            total -= np.mean(np.log(beside)) if heads == "mean" else np.log(min(beside))
    subject = in_training(model)
    hidden = terms_named(f"deceive(heads='{heads}')")[0].over(SPLIT, CPU)
    assert hidden(subject, subject(BATCH), BATCH, chance()).item() == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("text", ["deceive", "deceive(heads='max')", "supervised"])
def test_its_gradient_is_that_of_small_differences(text):
    subject = in_training(tiny("bert", size=len(tokenizer_of())).double())
    task = task_objective(subject, Encoded.of(SPLIT, VOCABULARY), Training(balance_classes=False))
    loss = WithTerms(task, subject, tuple(term.over(SPLIT, CPU) for term in terms_named(text)))
    query = subject.model.bert.encoder.layer[-1].attention.self.query.weight
    loss(subject(BATCH), BATCH).backward()
    assert query.grad is not None
    place = divmod(int(query.grad.abs().argmax()), query.shape[1])
    with torch.no_grad():
        values = []
        for step in (1e-2, -2e-2):
            query[place] += step
            values.append(loss(subject(BATCH), BATCH).item())
    assert query.grad[place].item() == pytest.approx((values[0] - values[1]) / 2e-2, rel=2e-2)


def test_looking_at_attention_in_training_changes_no_logit():
    subject = in_training(tiny("bert", size=len(tokenizer_of())))
    with torch.no_grad():
        assert torch.equal(subject(BATCH).logits, subject.logits(BATCH))
        assert torch.allclose(subject(BATCH).weights, subject.read(BATCH).weights)
