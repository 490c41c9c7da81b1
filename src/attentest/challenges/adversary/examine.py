"""Adversary: is there a very different attention that leaves the prediction as it was?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import (
    Challenge,
    Examination,
    distribution,
    flags,
    largest,
    numbers,
    ragged,
    reasons,
)
from attentest.errors import InputError
from attentest.measures.adversary.bracket import bracket
from attentest.measures.adversary.search import Searched, relaxed_search, relaxed_search_affine
from attentest.measures.adversary.strongest import unconstrained_divergence
from attentest.measures.chance import normals
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.parameters import SHARE, Within
from attentest.store.findings import Measure

__all__ = ["Adversary"]

#: How often the way from the model's own attention to one beyond ε is halved.
HALVED = 6


@dataclass(frozen=True)
class Adversary(Challenge):
    """ε-max JSD: the largest divergence from the model's attention within ε of its prediction (eq. 1).

    The largest Jensen–Shannon divergence from the model's attention that keeps the prediction within ε. With an affine
    head it is [computed and proved](../../explanation/the-exact-adversary.md) for two classes; for more it is bracketed
    between what was reached and what is proved impossible. The paper's gradient search runs beside it and shows how
    far it falls short; where the head is not affine, it is all there is.
    """

    name: ClassVar[str] = "adversary"
    question: ClassVar[str] = "Is there a different attention with the same prediction?"
    reference: ClassVar[str] = "Jain & Wallace 2019, section 4.2.2"
    epsilon: Annotated[float, "How far the prediction may move (total variation distance).", SHARE] = 0.01
    search: Annotated[
        bool, "Run the paper's relaxed search too. Without it the audit is faster; without an affine head it is needed."
    ] = True
    k: Annotated[int, "Attentions the search looks for at once.", Within(1, 1000)] = 5
    penalty: Annotated[float, "The search's λ: the price of leaving ε.", Within(0, 1e9)] = 500.0
    rate: Annotated[float, "The search's step size (Adam).", Within(0, 100, without=(0,))] = 0.01
    steps: Annotated[int, "The search's steps.", Within(1, 100_000)] = 500
    noise: Annotated[float, "Spread of the logits the search starts from.", Within(0, 1000)] = 3.0
    per_token: Annotated[
        bool, "Keep the adversarial attention of every token, not only how far it lies from the model's."
    ] = True

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How different, of how much possible, and whether the top token changed."""
        near = f"within ε = {self.epsilon} of the prediction"
        return (
            Measure("lower", "lower", "mean", f"largest JSD reached {near}"),
            Measure("upper", "upper", "mean", f"largest JSD possible {near} (proved)"),
            Measure("certified", "certified", "fraction", "share where the two meet (difference < .01)"),
            Measure("unconstrained", "unconstrained", "mean", "largest JSD with no bound on the prediction"),
            Measure("ratio", "ratio", "mean", "largest JSD reached, as a share of the unconstrained one"),
            Measure("ratio_upper", "ratio_upper", "mean", "largest JSD possible (proved), as a share of that one too"),
            Measure("top_changed", "top_changed", "fraction", "share where the top token changes"),
            Measure("decision_kept", "decision_kept", "fraction", "share where the predicted class stays"),
            Measure("searched", "searched_divergence", "mean", f"largest JSD found by the paper's search {near}"),
            Measure("search_failed", "search_failed", "fraction", "share where the search found nothing within ε"),
            Measure("shortfall", "shortfall", "mean", "by how much the search falls short of the largest reached"),
            Measure("short_by_05", "short_by_05", "fraction", "share where the search falls short by more than .05"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """Search (if asked for), certify (where the head is affine), compare."""
        reading, weights, mask = examination.reading, examination.weights, examination.mask
        single, judged = examination.single, ~examination.single
        found = self._searched(examination) if self.search else None
        z = reading.token_logits
        if z is not None:
            starts = found.weights.double() if found is not None else None
            bounds = bracket(weights, z.double(), mask, self.epsilon, starts=starts)
            lower, upper, adversarial = bounds.lower, bounds.upper, bounds.weights
        elif found is not None:
            lower, adversarial = self._best(examination, found)
            upper = torch.full_like(lower, torch.nan)
        else:
            raise InputError("adversary(search=False) needs a subject whose head is affine in the context.")
        free = unconstrained_divergence(weights, mask)
        probabilities = reading.reread(adversarial[:, None].to(weights.dtype))[:, 0].double().softmax(-1)
        ratio, possible = (torch.where(free > 0, bound / free, torch.nan) for bound in (lower, upper))
        kept = distribution(probabilities)
        columns = {
            "row": examination.rows,
            "tokens": pa.array(examination.lengths.cpu().numpy(), pa.int32()),
            "max_attention": numbers(largest(weights)),
            "lower": numbers(lower, judged),
            "upper": numbers(upper, judged),
            "certified": flags((upper - lower) < 0.01, judged),
            "unconstrained": numbers(free, judged),
            "ratio": numbers(ratio, judged),
            "ratio_upper": numbers(possible, judged),
            "top_changed": flags(_top(adversarial, mask) != _top(weights, mask), judged),
            "decision_kept": flags(probabilities.argmax(-1) == reading.predicted, judged),
            **({"adversarial_attention": ragged(adversarial, mask)} if self.per_token else {}),
            **({} if kept is None else {"adversarial_probabilities": kept}),
            "adversarial_change": numbers(total_variation(probabilities, examination.probabilities), judged),
            **self._compared(found, lower, judged),
            "not_judged": reasons((single, "fewer than two tokens")),
        }
        return pa.table(columns)

    def _searched(self, examination: Examination) -> Searched:
        """The relaxed search, by hand-written gradients where the head is affine."""
        weights, mask = examination.weights, examination.mask
        keys, width = examination.batch.keys, mask.shape[1]
        noise = normals(keys, self.k, width, examination.seed, "adversary", mask)
        options: dict[str, Any] = {
            "spread": self.noise,
            "penalty": self.penalty,
            "rate": self.rate,
            "steps": self.steps,
        }
        z = examination.reading.token_logits
        if z is not None:
            return relaxed_search_affine(z.double(), weights, mask, self.epsilon, noise, **options)

        def decode(alternatives: Tensor) -> Tensor:
            return examination.reading.reread(alternatives).double().softmax(-1)

        probabilities = examination.probabilities
        return relaxed_search(decode, weights, mask, probabilities, self.epsilon, noise, **options)

    def _best(self, examination: Examination, found: Searched) -> tuple[Tensor, Tensor]:
        """The most divergent attention within ε that was found, or that lies on the way from the model's own to one.

        The prediction changes with the weights, so where all that the search found lie beyond ε, mixtures of each with
        the model's own lie within it again.
        """
        weights = examination.weights
        within = torch.where(found.change <= self.epsilon, found.divergence, -torch.inf)
        chosen = _largest(found.weights.double(), within)
        if (failed := torch.isinf(within.amax(-1))).any():
            own = weights[:, None, None]
            share = weights.new_tensor([2.0**-halved for halved in range(1, HALVED + 1)])[:, None]
            mixed = (own + share * (found.weights.double()[:, :, None] - own)).flatten(1, 2)
            with torch.no_grad():
                said = examination.reading.reread(mixed.to(examination.reading.weights.dtype)).double().softmax(-1)
            near = total_variation(said, examination.probabilities[:, None]) <= self.epsilon
            away = torch.where(near, jensen_shannon(mixed, weights[:, None]), -torch.inf)
            mixture = torch.where(near.any(-1)[:, None], _largest(mixed, away), weights)
            chosen = torch.where(failed[:, None], mixture, chosen)
        return jensen_shannon(chosen, weights), chosen

    def _compared(self, found: Searched | None, lower: Tensor, judged: np.ndarray) -> dict[str, pa.Array]:
        """What the search found beside what there is to find."""
        if found is None:
            empty = pa.nulls(len(judged), pa.float64())
            flag = pa.nulls(len(judged), pa.bool_())
            return {
                "searched_divergence": empty,
                "searched_change": empty,
                "search_failed": flag,
                "shortfall": empty,
                "short_by_05": flag,
            }
        within = torch.where(found.change <= self.epsilon, found.divergence, -torch.inf)
        best, where = within.max(-1)
        failed = torch.isinf(best)
        best = torch.where(failed, torch.nan, best)
        change = found.change.gather(-1, where[:, None])[:, 0]
        worked = judged & ~failed.cpu().numpy()
        short = lower - torch.where(failed, 0.0, best)
        return {
            "searched_divergence": numbers(best, worked),
            "searched_change": numbers(change, worked),
            "search_failed": flags(failed, judged),
            "shortfall": numbers(short, judged),
            "short_by_05": flags((short > 0.05) | failed, judged),
        }


def _largest(weights: Tensor, divergence: Tensor) -> Tensor:
    """Of several weights for each text those of the largest divergence."""
    where = divergence.argmax(-1)
    return weights[torch.arange(len(where), device=where.device), where]


def _top(weights: Tensor, mask: Tensor) -> Tensor:
    return torch.where(mask, weights, -1.0).argmax(-1)
