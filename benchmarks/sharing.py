"""What sharing work between copies of a text saves: each explainer beside itself on a model that shares nothing.

Behind a shift of zero a model is the same function, and only its seam is seen (models/wrappers/shifted.py), so that
every point, replacement and erased text is read by itself.
"""

from __future__ import annotations

from time import perf_counter

import torch

from attentest.explainers import EXPLAINERS
from attentest.models.subject import Subject
from attentest.models.wrappers.shifted import shifted
from benchmarks import ended
from benchmarks.saliency import TEXTS, Saliency

EXPLAINED = ("integrated_gradients(n_steps=8, tolerance=0.2)", "occlusion", "lime(n_samples=100)")
ROW = "{:12} {:>6} {:22} {:>9} {:>9} {:>12}"


def seconds(name: str, subject: Subject, bench: Saliency) -> float:
    """The best of three runs."""
    taken = []
    with torch.no_grad():
        reading = subject.read(bench.batch)
    for _ in range(3):
        start = perf_counter()
        EXPLAINERS.parse(name).scores(subject, bench.batch, reading)
        taken.append(perf_counter() - start)
    return min(taken)


def main() -> None:
    torch.set_num_threads(1)
    print(ROW.format("encoder", "tokens", "explainer", "alone, s", "shared, s", "times faster"))
    for tokens, count in TEXTS:
        for encoder in ("bilstm", "convolution", "average"):
            bench = Saliency(tokens, count, encoder)
            unshared = shifted(bench.model, torch.zeros_like(bench.model.baseline("zero")))
            for name in EXPLAINED:
                alone, shared = (seconds(name, subject, bench) for subject in (unshared, bench.model))
                cells = (f"{alone:.3f}", f"{shared:.3f}", f"{alone / shared:.1f}")
                print(ROW.format(encoder, tokens, name.partition("(")[0], *cells))


if __name__ == "__main__":
    ended(main)
