"""Token predictions: what would the model predict from one token's state alone?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.challenges.challenge import MANY, Challenge, Examination, lists, numbers, ragged, reasons
from attentest.challenges.rereading import each_alone
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.parameters import Within
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
    shown: Annotated[
        int,
        "About how many texts, drawn at random and the same in all runs on a corpus, keep what every token predicts, "
        "to be drawn; 0: none.",
        Within(0, 10**9),
    ] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shown < 0:
            raise InputError(f"token_predictions: shown={self.shown} must be at least 0.")

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
        shown, kept = self._shown(examination), []
        for part, logits in each_alone(examination):
            place, every = predicted[:, None, None].expand(len(mask), len(part), 1), logits.softmax(-1)
            alone[:, part] = every.gather(-1, place)[..., 0]
            deciding[:, part] = logits.argmax(-1) == predicted[:, None]
            kept.append(every[shown])
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
                **_drawn(examination, shown, torch.cat(kept, 1)),
                "not_judged": reasons((wrong, "predicted wrongly")),
            }
        )

    def _shown(self, examination: Examination) -> Bool[Tensor, " batch"]:
        """The texts that are drawn, by their own random numbers, whatever the seed of the run."""
        many = examination.reading.logits.shape[-1] > MANY
        number = uniforms(examination.batch.keys, 1, 1, 0, "token_predictions")[:, 0, 0]
        return number < (0.0 if many else self.shown / (examination.texts or len(number)))


def _drawn(
    examination: Examination, shown: Bool[Tensor, " batch"], every: Float[Tensor, "shown token class"]
) -> dict[str, pa.Array]:
    """The words of the texts that are drawn, and the distribution that each of them predicts; else null."""
    places = pa.array((shown.long().cumsum(0) - 1).cpu().numpy(), mask=~shown.cpu().numpy())
    words = pa.array(examination.tokens.filter(pa.array(shown.cpu().numpy())).to_pylist(), pa.list_(pa.string()))
    return {"words": words.take(places), "alone": ragged(every, examination.mask[shown]).take(places)}


def _histogram(values: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Tensor:
    """How many tokens of every text lie in each bin of [0, 1]."""
    place = (values * BINS).long().clamp(0, BINS - 1)
    counts = torch.zeros(len(values), BINS, dtype=torch.long, device=values.device)
    return counts.scatter_add_(1, place, mask.long())
