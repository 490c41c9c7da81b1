"""BiLSTMs of several layers, and those whose states are joined by the embeddings below them."""

from __future__ import annotations

import itertools

import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.hierarchy import embedded, hierarchical, sentence_by_sentence, texts
from tests.support.pairs import pair_model
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.explainers.certificates import delete_literally
from attentest.explainers.explainer import margin
from attentest.explainers.gradient.quadrature import quadrature
from attentest.models.networks.classifier import Architecture
from attentest.models.networks.signals import Absorber, Difference, Relevance
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS, BiLSTM
from attentest.models.shared_work.same_words import distinct_words, reader_of
from attentest.registry import text_of

LENGTHS = torch.tensor([9, 1, 5, 12, 3])
#: For embeddings of ten numbers, as residual states need it.
FORMS = (
    "bilstm(hidden=6, skip='concat')",
    "bilstm(hidden=5, skip='residual')",
    "bilstm(hidden=6, layers=2)",
    "bilstm(hidden=5, layers=3, skip='residual')",
    "bilstm(hidden=4, layers=2, skip='concat')",
)
KINDS = list(itertools.product(FORMS, ("additive", "dot")))


def embeddings(size: int = 10, width: int = 12) -> torch.Tensor:
    return torch.randn(len(LENGTHS), width, size, generator=torch.Generator().manual_seed(3))


def model_of(encoder: str, attention: str = "additive", classes: int = 2, low: int = 1):
    split = made_up_split(low=low)
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse(attention), None, 10)
    model, encoded = classifier(parts, split, classes)
    return model, encoded, split


@pytest.mark.parametrize("layers", [2, 3])
def test_a_stack_equals_torchs_own_packed_stack(layers):
    network = BiLSTM(hidden=6, layers=layers).build(10)
    packed = nn.LSTM(10, 6, num_layers=layers, batch_first=True, bidirectional=True)
    x = embeddings()
    with torch.no_grad():
        for number, layer in enumerate(network.layers):
            for side, end in ((layer.rightward, ""), (layer.leftward, "_reverse")):
                for name, value in side.named_parameters():
                    getattr(packed, name.replace("l0", f"l{number}{end}")).copy_(value)
        out, (last, _) = packed(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
        expected, _ = pad_packed_sequence(out, batch_first=True, total_length=12)
        got = network(x, LENGTHS)
        mask = torch.arange(12) < LENGTHS[:, None]
        assert torch.allclose(got[mask], expected[mask], atol=1e-6)
        ends = torch.cat([last[-2], last[-1]], dim=-1)
        assert torch.allclose(network.summary(got, LENGTHS, mask), ends, atol=1e-6)


@pytest.mark.parametrize("layers", [1, 2])
def test_skipping_puts_the_embedding_beside_its_state_or_adds_it(layers):
    x, mask = embeddings(), torch.arange(12) < LENGTHS[:, None]
    for skip, size in (("concat", 20), ("residual", 10)):
        network = BiLSTM(hidden=5, layers=layers, skip=skip).build(10)
        assert network.size == size
        with torch.no_grad():
            states, plain = network(x, LENGTHS), network.encoder(x, LENGTHS)
            summary = network.summary(states, LENGTHS, mask)
        assert torch.equal(states, torch.cat([plain, x], -1) if skip == "concat" else plain + x)
        assert summary.shape == (len(x), size)
        if skip == "concat":
            last = torch.arange(len(x)), LENGTHS - 1
            expected = torch.cat(
                [plain[last][:, :5], plain[:, 0, 5:], (x * mask[..., None]).sum(1) / LENGTHS[:, None]], 1
            )
            assert torch.allclose(summary, expected, atol=1e-6)


def test_one_layer_without_skip_is_what_it_always_was():
    assert text_of(BiLSTM()) == "bilstm"
    assert text_of(BiLSTM(hidden=64)) == "bilstm(hidden=64)"
    torch.manual_seed(5)
    sides = {name: nn.LSTM(10, 6, batch_first=True) for name in ("rightward", "leftward")}
    expected = {f"{side}.{name}": value for side, lstm in sides.items() for name, value in lstm.state_dict().items()}
    torch.manual_seed(5)
    found = BiLSTM(hidden=6, layers=1, skip="none").build(10).state_dict()
    assert list(found) == list(expected)
    assert all(torch.equal(found[name], value) for name, value in expected.items())


@pytest.mark.parametrize("text", FORMS)
def test_encoding_without_each_token_equals_a_loop_over_shortened_sequences(text, monkeypatch):
    network, x = ENCODERS.parse(text).build(10), embeddings()
    onto = torch.randn(network.size, 4, generator=torch.Generator().manual_seed(1))
    plus = torch.tensor([0.5, -1.0, 0.0, 2.0])
    with torch.no_grad():
        fast = network.without_each(x, LENGTHS, onto, plus)
        monkeypatch.setattr("attentest.models.parts.encoder.CELLS", {"cpu": 500})
        assert torch.allclose(network.without_each(x, LENGTHS, onto, plus), fast, atol=1e-6)
        for row, length in enumerate(LENGTHS.tolist()):
            for gap in range(length):
                kept = [i for i in range(length) if i != gap]
                if kept:
                    slow = network(x[row : row + 1, kept], torch.tensor([len(kept)])) @ onto + plus
                    assert torch.allclose(fast[row, gap, kept], slow[0], atol=1e-6), (row, gap)
        alone = network.without_each(x[:2, :1], torch.tensor([1, 1]), onto, plus)
    assert alone.shape == (2, 1, 1, 4)


@pytest.mark.parametrize("text", FORMS)
def test_what_stands_in_padding_does_not_matter(text):
    network, x = ENCODERS.parse(text).build(10), embeddings()
    inside = torch.arange(12) < LENGTHS[:, None]
    with torch.no_grad():
        clean, soiled = network(x, LENGTHS), network(x.masked_fill(~inside[..., None], 99.0), LENGTHS)
    assert torch.equal(clean[inside], soiled[inside])


@pytest.mark.parametrize(("encoder", "attention"), KINDS)
def test_own_weights_put_back_reproduce_the_output(encoder, attention):
    model, encoded, _ = model_of(encoder, attention, 3)
    with torch.no_grad():
        reading = model.read(whole(encoded))
    assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=1e-6)
    assert Architecture.from_record(model.architecture.to_record()) == model.architecture


@pytest.mark.parametrize(("encoder", "attention"), KINDS)
def test_deleting_each_token_equals_encoding_every_shortened_text(encoder, attention):
    model, encoded, split = model_of(encoder, attention, 3, low=2)
    vocabulary = Vocabulary.from_split(split)
    with torch.no_grad():
        fast = model.delete_each(whole(encoded))
        for row, text in enumerate(split.table["tokens"].to_pylist()):
            shorter = [text[:t] + text[t + 1 :] for t in range(len(text))]
            deleted = Split.of([str(i) for i in range(len(text))], shorter, [0] * len(text))
            slow = model.read(whole(Encoded.of(deleted, vocabulary))).logits
            assert torch.allclose(fast[row, 1 : len(text) + 1], slow, atol=2e-6)


@pytest.mark.parametrize("path", ["full", "detached"])
@pytest.mark.parametrize("encoder", FORMS)
def test_integrated_gradients_equal_a_sum_over_points_by_hand(encoder, path):
    model, encoded, _ = model_of(encoder)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    ours = EXPLAINERS.parse(f"integrated_gradients(path={path!r}, most_steps=1)").scores(model, batch, reading)
    given = model.embed(batch).detach()
    start = torch.where(batch.mask[..., None], torch.zeros_like(given), given)
    expected = torch.zeros_like(ours)
    for point, weight in zip(*quadrature("gausslegendre", 50), strict=True):
        at = (start + point * (given - start)).requires_grad_()
        read = model.read(batch, embeddings=at)
        logits = read.logits if path == "full" else read.reread(reading.weights[:, None])[:, 0]
        (slope,) = torch.autograd.grad(margin(logits, reading.predicted).sum(), at)
        expected += weight * (slope * (given - start)).sum(-1)
    assert torch.allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("encoder", FORMS)
def test_occlusion_equals_reading_each_replaced_text(encoder):
    model, encoded, _ = model_of(encoder)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
        ours = EXPLAINERS.parse("occlusion").scores(model, batch, reading)
        for t in range(batch.mask.shape[1]):
            x = model.embed(batch).clone()
            x[:, t] = 0.0
            other = model.read(batch, embeddings=x).logits
            fall = margin(reading.logits, reading.predicted) - margin(other, reading.predicted)
            assert torch.allclose(ours[:, t][batch.mask[:, t]].float(), fall[batch.mask[:, t]], atol=1e-5)


@pytest.mark.parametrize("encoder", FORMS)
def test_texts_made_of_the_same_words_are_read_as_they_are(encoder):
    model, encoded, _ = model_of(encoder)
    batch = whole(encoded)
    with torch.no_grad():
        words, index = distinct_words(model, batch)
        assert torch.allclose(reader_of(model, words)(batch, index), model.read(batch).logits, atol=1e-6)


@pytest.mark.parametrize("encoder", FORMS)
def test_a_replay_has_the_values_of_the_network_and_keeps_what_it_hands_back(encoder):
    model, encoded, _ = model_of(encoder, classes=3)
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    for name, gap in (("lrp", "conservation_gap"), ("deep_lift", "summation_gap")):
        assert float(EXPLAINERS.parse(name).explain(model, batch, reading).certificate[gap].max()) < 1e-5
    exact = model.double()
    x = exact.embed(batch).detach()
    reference, leaves = torch.randn_like(x), torch.ones(len(batch), dtype=torch.float64)
    with torch.no_grad():
        expected, other = exact.read(batch).logits, exact.read(batch, embeddings=reference).logits
        relevance = exact.replay(batch, Relevance(x, Absorber(0.01, True, leaves, leaves)))
        difference = exact.replay(batch, Difference(reference, x - reference))
    assert torch.allclose(relevance.replayed, expected, atol=1e-9)
    assert torch.allclose(difference.reference, other, atol=1e-9)
    assert torch.allclose(difference.reference + difference.difference, expected, atol=1e-9)


@pytest.mark.parametrize("query", ["separate", "shared"])
@pytest.mark.parametrize("encoder", FORMS[1::3])
def test_pairs_can_be_reread_and_either_text_deleted_from(encoder, query):
    model, encoded = pair_model(encoder, "additive", "joint", query)
    batch = whole(encoded)
    with torch.no_grad():
        reading, fast = model.read(batch), model.delete_each(batch)
    assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=2e-6)
    for subject, found, texts_ in (
        (model, fast, batch),
        (model.second_text(), model.second_text().delete_each(batch.swapped()), batch.swapped()),
    ):
        for row in range(3):
            slow = delete_literally(subject, texts_, row)
            places = slow.abs().sum(-1).nonzero()[:, 0]
            assert torch.allclose(found[row, places].double(), slow[places], atol=5e-6)


@pytest.mark.parametrize(
    "encoder", ["bilstm(hidden=3, skip='residual')", "bilstm(hidden=4, skip='concat')", "bilstm(hidden=3, layers=2)"]
)
@pytest.mark.parametrize("site", ["sentence", "word"])
def test_texts_of_sentences_are_read_and_deleted_from_as_by_hand(encoder, site):
    split = texts()
    model, encoded = hierarchical(split, encoder)
    batch, subject = whole(encoded), model.at(site)
    with torch.no_grad():
        reading, fast = subject.read(batch), subject.delete_each(batch)
        assert torch.allclose(reading.reread(reading.weights[:, None])[:, 0], reading.logits, atol=2e-6)
        for row in range(len(batch)):
            logits, _, _ = sentence_by_sentence(model, embedded(model, encoded, split, row))
            assert torch.allclose(reading.logits[row], logits, atol=1e-5)
    for row in range(2):
        slow = delete_literally(subject, batch, row)
        places = slow.abs().sum(-1).nonzero()[:, 0]
        assert torch.allclose(fast[row, places].double(), slow[places], atol=5e-6)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"skip": "residual"}, r"embeddings of 10 numbers to states of 12 .*use hidden=5, or use skip='concat'"),
        ({"skip": "add"}, "skip='add' must be none, concat or residual"),
        ({"layers": 0}, "layers=0 must be at least 1"),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(fields, said):
    with pytest.raises(InputError, match=said) as error:
        BiLSTM(hidden=6, **fields).build(10)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("fields", [{"layers": 2}, {"skip": "concat"}])
def test_a_conditional_query_needs_the_plain_encoder(fields):
    with pytest.raises(InputError, match="Leave out layers and skip"):
        Architecture(BiLSTM(**fields), query="conditional")
