"""Many texts of a Transformers model: the same logits as one pass over each, with less computed."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import whole
from tests.models.huggingface.test_pretrained import BATCH, SPLIT, TOKENIZER, VOCABULARY, family, read, subject_of
from tests.support.pretrained import tiny

from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded, bucketed
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.erasure import Known, erased
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.partial_forward import erased_texts
from attentest.models.huggingface.partial_forward.erased_texts import logits_of_many
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["family"]


def examination(subject: Pretrained) -> Examination:
    with torch.no_grad():
        return Examination(subject, BATCH, subject.read(BATCH), 0, SPLIT.table["tokens"].chunk(0))


def test_texts_of_all_lengths_have_the_logits_of_whole_passes(family: str, monkeypatch) -> None:
    subject = subject_of(family)
    with torch.no_grad():
        expected = torch.cat([subject.logits(BATCH[row : row + 1]) for row in range(len(BATCH))])
        for slots, call in ((2048, 64), (20, 3), (1, 0)):
            monkeypatch.setitem(erased_texts.SLOTS, "cpu", slots)
            monkeypatch.setitem(erased_texts.CALL, "cpu", call)
            torch.testing.assert_close(logits_of_many(subject, BATCH), expected, atol=1e-4, rtol=1e-4)


def test_replaced_words_are_read_as_a_whole_reading_reads_them(family: str) -> None:
    subject, width = subject_of(family), BATCH.mask.shape[1]
    with torch.no_grad():
        words = torch.cat([subject.embed(BATCH).flatten(0, 1), subject.baseline("mean")[None]])
        index = torch.arange(BATCH.text.tokens.numel()).view(BATCH.text.tokens.shape)
        for place in range(1, width, 3):
            other = torch.where(torch.arange(width) == place, len(words) - 1, index)
            expected = subject.read(BATCH, embeddings=words[other]).logits
            torch.testing.assert_close(logits_of_many(subject, BATCH, words, other), expected, atol=1e-4, rtol=1e-4)


def test_pairs_keep_their_second_text() -> None:
    texts = SPLIT.table["tokens"].to_pylist()
    split = Split.of([str(row) for row in range(6)], texts, [0] * 6, second=[text[::-1][:4] for text in texts])
    vocabulary = Vocabulary.from_split(split)
    subject = build_pretrained(tiny("bert", size=len(TOKENIZER)), TOKENIZER, vocabulary, pair=True)
    batch = whole(Encoded.of(split, vocabulary))
    with torch.no_grad():
        torch.testing.assert_close(logits_of_many(subject, batch), subject.logits(batch), atol=1e-4, rtol=1e-4)


def test_of_the_last_layer_one_row_is_computed() -> None:
    subject, rows = subject_of("bert"), []
    layer = subject.model.bert.encoder.layer[-1]
    layer.register_forward_hook(lambda module, given, output: rows.append(output.shape[1]))
    layer.intermediate.register_forward_hook(lambda module, given, output: rows.append(given[0].shape[1]))
    for subject.quick in (True, False):
        with torch.no_grad():
            logits_of_many(subject, BATCH)
        assert set(rows) == {1}
        rows.clear()


def test_where_every_row_is_heard_all_are_computed() -> None:
    subject = subject_of("modernbert-mean")
    assert subject.rows == "all"
    with torch.no_grad():
        torch.testing.assert_close(logits_of_many(subject, BATCH), read(subject).logits, atol=1e-4, rtol=1e-4)


def test_a_split_has_the_sizes_of_its_batches() -> None:
    subject = subject_of("bert")
    encoded = Encoded.of(SPLIT, VOCABULARY)
    assert subject.pieces.sizes(encoded).tolist() == subject.pieces.lengths(BATCH).tolist()
    for batches in bucketed(encoded, tokens=24, sizes=subject.pieces.sizes(encoded)):
        sizes = [subject.pieces.lengths(batch).tolist() for batch in batches]
        assert [size for some in sizes for size in some] == sorted(size for some in sizes for size in some)
        assert all(len(batch) == 1 or batch.text.tokens.numel() <= 24 for batch in batches)
        assert sorted(row for batch in batches for row in batch.rows.tolist()) == list(range(len(encoded)))


@given(lengths=st.lists(st.integers(2, 40), max_size=200))
def test_every_text_is_in_one_pass_and_passes_are_small(lengths: list[int]) -> None:
    passes = [rows.tolist() for rows in erased_texts.of_like_length(torch.tensor(lengths, dtype=torch.long))]
    assert sorted(row for rows in passes for row in rows) == list(range(len(lengths)))
    for rows in passes:
        each = [lengths[row] for row in rows]
        assert len(each) * max(each) <= erased_texts.SLOTS["cpu"]
        assert len(each) * max(each) - sum(each) <= erased_texts.CALL["cpu"]


def test_what_is_known_of_erased_texts_is_not_read_again(monkeypatch) -> None:
    subject = subject_of("bert")
    reading, width = read(subject), BATCH.mask.shape[1]
    keep = torch.rand(len(BATCH), 5, width, generator=torch.Generator().manual_seed(0)) < 0.6
    expected, known, texts = erased(subject, BATCH, reading, keep, "delete"), Known(), []
    passed = erased_texts.logits_of

    def counted(subject, layout, embeddings):
        texts.append(len(layout.ids))
        return passed(subject, layout, embeddings)

    monkeypatch.setattr(erased_texts, "logits_of", counted)
    erased(subject, BATCH, reading, keep[:, :3], "delete", known)
    found = erased(subject, BATCH, reading, keep, "delete", known)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4, equal_nan=True)
    read_so_far = sum(texts)
    assert torch.equal(erased(subject, BATCH, reading, keep, "delete", known).nan_to_num(), found.nan_to_num())
    assert sum(texts) == read_so_far


def test_deletions_of_leave_one_out_are_known_to_whoever_deletes() -> None:
    subject = subject_of("bert")
    examined = examination(subject)
    scores = examined.scores("leave_one_out")
    torch.testing.assert_close(
        scores, EXPLAINERS.parse("leave_one_out").scores(subject, BATCH, examined.reading), atol=1e-6, rtol=1e-5
    )
    others = BATCH.mask[:, None] & ~torch.eye(BATCH.mask.shape[1], dtype=torch.bool)
    fresh = erased(subject, BATCH, examined.reading, others, "delete")
    shared = erased(subject, BATCH, examined.reading, others, "delete", examined.known("delete"))
    torch.testing.assert_close(shared, fresh, atol=1e-4, rtol=1e-4, equal_nan=True)


def test_one_slope_serves_all_gradient_methods() -> None:
    subject = subject_of("bert")
    examined, passes = examination(subject), []
    last = subject.model.bert.encoder.layer[-1]
    hook = last.register_forward_hook(lambda module, given, output: passes.append(1))
    names = ("gradient(path='full')", "gradient_norm", "gradient_x_input")
    found = [examined.scores(name) for name in names]
    hook.remove()
    assert len(passes) == 1
    for name, scores in zip(names, found, strict=True):
        alone = EXPLAINERS.parse(name).scores(subject, BATCH, examined.reading).double()
        torch.testing.assert_close(scores, alone, atol=1e-6, rtol=1e-5)
