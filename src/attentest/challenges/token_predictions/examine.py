"""Token predictions: what would the model predict from one token's state alone?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, lists, numbers, reasons
from attentest.challenges.rereading import each_alone
from attentest.store.findings import Measure

__all__ = ["BINS", "TokenPredictions"]

#: The histogram of every text's probabilities has so many bins of equal width.
BINS = 20


@dataclass(frozen=True)
class TokenPredictions(Challenge):
    """The probability of the predicted class with all attention on one token, for every token.

    Of an affine head, which sees Σ α_t z_t, it is softmax(z_t); any other is asked again with each token. Where most
    tokens alone predict as the text does, it hardly matters where the weight lies. As in the paper, only texts that
    are predicted rightly are judged. The paper does not say over what it averages: `per_token` is the mean over all
    tokens, `per_text` the mean over texts of their means. A model that is less sure has lower probabilities
    everywhere: `prediction` is that of the whole text. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "token_predictions"
    question: ClassVar[str] = "Does every token alone predict what the text does?"
    reference: ClassVar[str] = "Tutek & Šnajder 2020, section 5"
    of_classifiers: ClassVar[bool] = True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How probable the predicted class is from one token, how often it wins, and from the text."""
        return (
            Measure("per_token", "total", "ratio", "probability from one token, over all tokens", against="tokens"),
            Measure("per_text", "mean", "mean", "probability from one token, mean over texts of their means"),
            Measure("deciding", "deciding", "share", "share of a text's tokens that alone decide as the text does"),
            Measure("prediction", "probability", "mean", "probability of the predicted class from the text"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """The predicted class's probability with all weight on each token."""
        mask, predicted, lengths = examination.mask, examination.reading.predicted, examination.lengths
        wrong = (predicted != examination.batch.labels).cpu().numpy()
        judged = ~wrong
        alone, deciding = torch.zeros_like(examination.weights), torch.zeros_like(mask)
        for part, logits in each_alone(examination):
            place = predicted[:, None, None].expand(len(mask), len(part), 1)
            alone[:, part] = logits.softmax(-1).gather(-1, place)[..., 0]
            deciding[:, part] = logits.argmax(-1) == predicted[:, None]
        total = alone.where(mask, 0.0).sum(-1)
        return pa.table(
            {
                "row": examination.rows,
                "tokens": pa.array(lengths.cpu().numpy(), pa.int32()),
                "total": numbers(total, judged),
                "mean": numbers(total / lengths, judged),
                "deciding": numbers((deciding & mask).sum(-1) / lengths, judged),
                "probability": numbers(examination.probabilities.gather(-1, predicted[:, None])[:, 0], judged),
                "histogram": lists(_histogram(alone, mask), judged),
                "not_judged": reasons((wrong, "predicted wrongly")),
            }
        )


def _histogram(values: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Tensor:
    """How many tokens of every text lie in each bin of [0, 1]."""
    place = (values * BINS).long().clamp(0, BINS - 1)
    counts = torch.zeros(len(values), BINS, dtype=torch.long, device=values.device)
    return counts.scatter_add_(1, place, mask.long())
