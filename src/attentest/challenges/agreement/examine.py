"""Agreement: do two explainers rank the tokens of an instance alike?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.measures.capture import captured
from attentest.measures.rank import kendall, rank_biased_overlap, spearman, top_k_overlap
from attentest.measures.rounding import SILENT, moves
from attentest.parameters import SHARE, Several, Within
from attentest.registry import name_in_words
from attentest.store.findings import Measure

__all__ = ["Agreement"]


@dataclass(frozen=True)
class Agreement(Challenge):
    """Kendall's τ-b between attention and other scores; beside it, measures that do not count irrelevant tokens.

    Two scores of the same tokens, compared text by text. `captured` decides the verdict: choose the top tokens by
    the first score of the pair (at most half of the text's) and see how much of the second they hold, 0 being a
    blind choice, 1 the best one, and −1 the worst there can be. Kendall's τ is the papers' measure and stands
    beside it; it counts the order of every two tokens alike, also of two that do not matter. Three pairs are Jain &
    Wallace's; `gradient~leave_one_out` is their control, and shows how well two scores agree that are not
    attention. The others tell [states and tokens](../../explanation/states-and-tokens.md) apart; of them,
    `attention~state_erasure` and `state_erasure~leave_one_out` are read in the verdict.
    """

    name: ClassVar[str] = "agreement"
    question: ClassVar[str] = "Does attention rank the tokens as gradients and deletion do?"
    reference: ClassVar[str] = "Jain & Wallace 2019, section 4.1"
    pairs: Annotated[
        tuple[str, ...],
        "Pairs of explainers, with `~` between them; in `a~b`, the top tokens of `a` capture the scores of `b`.",
        Several(),
    ] = (
        "attention~gradient",
        "attention~leave_one_out",
        "gradient~leave_one_out",
        "attention~gradient(path='full')",
        "attention~gradient_state",
        "attention~state_evidence",
        "attention~state_erasure",
        "state_erasure~leave_one_out",
    )
    k: Annotated[
        int,
        "How many top tokens capture (at most half of the text's), and how many the overlap compares.",
        Within(1, 1000),
    ] = 3
    persistence: Annotated[float, "Rank-biased overlap's *p*: how far down the ranking it looks.", SHARE] = 0.9
    level: Annotated[float, "A τ is called significant when its p-value is at most this.", SHARE] = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        for pair in self.pairs:
            if pair.count("~") != 1:
                raise InputError(f"Pair {pair!r} must name two explainers with ~ between, as attention~gradient.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Six numbers for every pair."""
        named = [
            ("tau", "mean", "Kendall τ-b"),
            ("significant", "fraction", f"share of instances whose τ has p ≤ {self.level}"),
            ("captured", "mean", f"effect captured by the top {self.k} (0 chance, 1 best)"),
            ("spearman", "mean", "Spearman ρ"),
            ("top_k_overlap", "mean", f"overlap of the top {self.k}"),
            ("rank_biased_overlap", "mean", f"rank-biased overlap, p = {self.persistence}"),
        ]
        return tuple(
            Measure(f"{pair}.{column}", column, statistic, f"{name_in_words(pair)}: {words}", {"pair": pair})  # type: ignore[arg-type]
            for pair in self.pairs
            for column, statistic, words in named
        )

    @property
    def explained_by(self) -> tuple[str, ...]:
        """Both sides of every pair."""
        return tuple(dict.fromkeys(name for pair in self.pairs for name in pair.split("~")))

    def examine(self, examination: Examination) -> pa.Table:
        """One row per instance and pair."""
        return pa.concat_tables([self._compare(examination, pair) for pair in self.pairs])

    def _compare(self, examination: Examination, pair: str) -> pa.Table:
        left, right = pair.split("~")
        x, y, mask = examination.scores(left), examination.scores(right), examination.mask
        rank = kendall(x, y, mask)
        single = examination.single
        constant = np.isnan(rank.tau.cpu().numpy())
        silent = ~(moves(x, examination.logits, mask) & moves(y, examination.logits, mask)).cpu().numpy()
        judged = ~(single | constant | silent)
        return pa.table(
            {
                "row": examination.rows,
                "pair": pa.array([pair] * len(single), pa.string()),
                "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
                "tau": numbers(rank.tau, judged),
                "p_value": numbers(rank.p_value, judged),
                "significant": flags(torch.nan_to_num(rank.p_value, nan=1.0) <= self.level, judged),
                "captured": numbers(captured(x, y, mask, self.k), judged),
                "spearman": numbers(spearman(x, y, mask), judged),
                "top_k_overlap": numbers(top_k_overlap(x, y, mask, self.k), judged),
                "rank_biased_overlap": numbers(rank_biased_overlap(x, y, mask, self.persistence), judged),
                "not_judged": reasons(
                    (single, "fewer than two tokens"), (constant, "constant scores"), (silent, SILENT)
                ),
            }
        )
