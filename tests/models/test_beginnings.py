"""Texts that begin alike are encoded once, and as the library's own LSTM encodes each of them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from torch import nn

from attentest.models.parts.lstm import Cell
from attentest.models.products import whole_rows
from attentest.models.shared_work.beginnings import Beginnings

TEXTS = some.lists(some.lists(some.integers(0, 2), min_size=1, max_size=6), min_size=1, max_size=12)


def padded(texts: list[list[int]], behind: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, texts))
    index = torch.tensor([text + [behind] * (width - len(text)) for text in texts])
    return index, torch.tensor([len(text) for text in texts])


@given(TEXTS, some.integers(0, 2))
def test_every_beginning_is_there_once_with_its_last_word_and_the_one_before_it(texts, behind):
    beginnings = Beginnings.of(*padded(texts, behind))
    wanted = {tuple(text[: end + 1]) for text in texts for end in range(len(text))}
    numbers = {
        tuple(text[: end + 1]): int(beginnings.place[row, end])
        for row, text in enumerate(texts)
        for end in range(len(text))
    }
    assert len(set(numbers.values())) == len(numbers) == len(wanted)
    by_depth = [sum(len(one) == depth + 1 for one in wanted) for depth in range(len(beginnings.sizes))]
    assert beginnings.sizes == [whole_rows(count) for count in by_depth]
    for beginning, number in numbers.items():
        assert int(beginnings.words[number]) == beginning[-1]
        if len(beginning) > 1:
            before = sum(beginnings.sizes[: len(beginning) - 2])
            assert before + int(beginnings.parents[number]) == numbers[beginning[:-1]]


@pytest.mark.parametrize("hidden", [3, 16])
def test_states_are_those_of_the_librarys_lstm_text_by_text(hidden):
    torch.manual_seed(0)
    lstm, words = nn.LSTM(5, hidden, batch_first=True), torch.randn(7, 5)
    texts = [torch.randint(0, 7, (length,)).tolist() for length in (1, 9, 4, 9, 2)]
    texts += [[*text[:3], 1, 2] for text in texts] + [texts[1]]
    index, lengths = padded(texts)
    cell = Cell(lstm)
    with torch.no_grad():
        beginnings = Beginnings.of(index, lengths)
        states = beginnings.lstm(cell.project(words), cell.recurrent)
        for row, text in enumerate(texts):
            alone = lstm(words[torch.tensor(text)][None])[0][0]
            assert torch.allclose(states[beginnings.place[row, : len(text)]], alone, atol=1e-6)


def test_what_stands_behind_a_texts_end_is_some_state():
    beginnings = Beginnings.of(torch.tensor([[1, 2, 0], [1, 0, 0]]), torch.tensor([2, 1]))
    assert int(beginnings.place.min()) >= 0
    assert int(beginnings.place.max()) < len(beginnings.words)
