from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole

from attentest.data.batches import Batch, Encoded, Sequences
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers.erasure import ERASURES, Known, erased
from attentest.explainers.perturbation.one_by_one import learn_each
from attentest.measures.chance import uniforms
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.models.shared_work import same_words
from attentest.models.shared_work.same_words import distinct_words, reader_of, texts_at_once
from attentest.models.wrappers.shifted import Shifted

ENCODER_TEXTS = ("bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)")


def made(encoder: str = "bilstm(hidden=8)", classes: int = 2, low: int = 1):
    split = made_up_split(low=low)
    model, encoded = classifier(Architecture(ENCODERS.parse(encoder), embedding=10), split, classes)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    keep = uniforms(batch.keys, 6, batch.mask.shape[1], 0, mask=batch.mask) < 0.6
    return split, model, batch, reading, keep


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_deleting_equals_a_loop_that_writes_the_shorter_text_and_reads_it(encoder, classes):
    split, model, batch, reading, keep = made(encoder, classes)
    ours = erased(model, batch, reading, keep, "delete")
    vocabulary = Vocabulary.from_split(split)
    for row, text in enumerate(split.table["tokens"].to_pylist()):
        for k in range(keep.shape[1]):
            left = [token for t, token in enumerate(text) if keep[row, k, t + 1]]
            if not left:
                assert ours[row, k].isnan().all()
                continue
            with torch.no_grad():
                alone = model.read(Encoded.of(Split.of(["x"], [left], [0]), vocabulary).batch(np.array([0])))
            assert torch.allclose(ours[row, k], alone.logits[0].double(), atol=1e-5)


@pytest.mark.parametrize("mode", ["mask", "zero", "mean"])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_replacing_equals_a_loop_that_writes_the_embedding_and_reads_it(encoder, mode):
    _, model, batch, reading, keep = made(encoder)
    ours = erased(model, batch, reading, keep, mode)
    for row in range(len(batch)):
        for k in range(keep.shape[1]):
            embeddings = model.embed(batch[row : row + 1]).detach().clone()
            for t in batch.mask[row].nonzero()[:, 0].tolist():
                if not keep[row, k, t]:
                    embeddings[0, t] = model.baseline(mode)
            with torch.no_grad():
                alone = model.read(batch[row : row + 1], embeddings=embeddings)
            assert torch.allclose(ours[row, k], alone.logits[0].double(), atol=1e-5)


def test_zeroing_weights_equals_a_loop_that_renormalises():
    _, model, batch, reading, keep = made()
    ours = erased(model, batch, reading, keep, "zero_attention")
    z = reading.token_logits.double()
    for row in range(len(batch)):
        for k in range(keep.shape[1]):
            weights = reading.weights[row].double() * keep[row, k]
            if weights.sum() == 0:
                assert ours[row, k].isnan().all()
            else:
                assert torch.allclose(ours[row, k], weights / weights.sum() @ z[row], atol=1e-9)


@pytest.mark.parametrize("mode", ERASURES)
def test_nothing_erased_is_what_was_read(mode):
    _, model, batch, reading, keep = made()
    ours = erased(model, batch, reading, torch.ones_like(keep), mode)
    assert torch.allclose(ours, reading.logits.double()[:, None].expand_as(ours), atol=1e-5)


@pytest.mark.parametrize("mode", ERASURES)
def test_symbols_and_padding_are_never_erased(mode):
    _, model, batch, reading, keep = made()
    other = keep | ~batch.mask[:, None]
    ours, same = (erased(model, batch, reading, which, mode) for which in (keep, other))
    assert torch.equal(ours.nan_to_num(), same.nan_to_num())


@pytest.mark.parametrize("mode", ERASURES)
def test_an_erased_text_does_not_depend_on_the_texts_and_sets_around_it(mode, monkeypatch):
    _, model, batch, reading, keep = made()
    together = erased(model, batch, reading, keep, mode)
    monkeypatch.setattr("attentest.explainers.erasure.positions", lambda device: 2)
    apart = erased(model, batch, reading, keep, mode)
    assert torch.allclose(together, apart, atol=1e-5, equal_nan=True)
    for row in range(len(batch)):
        one = batch[row : row + 1]
        with torch.no_grad():
            alone = erased(model, one, model.read(one), keep[row : row + 1, :2], mode)
        assert torch.allclose(together[row, :2], alone[0], atol=1e-5, equal_nan=True)


def test_equal_sets_are_read_once(monkeypatch):
    _, model, batch, reading, keep = made()
    read = []
    weigh = model.attention.weigh
    monkeypatch.setattr(
        model.attention, "weigh", lambda keys, mask, query: read.append(len(mask)) or weigh(keys, mask, query)
    )
    erased(model, batch, reading, torch.ones_like(keep), "delete")
    assert sum(read) == len(batch)


def test_where_memory_runs_out_the_texts_are_halved(monkeypatch):
    _, model, batch, reading, keep = made(low=2)
    expected = erased(model, batch, reading, keep, "delete")
    forward = model.attention.forward

    def scarce(states, mask, query):
        if len(mask) > 5:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return forward(states, mask, query)

    monkeypatch.setattr(model.attention, "forward", scarce)
    ours = erased(model, batch, reading, keep, "delete")
    assert torch.allclose(ours, expected, atol=1e-5, equal_nan=True)


def test_a_second_text_stays_with_its_first():
    _, model, batch, reading, keep = made()
    seen = []

    class Pair(Shifted):
        def read(self, batch: Batch, **given):
            seen.append((batch.text.tokens.tolist(), batch.second.tokens[:, 0].tolist()))
            return self.subject.read(batch, **given)

    second = Sequences(
        torch.arange(len(batch))[:, None], torch.ones(len(batch)).long(), torch.ones(len(batch), 1).bool()
    )
    pairs = Batch(batch.text, batch.labels, batch.rows, batch.keys, second)
    erased(Pair(model, torch.zeros(10)), pairs, reading, torch.ones_like(keep), "delete")
    for tokens, rows in seen:
        for text, row in zip(tokens, rows, strict=True):
            real = batch.text.tokens[row, : batch.text.lengths[row]].tolist()
            assert text[: len(real)] == real


@pytest.mark.parametrize("mode", ERASURES)
def test_a_subject_that_is_not_known_is_read_alike(mode):
    _, model, batch, reading, keep = made()
    known = erased(model, batch, reading, keep, mode)
    stranger = erased(Shifted(model, torch.zeros(10)), batch, reading, keep, mode)
    assert torch.allclose(known, stranger, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("seen", [1, 1 << 18])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_texts_of_words_are_read_as_texts(encoder, seen, monkeypatch):
    _, model, batch, reading, _ = made(encoder, 3)
    monkeypatch.setattr(same_words, "SEEN", seen)
    with torch.no_grad():
        words, index = distinct_words(model, batch)
        assert len(words) < index.numel()
        assert torch.equal(words[index], model.embed(batch))
        assert torch.allclose(reader_of(model, words)(batch, index), reading.logits, atol=1e-5)


def test_a_classifier_that_reads_in_its_own_way_is_asked_itself():
    _, model, batch, reading, keep = made()

    class Other(Classifier):
        def read(self, batch: Batch, **given):
            return super().read(batch, **given)

    other = Other(model.architecture, model.embedding.num_embeddings, 2, torch.Generator().manual_seed(1))
    other.load_state_dict(model.state_dict())
    ours = erased(other, batch, reading, keep, "mask")
    assert torch.allclose(ours, erased(model, batch, reading, keep, "mask"), atol=1e-5)


def test_an_unknown_way_is_named():
    _, model, batch, reading, keep = made()
    with pytest.raises(InputError, match="Erasure 'burn' must be one of delete"):
        erased(model, batch, reading, keep, "burn")


@pytest.mark.parametrize("mode", ["delete", "mask", "zero", "mean"])
@pytest.mark.parametrize("encoder", ENCODER_TEXTS)
def test_what_is_learnt_of_each_word_is_what_reading_without_it_gives(encoder, mode):
    _, model, batch, reading, _ = made(encoder)
    others = reading.mask[:, None] & ~torch.eye(reading.mask.shape[1], dtype=torch.bool) & reading.mask[:, :, None]
    known = Known()
    learn_each(known, model, batch, reading, mode)
    wanted = erased(model, batch, reading, others, mode)
    assert known.logits is not None
    sets = known.logits.shape[0]
    found = erased(model, batch, reading, others, mode, known)
    here = others.any(-1)
    assert known.logits.shape[0] - sets <= 1 + len(batch), "only empty texts were read"
    assert torch.allclose(found[here], wanted[here], atol=1e-5)


def test_what_is_read_apart_is_forgotten_and_what_was_known_is_not_read_again():
    _, model, batch, reading, keep = made()
    known, half = Known(), keep[:, : keep.shape[1] // 2]
    erased(model, batch, reading, half, "delete", known)
    assert known.sets is not None
    before, apart = len(known.sets), known.apart()
    found = erased(model, batch, reading, keep, "delete", apart)
    assert len(known.sets) == before < len(apart.sets)
    again = erased(model, batch, reading, half, "delete", known)
    assert torch.equal(found[:, : half.shape[1]].nan_to_num(), again.nan_to_num())


def test_nothing_is_learnt_where_it_is_no_cheaper():
    _, model, batch, reading, _ = made()
    for subject, mode in ((model, "zero_attention"), (Shifted(model, torch.zeros(10)), "delete")):
        learn_each(known := Known(), subject, batch, reading, mode)
        assert known.logits is None


def test_long_texts_go_together_where_a_step_serves_them_all():
    _, lstm, *_ = made()
    _, convolution, *_ = made("convolution(filters=4)")
    assert [texts_at_once(lstm, width, 12_288) for width in (20, 400, 4_000, 200_000)] == [614, 245, 24, 1]
    assert texts_at_once(convolution, 400, 12_288) == 30
