"""The LSTM kernel beside the library's, on a GPU: one training step of a BiLSTM's encoder.

python -m benchmarks.gpu.lstm [PROCESSES …]: rows for one process and for so many side by side. Run it where NVIDIA's
MPS is on, so that kernels of processes run at the same time. Outputs are compared before anything is timed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from statistics import median

import torch

from attentest.models.parts.fused import lstm as fused
from attentest.models.parts.lstm import BiLSTM

TEXTS, TOKENS, EMBEDDING, HIDDEN = 32, 380, 300, 150
STEPS, TURNS = 30, 3


def one(kernel: str) -> float:
    """Seconds a step, the median of turns, forward and backward."""
    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False
    encoder = BiLSTM(hidden=HIDDEN).build(EMBEDDING).to("cuda").train()
    x = torch.randn(TEXTS, TOKENS, EMBEDDING, device="cuda", requires_grad=True)
    lengths = torch.full((TEXTS,), TOKENS, device="cuda")
    suits = fused.suits
    if kernel == "library":
        fused.suits = lambda *_: False
    elif not suits(encoder.rightward, x):
        raise SystemExit("this card, or this torch, does not take the kernel")

    def step() -> None:
        encoder(x, lengths).square().sum().backward()

    if kernel == "ours":
        ours = encoder(x, lengths)
        fused.suits = lambda *_: False
        torch.testing.assert_close(ours, encoder(x, lengths), rtol=1e-4, atol=1e-5)
        fused.suits = suits
    turns = []
    for turn in range(TURNS + 1):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
        if turn:
            turns.append((time.perf_counter() - began) / STEPS)
    return median(turns)


def main(counts: list[int]) -> None:
    """A row for each kernel and number of processes: milliseconds of a step in each, and of a step of all together."""
    for count in counts:
        for kernel in ("library", "ours"):
            command = [sys.executable, "-m", "benchmarks.gpu.lstm", "--one", kernel]
            children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
            seconds = [float(child.communicate()[0]) for child in children]
            row = {"kernel": kernel, "processes": count, "ms_a_step": round(1e3 * median(seconds), 3)}
            print(json.dumps(row | {"ms_a_step_together": round(1e3 / sum(1 / s for s in seconds), 3)}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(one(sys.argv[2]))
    else:
        main([1, *map(int, sys.argv[1:])])
