"""What a training step costs with each recurrent encoder: states of a batch of 32 texts and their gradients."""

from __future__ import annotations

import argparse
from time import perf_counter, process_time

import torch

from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.encoders import ENCODERS
from benchmarks import ended

TEXTS = ("lstm", "orthogonal_lstm", "bilstm", "bilstm(skip='concat')", "bilstm(layers=2)")
ROW = "{:24} {:>6} {:>9} {:>14}"


def milliseconds(network: EncoderNetwork, tokens: int, device: str) -> float:
    """The best of fourteen steps."""
    x = torch.randn(32, tokens, 300, device=device, requires_grad=True)
    lengths = torch.full((32,), tokens, device=device)
    # On a CPU its own time, which a busy machine does not change.
    clock, taken = perf_counter if x.is_cuda else process_time, []
    for _ in range(14):
        start = clock()
        network(x, lengths).square().mean().backward()
        if x.is_cuda:
            torch.cuda.synchronize()
        taken.append(clock() - start)
    return 1e3 * min(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, or cuda")
    device = parser.parse_args().device
    torch.set_num_threads(1)
    print(ROW.format("encoder", "tokens", "ms", "times an LSTM"))
    for tokens in (20, 180):
        found = {text: milliseconds(ENCODERS.parse(text).build(300).to(device), tokens, device) for text in TEXTS}
        for text, value in found.items():
            print(ROW.format(text, tokens, f"{value:.1f}", f"{value / found['lstm']:.1f}"))


if __name__ == "__main__":
    ended(main)
