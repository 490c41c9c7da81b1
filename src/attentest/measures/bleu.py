"""BLEU (Papineni et al. 2002) from counts per sentence, as sacrebleu has it (Post 2018): counts add up, BLEU does not.

The counts of a sentence are ten numbers: the length of what was written, that of the reference, the n-grams that both
have, and the n-grams that were written, each for n = 1 … 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["COUNTS", "corpus_bleu", "sentence_counts", "signature"]

#: Numbers per sentence.
COUNTS = 10
ORDERS = 4


def corpus_bleu(counts: np.ndarray) -> np.ndarray:
    """BLEU, 0 to 100, of summed counts [..., 10], by sacrebleu's default: orders without a match count ½, ¼ …"""
    sums = np.asarray(counts, dtype=np.float64)
    written, reference = sums[..., 0], sums[..., 1]
    matches, ngrams = sums[..., 2 : 2 + ORDERS], sums[..., 2 + ORDERS :]
    defined = (matches > 0).any(-1) & (ngrams > 0).all(-1)
    smoothing = np.exp2((matches == 0).cumsum(-1))
    share = np.where(matches > 0, matches, 1 / smoothing) / np.where(ngrams > 0, ngrams, 1)
    short = np.minimum(0.0, 1 - reference / np.where(written > 0, written, 1))
    score: np.ndarray = 100 * np.exp(short + np.log(share).mean(-1))
    return np.where(defined, score, 0.0)


def sentence_counts(hypotheses: Sequence[str], references: Sequence[str], tokenize: str = "13a") -> np.ndarray:
    """The counts of every sentence, [sentence, 10]: text is cut by sacrebleu's ``tokenize``; "none": at white space."""
    from sacrebleu.metrics.bleu import BLEU

    if len(hypotheses) != len(references):
        raise ValueError(f"{len(hypotheses)} texts stand beside {len(references)} references: give one for each.")
    # The effective order changes the score of a sentence, which is not used, and not its counts.
    metric = BLEU(tokenize=tokenize, effective_order=True)
    counts = np.zeros((len(hypotheses), COUNTS))
    for row, hypothesis, reference in zip(counts, hypotheses, references, strict=True):
        score = metric.sentence_score(hypothesis, [reference])
        row[:] = (score.sys_len, score.ref_len, *score.counts, *score.totals)
    return counts


def signature(tokenize: str = "13a") -> str:
    """What a BLEU of these counts must be quoted with, in sacrebleu's words."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize=tokenize)
    metric.corpus_score([""], [[""]])
    return str(metric.get_signature().format())
