"""The translator: its steps obey the seam, and its search finds what is likely."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from tests.support.translations import made_up_translations

from attentest.data.batches import Encoded
from attentest.data.vocabulary import END, PAD, START, Vocabulary
from attentest.errors import InputError
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS
from attentest.models.parts.encoders import ENCODERS
from attentest.training.checkpoints import load_network, save_network
from attentest.training.loop import Training, fit

KINDS = [
    ("bahdanau(hidden=10)", "additive"),
    ("bahdanau(hidden=12)", "uniform"),
    ("bahdanau(hidden=12)", "random"),
    ("luong(hidden=12)", "dot(scaled=False, mapped=False)"),
    ("luong(hidden=10, feeding=False)", "dot(scaled=False)"),
    ("bahdanau(hidden=10, start='zeros')", "additive"),
    ("luong(hidden=12, start='zeros')", "dot(scaled=False, mapped=False)"),
]


@pytest.mark.parametrize("name", ["bahdanau", "luong"])
def test_a_decoder_may_begin_with_nothing_of_the_text(name):
    summary = torch.ones(2, 6)
    begun = DECODERS.parse(f"{name}(hidden=4, start='zeros')").build(3, 6).begin(summary)
    assert all(not values.any() for values in begun)
    assert DECODERS.parse(f"{name}(hidden=4)").build(3, 6).begin(summary)[0].any()
    with pytest.raises(InputError, match="start='mean' must be summary or zeros"):
        DECODERS.parse(f"{name}(start='mean')")


def made(decoder, attention, count=6, dtype=torch.float32):
    split = made_up_translations(count)
    vocabulary = Vocabulary.from_split(split)
    architecture = Architecture(
        ENCODERS.parse("bigru(hidden=6)"), ATTENTIONS.parse(attention), None, 8, decoder=DECODERS.parse(decoder)
    )
    words = len(vocabulary), len(vocabulary.target)
    model = build_network(architecture, *words, torch.Generator().manual_seed(3)).eval().to(dtype)
    return model, Encoded.of(split, vocabulary)


@pytest.mark.parametrize(("decoder", "attention"), KINDS)
def test_own_weights_put_back_reproduce_the_output(decoder, attention):
    model, encoded = made(decoder, attention)
    with torch.no_grad():
        reading = model.read(encoded.batch(np.arange(6)))
        again = reading.reread(reading.weights[:, None].expand(-1, 3, -1))
    torch.testing.assert_close(again, reading.logits[:, None].expand(-1, 3, -1), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(reading.weights.sum(-1), torch.ones(len(reading.weights)))


@pytest.mark.parametrize(("decoder", "attention"), KINDS)
def test_a_step_is_the_same_alone_in_another_batch_and_with_given_embeddings(decoder, attention):
    model, encoded = made(decoder, attention)
    batch = encoded.batch(np.arange(6))
    with torch.no_grad():
        whole = model.read(batch).logits
        some = torch.tensor([3, 0, 3, 9])
        torch.testing.assert_close(model.read(batch[some]).logits, whole[some], atol=1e-6, rtol=1e-5)
        alone = encoded.batch(np.array([4]))
        torch.testing.assert_close(model.read(alone).logits, whole[torch.isin(batch.rows, alone.rows)])
        given = model.read(batch, embeddings=model.embed(batch))
    torch.testing.assert_close(given.logits, whole, atol=1e-6, rtol=1e-5)
    with torch.enable_grad():
        torch.testing.assert_close(model.read(batch).logits, whole, atol=1e-6, rtol=1e-5)


def test_later_words_do_not_matter_to_a_step():
    model, encoded = made(*KINDS[0])
    batch = encoded.batch(np.arange(6))
    words = batch.target.words.tokens.clone()
    words[:, 3:] = UNLIKE
    changed = batch.target.words.__class__(words, batch.target.words.lengths, batch.target.words.mask)
    other = batch.__class__(
        **{**batch.__dict__, "target": batch.target.__class__(**{**batch.target.__dict__, "words": changed})}
    )
    early = batch.target.step <= 2
    with torch.no_grad():
        torch.testing.assert_close(model.read(other).logits[early], model.read(batch).logits[early])


UNLIKE = 5


@pytest.mark.parametrize(("decoder", "attention"), KINDS[:1] + KINDS[3:])
def test_deleting_each_token_is_reading_the_texts_without_it(decoder, attention):
    model, encoded = made(decoder, attention)
    batch = encoded.batch(np.arange(6))
    with torch.no_grad():
        found = model.delete_each(batch)
        for row, place in ((0, 1), (7, 1), (12, 2)):
            if not batch.mask[row, place]:
                continue
            alone = batch[torch.tensor([row])]
            keep = [i for i in range(alone.text.tokens.shape[1]) if i != place]
            text = alone.text
            shorter = text.__class__(text.tokens[:, keep], text.lengths - 1, text.mask[:, keep])
            torch.testing.assert_close(found[row, place], model.read(alone.with_text(shorter)).logits[0])


def test_states_of_a_row_are_those_of_its_own_step():
    model, encoded = made("luong(hidden=12)", "dot(scaled=False, mapped=False)", dtype=torch.float64)
    batch = encoded.batch(np.arange(3))
    reading = model.read(batch)
    gradient = torch.autograd.grad(reading.logits[:, 5].sum(), reading.states)[0]
    states = reading.states.detach().requires_grad_()
    context = (reading.weights.detach()[:, None] @ states)[:, 0]
    with torch.enable_grad():
        again = torch.autograd.grad(reading.decode(context)[:, 5].sum(), states)[0]
    # The path through the weights comes on top where attention is not cut.
    cut = model.read(batch, detach_attention=True)
    torch.testing.assert_close(torch.autograd.grad(cut.logits[:, 5].sum(), cut.states)[0], again)
    assert gradient.shape == again.shape


def test_attention_asked_with_its_own_steps_gives_its_own_weights():
    for decoder, attention in KINDS:
        model, encoded = made(decoder, attention)
        batch = encoded.batch(np.arange(6))
        with torch.no_grad():
            reading = model.read(batch)
            torch.testing.assert_close(model.attend(batch, reading.states, batch), reading.weights)


def likelihood(model, batch, sentence, words):
    """The mean log-likelihood of writing these words and the end, one step at a time."""
    text = batch.target.text[torch.tensor([sentence])]
    states = model.encoder(model.embedding(text.tokens), text.lengths)
    state = model.decoder.begin(model.encoder.summary(states, text.lengths, text.mask))
    total, last = 0.0, START
    for word in (*words, END):
        query, carried = model.decoder.asking(state, model.target_embedding(torch.tensor([last])))
        weights = model.attention(states, text.mask, query)
        context = (weights[:, None] @ states)[:, 0]
        state = model.decoder.writing(carried, context)
        logits = model.head(model.decoder.said(carried, state, context))[0].double()
        logits[[PAD, START]] = -torch.inf
        total, last = total + float(logits.log_softmax(-1)[word]), word
    return total / (len(words) + 1)


@pytest.mark.slow
@torch.no_grad()
def test_a_wide_beam_finds_the_most_likely_words():
    model, encoded = made(*KINDS[0], count=4)
    model.bias[END] = 3.0  # so that short texts are the most likely ones
    batch = encoded.batch(np.arange(4))
    written = model.translate(batch.target.text, batch.target.keys, beam=400)
    words = [i for i in range(model.classes) if i not in (PAD, START, END)]
    for sentence in range(4):
        short = [(), *((a,) for a in words), *itertools.product(words, words)]
        best = max(likelihood(model, batch, sentence, some) for some in short)
        assert float(written.scores[sentence]) >= best - 1e-6
        own = written.words[sentence, : written.lengths[sentence]].tolist()
        assert math.isclose(likelihood(model, batch, sentence, own), float(written.scores[sentence]), abs_tol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize(("decoder", "attention"), KINDS)
def test_a_translation_does_not_depend_on_the_texts_beside_it(decoder, attention):
    model, encoded = made(decoder, attention)
    together = encoded.batch(np.arange(6)).target
    written = model.translate(together.text, together.keys, beam=3)
    for sentence in range(6):
        alone = encoded.batch(np.array([sentence])).target
        single = model.translate(alone.text, alone.keys, beam=3)
        length = int(single.lengths[0])
        assert length == int(written.lengths[sentence])
        assert single.words[0, :length].tolist() == written.words[sentence, :length].tolist()


@torch.no_grad()
def test_other_weights_are_put_in_their_place_at_every_step():
    model, encoded = made(*KINDS[0])
    target, uniform = encoded.batch(np.arange(6)).target, made("bahdanau(hidden=10)", "uniform")[0]
    for part in ("embedding", "encoder", "target_embedding", "decoder"):
        getattr(uniform, part).load_state_dict(getattr(model, part).state_dict())
    replaced = model.translate(
        target.text, target.keys, beam=2, weigh=lambda w, mask, keys, step: mask / mask.sum(-1, keepdim=True)
    )
    expected = uniform.translate(target.text, target.keys, beam=2)
    assert torch.equal(replaced.words, expected.words)
    with pytest.raises(InputError, match="beam=0"):
        model.translate(target.text, target.keys, beam=0)


@pytest.mark.slow
def test_the_one_loop_trains_it_and_the_same_weights_come_back_from_disk(tmp_path):
    model, encoded = made("bahdanau(hidden=10, dropout=0.1)", "additive", count=12)
    training = Training(epochs=8, batch_size=4, learning_rate=0.03, balance_classes=False, smoothing=0.1, warmup=5)
    epochs = fit(model, encoded, encoded, training, seed=0)
    assert epochs[-1].loss < 0.8 * epochs[0].loss
    assert epochs[-1].score < 0 < epochs[-1].accuracy
    again, _ = made("bahdanau(hidden=10, dropout=0.1)", "additive", count=12)
    assert [e.loss for e in fit(again, encoded, encoded, training, seed=0)] == [e.loss for e in epochs]
    save_network(tmp_path / "model.safetensors", model, model.architecture)
    loaded, _ = load_network(tmp_path / "model.safetensors", torch.device("cpu"))
    batch = encoded.batch(np.arange(12))
    with torch.no_grad():
        assert torch.equal(loaded.read(batch).logits, model.read(batch).logits)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("bahdanau(hidden=0)", "hidden=0 must be at least 1"),
        ("luong(dropout=1.0)", "dropout=1.0 must be at least 0, and below 1"),
    ],
)
def test_impossible_decoders_are_refused(text, line):
    with pytest.raises(InputError, match=line):
        DECODERS.parse(text)


def test_a_plain_product_needs_a_query_as_long_as_the_states():
    with pytest.raises(InputError, match="a state 12"):
        made("luong(hidden=10)", "dot(scaled=False, mapped=False)")
