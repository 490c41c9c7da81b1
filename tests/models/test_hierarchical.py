from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import made_up_split, whole
from tests.support.hierarchy import ENCODER_TEXTS, embedded, hierarchical, sentence_by_sentence, texts
from torch import nn

from attentest.data.batches import Batch, Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers.certificates import delete_literally
from attentest.models.architecture import Architecture
from attentest.models.networks.hierarchical import Hierarchical
from attentest.models.networks.signals import Absorber, Difference, Relevance
from attentest.training.checkpoints import load_network, save_network

SITES = ("sentence", "word")


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("attention", ["additive", "dot", "uniform"])
def test_all_sentences_at_once_equal_a_loop_over_texts_and_sentences(encoder, attention):
    split = texts()
    model, encoded = hierarchical(split, encoder, attention)
    with torch.no_grad():
        sentences, words = (model.at(site).read(whole(encoded)) for site in SITES)
        for row in range(len(split)):
            logits, within, weights = sentence_by_sentence(model, embedded(model, encoded, split, row))
            assert torch.allclose(sentences.logits[row], logits, atol=1e-5)
            assert torch.allclose(words.logits[row], logits, atol=1e-5)
            assert torch.allclose(sentences.weights[row, sentences.mask[row]], weights, atol=1e-5)
            expected = torch.cat([share * own for share, own in zip(weights, within, strict=True)])
            assert torch.allclose(words.weights[row, words.mask[row]], expected, atol=1e-5)


def test_the_dense_gru_pair_is_torchs_own_on_every_sentence():
    split = texts()
    model, encoded = hierarchical(split)
    reference = nn.GRU(6, 4, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, value in model.word_encoder.rightward.named_parameters():
            getattr(reference, name).copy_(value)
        for name, value in model.word_encoder.leftward.named_parameters():
            getattr(reference, f"{name}_reverse").copy_(value)
        reading = model.at("word").read(whole(encoded))
        for row in range(len(split)):
            expected = [reference(words[None])[0][0] for words in embedded(model, encoded, split, row)]
            assert torch.allclose(reading.states[row, reading.mask[row]], torch.cat(expected), atol=1e-6)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("classes", [2, 3])
def test_own_weights_put_back_reproduce_the_output(site, encoder, classes):
    split = texts(classes=classes)
    model, encoded = hierarchical(split, encoder, classes=classes)
    with torch.no_grad():
        reading = model.at(site).read(whole(encoded))
        for weights in (reading.weights, reading.weights.double()):
            assert torch.allclose(reading.reread(weights[:, None])[:, 0].float(), reading.logits, atol=1e-5)
    assert torch.allclose(reading.weights.sum(-1), torch.ones(len(split)), atol=1e-6)
    assert torch.all(reading.weights[~reading.mask] == 0)


def test_own_weights_of_a_sentence_that_weighs_nothing_are_put_back_too():
    split = texts()
    model, encoded = hierarchical(split)
    with torch.no_grad():
        model.attention.vector.weight.mul_(1e4)
        reading = model.at("word").read(whole(encoded))
        assert (model.read(whole(encoded)).weights[:, 1:].amin() == 0).item()
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-5)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_other_weights_of_words_are_normalised_within_sentences_and_the_rest_is_computed_anew(encoder):
    split = texts()
    model, encoded = hierarchical(split, encoder)
    with torch.no_grad():
        reading = model.at("word").read(whole(encoded))
        given = torch.rand(len(split), 4, reading.mask.shape[1]) * reading.mask[:, None]
        given[:, 1] = torch.where(reading.mask, (reading.mask.cumsum(-1) == 1).float(), 0.0)
        found = reading.reread(given)
        for row, sizes in enumerate(split.table["sentences"].to_pylist()):
            for k in range(4):
                parts = given[row, k, reading.mask[row]].split(sizes)
                states = reading.states[row, reading.mask[row]].split(sizes)
                vectors = [
                    (w[:, None] * s).sum(0) / w.sum() if w.sum() > 0 else torch.zeros_like(s[0])
                    for w, s in zip(parts, states, strict=True)
                ]
                above = model.encoder(torch.stack(vectors)[None], torch.tensor([len(sizes)]))
                alpha = model.attention(above, torch.ones(1, len(sizes), dtype=torch.bool))
                expected = model.head((alpha[0, :, None] * above[0]).sum(0))
                assert torch.allclose(found[row, k], expected, atol=1e-5)


@pytest.mark.parametrize("site", SITES)
def test_random_weights_are_a_text_s_own_at_words_and_sentences(site):
    split = texts(count=20, longest=14)
    model, encoded = hierarchical(split, attention="random")
    model.eval()
    with torch.no_grad():
        together = model.at(site).read(whole(encoded))
        assert torch.allclose(together.reread(together.weights[:, None])[:, 0], together.logits, atol=1e-5)
        for row in range(len(split)):
            alone = model.at(site).read(encoded.batch(np.array([row])))
            assert torch.allclose(together.weights[row, : alone.weights.shape[1]], alone.weights[0], atol=1e-6)
            assert torch.allclose(together.logits[row], alone.logits[0], atol=1e-5)
    inside = together.weights[together.mask]
    assert len(inside.unique()) > 0.9 * (together.mask.sum(-1) > 1).sum()
    model.train()
    with torch.no_grad():
        first, second = (model.at(site).read(whole(encoded)).weights for _ in range(2))
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_a_reading_does_not_depend_on_the_batch_around_it(site, encoder):
    split = texts(count=20, longest=14)
    model, encoded = hierarchical(split, encoder)
    with torch.no_grad():
        together = model.at(site).read(whole(encoded))
        for row in range(len(split)):
            alone = model.at(site).read(encoded.batch(np.array([row])))
            assert torch.allclose(together.weights[row, : alone.weights.shape[1]], alone.weights[0], atol=1e-6)
            assert torch.allclose(together.logits[row], alone.logits[0], atol=1e-5)


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("attention", ["additive", "uniform"])
def test_deleting_each_item_equals_reading_every_shortened_text(site, encoder, attention):
    split = texts()
    model, encoded = hierarchical(split, encoder, attention)
    subject, batch = model.at(site), whole(encoded)
    with torch.no_grad():
        fast, mask = subject.delete_each(batch).double(), subject.read(batch).mask
        for row in range(len(split)):
            slow = delete_literally(subject, batch, row)
            there = mask[row, : len(slow)]
            assert torch.allclose(fast[row, : len(slow)][there], slow[there], atol=1e-5)


@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
@pytest.mark.parametrize("attention", ["additive", "uniform"])
def test_a_replay_has_the_values_of_the_network(encoder, attention):
    model, encoded = hierarchical(texts(), encoder, attention)
    model, batch = model.double(), whole(encoded)
    x = model.embed(batch).detach()
    reference, leaves = torch.randn_like(x), torch.ones(len(batch), dtype=torch.float64)
    with torch.no_grad():
        expected, other = model.read(batch).logits, model.read(batch, embeddings=reference).logits
        for absorbs in (True, False):
            relevance = model.replay(batch, Relevance(x, Absorber(0.01, absorbs, leaves, leaves)))
            assert torch.allclose(relevance.replayed, expected, atol=1e-9)
        replayed = model.replay(batch, Difference(reference, x - reference))
    assert torch.allclose(replayed.reference, other, atol=1e-9)
    assert torch.allclose(replayed.reference + replayed.difference, expected, atol=1e-9)


@pytest.mark.parametrize("site", SITES)
def test_gradients_reach_the_states_that_are_weighed_and_the_embeddings(site):
    model, encoded = hierarchical(texts())
    reading = model.at(site).read(whole(encoded), detach_attention=True)
    states, embeddings = torch.autograd.grad(reading.logits.sum(), (reading.states, reading.embeddings))
    assert torch.all(states[~reading.mask] == 0)
    assert states[reading.mask].abs().sum() > 0
    assert embeddings.abs().sum() > 0


def test_positions_and_items_can_be_told_from_each_other():
    split = texts()
    model, encoded = hierarchical(split)
    reading = model.read(whole(encoded))
    scores = torch.rand(len(split), 2, reading.groups.shape[1])
    pooled = reading.pooled(scores)
    for row, sizes in enumerate(split.table["sentences"].to_pylist()):
        parts = scores[row, :, 1 : 1 + sum(sizes)].split(sizes, dim=-1)
        assert torch.allclose(pooled[row, :, : len(sizes)], torch.stack([part.sum(-1) for part in parts], dim=-1))
        assert torch.all(pooled[row, :, len(sizes) :] == 0)
        spread = reading.spread(pooled)[row, :, 1 : 1 + sum(sizes)]
        again = pooled[row, :, : len(sizes)].repeat_interleave(torch.tensor(sizes), dim=-1)
        assert torch.equal(spread, again)
    assert torch.equal(reading.pooled(reading.weights), reading.weights)
    assert torch.equal(reading.spread(scores), scores)


def test_one_very_long_sentence_does_not_widen_the_others():
    split = Split.of(
        [str(i) for i in range(9)],
        [["word"] * 400, *[["word"] * 20] * 8],
        [0] * 9,
        sentences=[[400], *[[5] * 4] * 8],
    )
    rows = whole(Encoded.of(split, Vocabulary.from_split(split))).text.sentences.rows
    padded = sum((part.stop - part.start) * width for part, width in rows.groups())
    assert padded == 400 + 8 * 20
    assert max(part.stop - part.start for part, _ in rows.groups(cells=20)) == 4


def test_a_flat_model_reads_texts_that_are_cut_into_sentences_as_it_reads_any():
    split = texts()
    model, encoded = hierarchical(split, structure="flat")
    plain = Encoded.of(Split(split.table.drop_columns(["sentences"])), Vocabulary.from_split(split))
    assert model.sites == ("word",)
    assert model.at("") is model.at("word") is model
    assert torch.equal(model.read(whole(encoded)).logits, model.read(whole(plain)).logits)


def test_texts_that_are_not_cut_are_refused_in_one_line():
    split = made_up_split()
    model, encoded = hierarchical(split)
    with pytest.raises(InputError, match="not cut into any"):
        model.read(whole(encoded))


def test_an_unknown_site_and_an_unknown_structure_are_named():
    model, _ = hierarchical(texts())
    with pytest.raises(InputError, match="attends to sentence, word"):
        model.at("document")
    with pytest.raises(InputError, match="flat, hierarchical"):
        Architecture(structure="tree")


def test_parts_are_drawn_anew_from_the_head_down():
    model, encoded = hierarchical(texts())
    assert model.parts == ("head", "attention", "encoder", "word_attention", "word_encoder", "embedding")
    assert hierarchical(texts(), "none", "uniform")[0].parts == ("head", "embedding")
    twin = model.randomised(("word_encoder",), 3)
    assert isinstance(twin, Hierarchical)
    assert twin.encoder is model.encoder
    assert not torch.allclose(twin.read(whole(encoded)).logits, model.read(whole(encoded)).logits)
    words = model.at("word").randomised(("word_encoder",), 3).read(whole(encoded))
    assert torch.allclose(words.logits, twin.read(whole(encoded)).logits, atol=1e-6)


def test_a_checkpoint_gives_the_same_model_back(tmp_path):
    model, encoded = hierarchical(texts())
    save_network(tmp_path / "model.safetensors", model, model.architecture)
    again, architecture = load_network(tmp_path / "model.safetensors", torch.device("cpu"))
    assert architecture == model.architecture
    assert torch.equal(again.read(whole(encoded)).logits, model.read(whole(encoded)).logits)


def test_a_batch_moves_slices_and_narrows_with_its_sentences():
    split = texts()
    model, encoded = hierarchical(split)
    batch = whole(encoded)
    expected = model.read(batch).logits
    parts: list[Batch] = [batch[:4].to(torch.device("cpu")), batch[torch.arange(4, len(split))]]
    parts[0] = parts[0].narrowed(int(parts[0].text.lengths.max()))
    found = torch.cat([model.read(part).logits for part in parts])
    assert torch.allclose(found, expected, atol=1e-6)
