from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from tests.training.terms.made_up_models import batch_of, chance, fitted

from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import END, UNKNOWN
from attentest.errors import InputError
from attentest.training.terms.mlm import MLM
from attentest.training.terms.objective import WithTerms


def large_batch(words: int, texts: int = 400, width: int = 60) -> Batch:
    """Many texts of many words, none of them the unknown one."""
    generator = chance(1)
    lengths = torch.randint(3, width + 1, (texts,), generator=generator)
    places = torch.arange(width)
    mask = (places > 0) & (places < lengths[:, None] - 1)
    tokens = torch.where(mask, torch.randint(END + 1, words, mask.shape, generator=generator), 0)
    rows = torch.arange(texts)
    return Batch(Sequences(tokens, lengths, mask), torch.zeros(texts, dtype=torch.long), rows, rows)


def likely(count: int, of: int, share: float) -> bool:
    return binomtest(count, of, share).pvalue > 1e-3


def test_fifteen_percent_of_real_tokens_are_chosen_and_masked_as_in_bert():
    words = 5000
    batch = large_batch(words)
    masked = MLM().masked(batch, words, chance())
    real, chosen = int(batch.mask.sum()), int(masked.chosen.sum())
    assert chosen == round(0.15 * real)
    places = masked.places[masked.chosen]
    assert len(places.unique()) == chosen
    assert batch.mask.flatten()[places].all()
    before, after = batch.text.tokens.flatten(), masked.tokens.flatten()
    assert torch.equal(before[places], masked.words[masked.chosen])
    changed = (before != after).nonzero()[:, 0]
    assert set(changed.tolist()) <= set(places.tolist())
    unknown, same = int((after[places] == UNKNOWN).sum()), int((after[places] == before[places]).sum())
    assert likely(unknown, chosen, 0.8)
    assert likely(same, chosen, 0.1 + 0.1 / (words - END - 1))
    other = after[places][(after[places] != UNKNOWN) & (after[places] != before[places])]
    assert other.min() > END
    assert other.max() < words
    assert len(other.unique()) > 0.9 * len(other) * (1 - len(other) / words)


def test_every_real_token_is_as_likely_to_be_chosen():
    model, batch = batch_of()
    counts = torch.zeros(batch.mask.numel())
    generator, draws = chance(), 3000
    for _ in range(draws):
        masked = MLM().masked(batch, model.words, generator)
        counts[masked.places[masked.chosen]] += 1
    real = batch.mask.flatten()
    assert (counts[~real] == 0).all()
    share = int(MLM().masked(batch, model.words, generator).chosen.sum()) / int(real.sum())
    assert torch.allclose(counts[real] / draws, torch.tensor(share), atol=4 * (share / draws) ** 0.5)


@pytest.mark.parametrize("per", ["token", "text"])
def test_the_loss_and_its_gradient_are_those_of_the_formula_written_out(per):
    model, batch = batch_of()
    term = MLM(weight=0.3, share=0.4, per=per)
    loss = term(model, model.read(batch), batch, chance(4))
    model.zero_grad()
    loss.backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    masked = term.masked(batch, model.words, chance(4))
    width, total, count = batch.mask.shape[1], torch.zeros(()), 0
    for place, word in zip(masked.places[masked.chosen].tolist(), masked.words[masked.chosen].tolist(), strict=True):
        row = place // width
        length = batch.text.lengths[row : row + 1]
        embedded = model.embedding(masked.tokens[row : row + 1, : int(length)])
        state = model.encoder(embedded, length)[0, place % width]
        logits = torch.stack([state @ model.embedding.weight[i] for i in range(model.words)])
        total, count = total - (logits[word] - logits.exp().sum().log()), count + 1
    written_out = 0.3 * (total if per == "text" else len(batch) * total / count)
    written_out.backward()
    assert loss.item() == pytest.approx(written_out.item(), rel=1e-5)
    assert set(found) == {name for name in dict(model.named_parameters()) if name.startswith(("embedding", "encoder"))}
    for name, parameter in model.named_parameters():
        if name in found:
            torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-5)


def test_texts_without_tokens_cost_nothing():
    model, batch = batch_of()
    empty = batch.with_text(replace(batch.text, mask=torch.zeros_like(batch.mask)))
    assert MLM()(model, model.read(batch), empty, chance()).item() == 0


def test_the_embeddings_do_not_move_and_states_learn_to_tell_the_words():
    def loss(model, encoded):
        batch = encoded.batch(np.arange(len(encoded)))
        with torch.no_grad():
            return MLM(share=0.5)(model, model.read(batch), batch, chance()).item() / len(batch)

    first, _, _ = fitted("mlm", epochs=1)
    model, encoded, _ = fitted("mlm(weight=3)", epochs=12, rate=0.02)
    assert torch.equal(first.embedding.weight, model.embedding.weight)
    assert model.embedding.weight.requires_grad
    assert loss(model, encoded) < 0.95 * loss(first, encoded)


def test_it_draws_from_the_generator_that_the_loop_seeds():
    model, batch = batch_of()
    objective = WithTerms(lambda reading, batch: reading.logits.sum() * 0, model, (MLM(),))
    losses = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        losses.append(objective(model.read(batch), batch).item())
    assert losses[0] == losses[1] != losses[2]


@pytest.mark.parametrize(("fields", "said"), [({"share": 0.0}, "share=0.0"), ({"per": "batch"}, "per='batch'")])
def test_what_makes_no_sense_is_refused(fields, said):
    with pytest.raises(InputError, match=said):
        MLM(**fields)
