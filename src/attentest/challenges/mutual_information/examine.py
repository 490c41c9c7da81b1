"""Mutual information: how much do the states still say about their words?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, numbers, ragged, reasons
from attentest.challenges.mutual_information.clusters import Clusters, KMeans, Sample, nearest, one_state_each
from attentest.data.batches import Encoded
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["MutualInformation"]

SAMPLES = ("frequent", "sampled")
#: The columns that hold one number of all training tokens, in every row.
TRAINING = ("information", "error", "bits", "corrected", "chance", "embedding_entropy", "state_entropy")


@dataclass(frozen=True)
class MutualInformation(Challenge):
    """The mutual information of the clusters of embeddings and of states (Voita et al. 2019).

    Before the first text, the tokens of 1000 words of the training split are clustered twice, by their embeddings
    $e_t$ and by their states $h_t$ (mini-batch k-means, each token seen once). The mutual information of the two
    labellings says how much of the word is still in its state: at most the entropy of the embeddings' clusters,
    and nothing where states do not depend on their words. `training`, of the training tokens, is the paper's; it is
    in nats, which the paper does not say, but its largest figures are near the entropy of the words in nats;
    `training_bits` is in bits. `examined` is that of the texts that are
    examined, by the same clusters.

    All of these are plug-in estimates. With a million cells and fewer tokens they are too large, and so are
    resamples of them: `training_chance`, of shuffled labels, is what no information at all would give, and
    `training_corrected` takes off the first term of the bias (Miller & Madow), which is too much where most cells are
    empty. Compare models on the same tokens, not numbers of different corpora. Intervals are of the mean of
    ln p(x, y) / p(x) p(y) over texts, which is the information; they do not cover the bias. Not part of an audit
    unless asked for.
    """

    name: ClassVar[str] = "mutual_information"
    question: ClassVar[str] = "How much do the states still say about their words?"
    reference: ClassVar[str] = "Tutek & Šnajder 2020, section 3.4; Voita et al. 2019"
    of_classifiers: ClassVar[bool] = True
    sample: Annotated[
        str,
        "`frequent`: the most frequent words of the training split. `sampled`: words drawn in proportion to their "
        "frequency to the power of ¾, none twice.",
    ] = "frequent"
    words: Annotated[int, "How many words.", Within(1, 1_000_000)] = 1000
    clusters: Annotated[int, "How many clusters, of embeddings and of states.", Within(1, 100_000)] = 1000
    batch: Annotated[int, "Tokens in each step of k-means.", Within(1, 1_000_000)] = 100
    reassignment: Annotated[
        float,
        "Centres with fewer tokens than this share of the largest are put elsewhere, as scikit-learn does (0.01). With "
        "fewer different words than clusters it does so at every step, and loses the rare words: on SST the "
        "embeddings' clusters then have an entropy of 4.4 nats, not 5.0, and the paper prints up to 5.1.",
        Within(0, 1),
    ] = 0.0
    representations: Annotated[
        int,
        "At most so many tokens of the training split, of texts drawn at random: it bounds the time.",
        Within(1, 100_000_000),
    ] = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample not in SAMPLES:
            raise InputError(f"mutual_information: sample={self.sample!r} must be one of {', '.join(SAMPLES)}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Of the training tokens, what chance gives, and of the texts examined."""
        return (
            Measure(
                "training",
                "training_information",
                "whole",
                "mutual information of words and states, training tokens (nats)",
                against="training_error",
            ),
            Measure("training_bits", "training_bits", "whole", "the same in bits"),
            Measure("training_chance", "training_chance", "whole", "the same with shuffled labels: chance"),
            Measure("training_corrected", "training_corrected", "whole", "the same less the first term of the bias"),
            Measure("embedding_entropy", "training_embedding_entropy", "whole", "the most it could be (nats)"),
            Measure(
                "examined",
                "state_clusters",
                "information",
                "mutual information of words and states, texts examined (nats)",
                against="embedding_clusters",
            ),
            Measure(
                "examined_chance",
                "drawn_clusters",
                "information",
                "the same with states' clusters drawn at random",
                against="embedding_clusters",
            ),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """The clusters of the texts' tokens, by what was learned of the training texts."""
        mask, reading, training = examination.mask, examination.reading, examination.training
        rows = len(mask)
        if training is None or not one_state_each(reading):
            reason = "there are no training texts" if training is None else "tokens do not have one state each"
            none = pa.nulls(rows, pa.list_(pa.int64()))
            labels = dict.fromkeys(("embedding_clusters", "state_clusters", "drawn_clusters"), none)
            about = {f"training_{name}": pa.nulls(rows, pa.float64()) for name in ("tokens", *TRAINING)}
            columns = {"tokens": pa.nulls(rows, pa.int32()), **labels, **about}
            return pa.table({"row": examination.rows, **columns, "not_judged": reasons((np.ones(rows, bool), reason))})
        found = training.learned(self, lambda encoded: self._learned(examination, encoded))
        here = torch.isin(examination.batch.text.tokens, found.words) & mask
        return pa.table(
            {
                "row": examination.rows,
                "tokens": pa.array(here.sum(-1).cpu().numpy(), pa.int32()),
                "embedding_clusters": ragged(_placed(here, nearest(reading.embeddings[here], found.embeddings)), here),
                "state_clusters": ragged(_placed(here, nearest(reading.states[here], found.states)), here),
                "drawn_clusters": ragged(_drawn(examination, here, found), here),
                **_of_training(found, rows),
                "not_judged": reasons((~here.any(-1).cpu().numpy(), "none of the words that are clustered")),
            }
        )

    def _learned(self, examination: Examination, encoded: Encoded) -> Clusters:
        sample = Sample.of(encoded, self.words, self.sample, self.representations, examination.seed)
        if not len(sample.rows):
            raise InputError("mutual_information: the training texts have no word of the vocabulary to cluster.")
        asked = KMeans(self.clusters, self.batch, self.reassignment)
        return Clusters.learned(examination.subject, encoded, sample, asked)


def _placed(here: Tensor, labels: Tensor) -> Tensor:
    """The labels at their tokens."""
    placed = torch.zeros(here.shape, dtype=torch.int64, device=here.device)
    placed[here] = labels
    return placed


def _drawn(examination: Examination, here: Tensor, found: Clusters) -> Tensor:
    """Clusters of states as often as they occur, whatever the token: by the text's own random numbers."""
    chance = uniforms(examination.batch.keys, 1, here.shape[1], examination.seed, "drawn clusters", examination.mask)
    cumulative = torch.from_numpy(found.cumulative).to(here.device)
    return torch.searchsorted(cumulative, chance[:, 0], right=True).clamp(max=len(cumulative) - 1)


def _of_training(found: Clusters, rows: int) -> dict[str, pa.Array]:
    """What the training tokens gave, in every row."""
    of = found.found
    values = (of.value, found.error, of.value / np.log(2), of.corrected, found.chance, *of[2:])
    named = {"tokens": float(found.tokens), **dict(zip(TRAINING, values, strict=True))}
    return {
        f"training_{name}": numbers(torch.full((rows,), value, dtype=torch.float64)) for name, value in named.items()
    }
