"""LSTMs on a GPU, all positions of all directions in one launch each way.

cuDNN launches kernels for every position where it trains more than 128 units, so that models trained side by side on
one card wait for each other's launches, not for its arithmetic. `lstm.cu` says how it is done here; it needs a card
with clusters of blocks (Hopper and later).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

__all__ = ["states", "suits"]

#: Fewer units leave blocks idle, more need too many registers.
UNITS = range(33, 193)
#: Texts of a batch beyond which the library's products are large enough.
TEXTS = 512
#: What the kernel is compiled for: blocks of a cluster and texts of a tile.
BLOCKS, TILE = 8, 32
#: The sha256 of lstm.cu: code decides a run's id, and this is the part of it that Python does not see.
SOURCE = "08596d4f8f2c"


def suits(lstm: nn.RNNBase, embeddings: Tensor) -> bool:
    """Whether the kernel takes this: a training step on a card that has clusters, in single precision, small enough."""
    return (
        embeddings.is_cuda
        and lstm.training
        and torch.is_grad_enabled()
        and isinstance(lstm, nn.LSTM)
        and (lstm.num_layers, lstm.bidirectional, lstm.bias, lstm.proj_size) == (1, False, True, 0)
        and lstm.hidden_size in UNITS
        and len(embeddings) <= TEXTS
        and embeddings.numel() > 0
        and embeddings.dtype == torch.float32
        and not torch.is_autocast_enabled("cuda")
        and _kernels(lstm.hidden_size, torch.cuda.get_device_capability(embeddings.device)) is not None
    )


def states(
    lstms: Sequence[nn.RNNBase], embeddings: Sequence[Float[Tensor, "batch token embedding"]]
) -> list[Float[Tensor, "batch token hidden"]]:
    """The states of LSTMs of one size, each over sequences of its own, from states of zero."""
    inputs, recurrent = [], []
    for lstm, x in zip(lstms, embeddings, strict=True):
        into, back, *biases = (getattr(lstm, name) for name in lstm._flat_weights_names)
        inputs.append(nn.functional.linear(x.transpose(0, 1), into, torch.stack(biases).sum(0)))
        recurrent.append(back)
    through: Tensor = _Recurrence.apply(torch.stack(inputs), torch.stack(recurrent))  # type: ignore[no-untyped-call]
    return [one.transpose(0, 1) for one in through.unbind(0)]


class _Recurrence(torch.autograd.Function):
    """From projected inputs and recurrent weights to states."""

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Float[Tensor, "direction token batch gate"],
        recurrent: Float[Tensor, "direction gate hidden"],
    ) -> Float[Tensor, "direction token batch hidden"]:
        _, positions, texts, _ = inputs.shape
        hidden = recurrent.shape[-1]
        gates, (cells, through) = torch.empty_like(inputs), inputs.new_empty(2, *inputs.shape[:3], hidden).unbind(0)
        recurrent = recurrent.contiguous()
        _launch(0, inputs.contiguous(), recurrent, gates, cells, through, positions, texts)
        ctx.save_for_backward(recurrent, gates, cells, through)
        return through

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slopes: Tensor) -> tuple[Tensor, Tensor]:
        recurrent, gates, cells, through = ctx.saved_tensors
        _, positions, texts, _ = gates.shape
        of_gates = torch.empty_like(gates)
        _launch(1, slopes.contiguous(), recurrent, gates, cells, of_gates, positions, texts)
        after, before = of_gates[:, 1:].flatten(1, 2), through[:, :-1].flatten(1, 2)
        return of_gates, after.transpose(1, 2) @ before


def _launch(way: int, first: Tensor, recurrent: Tensor, *rest: Any) -> None:
    """One kernel; the first tensor says how many directions and texts there are."""
    directions, _, texts, _ = first.shape
    hidden = recurrent.shape[-1]
    kernels = _kernels(hidden, torch.cuda.get_device_capability(first.device))
    assert kernels is not None
    kernel, memory = kernels[way]
    grid, block = (BLOCKS, -(-texts // TILE), directions), (16 * _units(hidden), 1, 1)
    with torch.cuda.device(first.device):
        kernel(grid=grid, block=block, args=[first, recurrent, *rest], shared_mem=memory)


def _units(hidden: int) -> int:
    """Of one block: a multiple of four."""
    return 4 * -(-hidden // (4 * BLOCKS))


@lru_cache
def _kernels(hidden: int, capability: tuple[int, int]) -> tuple[tuple[Callable[..., None], int], ...] | None:
    """Forward and backward, each with its blocks' shared memory, compiled for this size; None where that cannot be."""
    compiled = getattr(torch.cuda, "_compile_kernel", None)
    if compiled is None or capability < (9, 0):
        return None
    units = _units(hidden)
    stride = units if units // 4 % 2 else units + 4
    sizes = {"HIDDEN": hidden, "UNITS": units, "STRIDE": stride}
    source = f"// {SOURCE}\n" + "".join(f"#define {name} {size}\n" for name, size in sizes.items())
    source += files(__package__).joinpath("lstm.cu").read_text("utf-8")
    numbers = 2 * TILE * BLOCKS * stride, TILE * 4 * stride + 2 * BLOCKS * TILE * units
    try:
        made = [compiled(source, f"lstm_{way}") for way in ("forward", "backward")]
        for kernel, count in zip(made, numbers, strict=True):
            kernel.set_shared_memory_config(4 * count)
    except (RuntimeError, OSError, AttributeError):  # no compiler at run time
        return None
    return tuple((kernel, 4 * count) for kernel, count in zip(made, numbers, strict=True))
