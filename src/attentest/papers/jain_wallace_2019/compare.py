"""How this paper alone is compared: shares of texts, a search that may find nothing, what is known of its tables."""

from __future__ import annotations

from functools import partial

import numpy as np

from attentest.papers.evidence import Evidence, Group
from attentest.papers.own import Note, Own
from attentest.papers.row_statistics import Rows
from attentest.papers.rules import MeasureRule
from attentest.statistics.resampling import Sample, Statistic, correlations, means

__all__ = ["OWN"]

#: What the paper's search reached; 0 where it found nothing.
SEARCHED = "searched_divergence"


def sampled(rows: Rows, evidence: Evidence, group: Group, rule: MeasureRule, label: str) -> Sample | None:
    """A measure that is computed from rows in a way of its own."""
    return evidence.sample(group, rule, label, rows)


def share_at_most(mark: float, values: np.ndarray) -> Statistic:
    """The share of texts at or below a mark."""
    return means(np.where(np.isnan(values), np.nan, values <= mark))


def share_at_least(mark: float, values: np.ndarray) -> Statistic:
    """The share of texts at or above a mark."""
    return means(np.where(np.isnan(values), np.nan, values >= mark))


SMALL = partial(sampled, Rows(("median_change",), partial(share_at_most, 0.10)))
OWN = Own(
    measures={
        "small_permutation_change": SMALL,
        "small_change_despite_peak": SMALL,
        "near_the_bound": partial(sampled, Rows((SEARCHED,), partial(share_at_least, 0.6), fill=0.0)),
        "searched_divergence": partial(sampled, Rows((SEARCHED,), fill=0.0)),
        "peak_against_divergence": partial(sampled, Rows((SEARCHED, "max_attention"), correlations, fill=0.0)),
    },
    notes=(
        Note(
            "the paper counts 4 symbols and the words of sentences of all lengths; ours those of the sentences kept",
            table="Table 1",
            corpus="SST",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "the paper counts the words of posts of all lengths; ours those of the posts kept",
            table="Table 1",
            corpus="20 Newsgroups",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "the paper counts the words of tweets of all lengths; ours those of the tweets kept",
            table="Table 1",
            corpus="ADR Tweets",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "the authors' draw, rebuilt from their code, holds 171 posts on baseball, and its other counts agree: 151 "
            "is probably a misprint",
            table="Table 1",
            corpus="20 Newsgroups",
            measure="test_size",
            group="0",
        ),
        # Table 1 counts 334 posts for testing, the released results stand on 357 (their accuracies are multiples of
        # 1/357): two draws.
        Note(
            "posts drawn as the released code draws them (357 for testing), where Table 1 counts another draw (334)",
            table="Table 1",
            corpus="20 Newsgroups",
            forms=("20news(draw_empty=False)",),
            like_for_like=False,
        ),
        Note(
            "posts drawn as the released code draws them (357 for testing), where the first print has another draw "
            "(334)",
            table="Table 2",
            corpus="20 Newsgroups",
            forms=("20news(draw_empty=False)",),
            like_for_like=False,
        ),
        Note(
            "posts drawn as Table 1 counts them (334 for testing), where the released code has another draw (357)",
            table="Table 2 (later version)",
            corpus="20 Newsgroups",
            forms=("20news", "20news(draw_empty=True)"),
            like_for_like=False,
        ),
        Note(
            "posts drawn as Table 1 counts them (334 for testing), where the released code has another draw (357)",
            source="released",
            corpus="20 Newsgroups",
            forms=("20news", "20news(draw_empty=True)"),
            like_for_like=False,
        ),
        # Likewise, Table 1 counts all 3,800 texts of AG News for testing, the released results stand on 3,798.
        Note(
            "without the shortest and longest texts of a split, as the released code has it, where Table 1 counts them",
            table="Table 1",
            corpus="AG News",
            forms=("ag_news(drop_extremes=True)",),
            like_for_like=False,
        ),
        Note(
            "the paper counts reviews of all lengths; ours those of fewer than 400 tokens",
            table="Table 1",
            corpus="IMDB",
            measure="train_size",
            like_for_like=False,
        ),
        Note(
            "the paper has the dev reviews in training",
            table="Table 1",
            corpus="IMDB",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "the paper has the dev texts in training",
            table="Table 1",
            corpus="AG News",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "the paper counts one vocabulary of all three tasks",
            table="Table 1",
            corpus="bAbI 1",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "no mean: 67 and 421 are the lengths of the longest training stories of tasks 1 and 2",
            table="Table 1",
            corpus="bAbI 1",
            measure="average_length",
            like_for_like=False,
        ),
        Note(
            "the paper counts one vocabulary of all three tasks",
            table="Table 1",
            corpus="bAbI 2",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "no mean: 67 and 421 are the lengths of the longest training stories of tasks 1 and 2",
            table="Table 1",
            corpus="bAbI 2",
            measure="average_length",
            like_for_like=False,
        ),
        Note(
            "the paper counts one vocabulary of all three tasks",
            table="Table 1",
            corpus="bAbI 3",
            measure="vocabulary",
            like_for_like=False,
        ),
        Note(
            "no mean: 67 and 421 are the lengths of the longest training stories of tasks 1 and 2",
            table="Table 1",
            corpus="bAbI 3",
            measure="average_length",
            like_for_like=False,
        ),
    ),
)
