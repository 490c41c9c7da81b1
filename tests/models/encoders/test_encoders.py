from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.errors import InputError
from attentest.models.parts.encoders import ENCODERS, BiLSTM, Convolution

LENGTHS = torch.tensor([9, 1, 5, 12, 3])


def embeddings(width: int = 12, size: int = 7) -> torch.Tensor:
    return torch.randn(len(LENGTHS), width, size, generator=torch.Generator().manual_seed(3))


def test_the_dense_lstm_pair_equals_a_packed_bidirectional_lstm():
    pair = BiLSTM(hidden=6).build(7)
    packed = nn.LSTM(7, 6, batch_first=True, bidirectional=True)
    with torch.no_grad():
        for name, value in pair.rightward.named_parameters():
            getattr(packed, name).copy_(value)
        for name, value in pair.leftward.named_parameters():
            getattr(packed, f"{name}_reverse").copy_(value)
        x = embeddings()
        out, _ = packed(pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False))
        expected, _ = pad_packed_sequence(out, batch_first=True, total_length=12)
        got = pair(x, LENGTHS)
    for row, length in enumerate(LENGTHS):
        assert torch.allclose(got[row, :length], expected[row, :length], atol=1e-6)


@pytest.mark.parametrize(
    "text", ["bilstm(hidden=5)", "bigru(hidden=5)", "convolution(filters=3)", "average(hidden=4)", "none"]
)
def test_what_stands_in_padding_does_not_matter(text):
    network = ENCODERS.parse(text).build(7)
    x = embeddings()
    dirty = x.clone()
    for row, length in enumerate(LENGTHS):
        dirty[row, length:] = 99.0
    with torch.no_grad():
        clean, soiled = network(x, LENGTHS), network(dirty, LENGTHS)
    for row, length in enumerate(LENGTHS):
        assert torch.equal(clean[row, :length], soiled[row, :length])


@pytest.mark.parametrize(
    "text", ["bilstm(hidden=5)", "bigru(hidden=5)", "convolution(filters=3)", "average(hidden=4)", "none"]
)
def test_encoding_without_each_token_equals_a_loop_over_shortened_sequences(text):
    network = ENCODERS.parse(text).build(7)
    x = embeddings()
    onto = torch.randn(network.size, 4, generator=torch.Generator().manual_seed(1))
    plus = torch.tensor([0.5, -1.0, 0.0, 2.0])
    with torch.no_grad():
        fast = network.without_each(x, LENGTHS, onto, plus)
        for row, length in enumerate(LENGTHS.tolist()):
            for gap in range(length):
                kept = [i for i in range(length) if i != gap]
                if not kept:
                    continue
                slow = network(x[row : row + 1, kept], torch.tensor([len(kept)])) @ onto + plus
                assert torch.allclose(fast[row, gap, kept], slow[0], atol=1e-6), (row, gap)


def test_deletions_that_have_converged_are_left_and_stay_within_a_millionth():
    network = BiLSTM(hidden=16).build(8)
    x = torch.randn(2, 150, 8, generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([150, 130])
    onto = torch.eye(32)
    with torch.no_grad():
        fast = network.without_each(x, lengths, onto, torch.zeros(32))
        for row, gap in ((0, 0), (0, 70), (1, 3), (1, 129)):
            kept = [i for i in range(int(lengths[row])) if i != gap]
            slow = network(x[row : row + 1, kept], torch.tensor([len(kept)]))
            assert (fast[row, gap, kept] - slow[0]).abs().max() < 1e-6


def test_an_even_convolution_width_is_refused_because_state_t_must_stand_over_token_t():
    with pytest.raises(InputError, match=r"must be odd"):
        Convolution(widths=(2,)).build(4)


def test_an_unknown_activation_is_named():
    with pytest.raises(InputError, match="'relu' or 'tanh'"):
        ENCODERS.parse("average(activation='gelu')").build(4)
