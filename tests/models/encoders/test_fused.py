"""The LSTM kernel for GPUs, beside torch's own in single and double precision; on other machines it is not reached."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.resources import files

import pytest
import torch
from torch import Tensor, nn

from attentest.models.parts.fused import lstm as fused
from attentest.models.parts.lstm import BiLSTM

needs_card = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (9, 0),
    reason="no card with clusters of blocks",
)


@pytest.fixture(autouse=True)
def single_precision() -> Iterator[None]:
    """As every device is used here: the library's own LSTM without TF32, whose rounding would excuse ours."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.backends.cudnn.allow_tf32 = before


def sides(hidden: int, embedding: int) -> tuple[nn.LSTM, nn.LSTM]:
    torch.manual_seed(hidden)
    one, other = (nn.LSTM(embedding, hidden, batch_first=True) for _ in range(2))
    return one, other


def slopes(states: list[Tensor], lstms: tuple[nn.LSTM, nn.LSTM], given: Tensor, weights: list[Tensor]) -> list[Tensor]:
    """Of a weighted sum of all states, in the inputs and in every parameter."""
    total = sum((one * weight).sum() for one, weight in zip(states, weights, strict=True))
    asked = [given, *(parameter for lstm in lstms for parameter in lstm.parameters())]
    return list(torch.autograd.grad(total, asked))


@needs_card
@pytest.mark.parametrize(
    ("hidden", "texts", "positions"),
    [(150, 32, 60), (150, 5, 1), (128, 70, 33), (33, 1, 9), (192, 40, 17), (150, 32, 380)],
)
def test_states_and_slopes_are_those_of_the_librarys_lstm(hidden: int, texts: int, positions: int) -> None:
    lstms = sides(hidden, 20)
    given = torch.randn(texts, positions, 20)
    weights = [torch.randn(texts, positions, hidden) for _ in range(2)]
    found = []
    for dtype, kernel in ((torch.float64, False), (torch.float32, False), (torch.float32, True)):
        there = tuple(lstm.to("cuda", dtype) for lstm in lstms)
        x = given.to("cuda", dtype).requires_grad_()
        assert fused.suits(there[0], x) == (dtype == torch.float32)
        states = fused.states(there, (x, x.flip(1))) if kernel else [there[0](x)[0], there[1](x.flip(1))[0]]
        moved = [weight.to("cuda", dtype) for weight in weights]
        found.append([*states, *slopes(states, there, x, moved)])
    for exact, theirs, ours in zip(*found, strict=True):
        rounding = (theirs - exact).abs().max()
        assert (ours - exact).abs().max() <= 4 * rounding + 1e-6 * exact.abs().max()


@needs_card
def test_the_same_numbers_give_the_same_bytes() -> None:
    lstms = tuple(lstm.to("cuda") for lstm in sides(150, 20))
    x = torch.randn(32, 50, 20, device="cuda", requires_grad=True)
    found = []
    for _ in range(3):
        states = fused.states(lstms, (x, x.flip(1)))
        found.append([*states, *slopes(states, lstms, x, [torch.ones_like(one) for one in states])])
    assert all(torch.equal(one, other) for again in found[1:] for one, other in zip(found[0], again, strict=True))


def test_a_changed_kernel_changes_the_ids_of_runs() -> None:
    source = files(fused.__package__).joinpath("lstm.cu").read_bytes()
    assert hashlib.sha256(source).hexdigest().startswith(fused.SOURCE)


def test_nothing_but_training_on_such_a_card_reaches_the_kernel() -> None:
    one, _ = sides(64, 8)
    assert not fused.suits(one, torch.randn(2, 3, 8, requires_grad=True))


@needs_card
def test_what_does_not_suit_is_left_to_the_library() -> None:
    one = sides(64, 8)[0].to("cuda")
    x = torch.randn(2, 3, 8, device="cuda")
    assert fused.suits(one, x)
    assert not fused.suits(one, x.double())
    assert not fused.suits(one, x[:0])
    assert not fused.suits(nn.GRU(8, 64, batch_first=True).to("cuda"), x)
    assert not fused.suits(nn.LSTM(8, 193, batch_first=True).to("cuda"), x)
    assert not fused.suits(nn.LSTM(8, 32, batch_first=True).to("cuda"), x)
    for other in ({"num_layers": 2}, {"bidirectional": True}, {"bias": False}, {"proj_size": 40}):
        assert not fused.suits(nn.LSTM(8, 64, batch_first=True, **other).to("cuda"), x)
    with torch.no_grad():
        assert not fused.suits(one, x)
    assert not fused.suits(one.eval(), x)


@needs_card
def test_an_encoder_trains_alike_with_the_kernel_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    encoder = BiLSTM(hidden=150).build(20).to("cuda")
    x, lengths = torch.randn(9, 12, 20, device="cuda"), torch.tensor([12, 1, 5, 12, 3, 7, 9, 2, 11], device="cuda")
    ours = encoder(x, lengths)
    monkeypatch.setattr(fused, "suits", lambda *_: False)
    torch.testing.assert_close(ours, encoder(x, lengths), rtol=1e-4, atol=1e-5)
