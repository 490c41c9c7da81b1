"""Do words act together? Pairs of words in the models of the study limits, for limits.py.

Rules and predictions, written before the run. d of a word or of a pair: what deleting it takes from the margin of the
predicted class. A pair *interacts* where d of the pair differs from the sum of both by more than a quarter of the
larger of the two (sizes, signs aside). Texts: of those with 6 to 60 words, the 30 with the lowest hash of their id;
for negation, those of SST with a negator. Means over seeds and texts, intervals draw both.

1. Predicted: at least a quarter of a text's pairs interact, on every corpus.
2. Predicted: in fewer than three of four texts the pair of largest d is the pair of the two words of largest d.
3. Predicted: on SST, pairs with a negator interact more often than the other pairs of the same text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import torch

from attentest.data.batches import Encoded, bucketed
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers.perturbation.interactions import interactions
from attentest.models.network import Network
from attentest.papers.studies import built_in
from attentest.runs.trained import TrainedRun
from attentest.store.folder import RunFolder
from attentest.studies.plan import plan
from attentest.studies.study import read_study

MUCH, TEXTS, WORDS = 0.25, 30, (6, 60)
NEGATORS = {"not", "no", "never", "nor", "nothing", "cannot", "n't"}
#: By measure and corpus, by seed: a text's id, the text it is drawn with, the figure.
Found = dict[tuple[str, str], dict[int, list[tuple[str, str, float]]]]


def of_models(root: Path) -> Found:
    """Every measure of every finished model of the study limits."""
    found: Found = defaultdict(lambda: defaultdict(list))
    for planned in plan(read_study(built_in()["limits"]), root):
        run = planned.run
        if planned.state != "done" or not isinstance(run, TrainedRun):
            continue
        model, vocabulary = run.load(RunFolder(root / run.id).path, torch.device("cpu"))
        name, test = run.corpus.name, run.corpus["test"]
        for text, _, scores in scored(model, vocabulary, chosen(test)):
            for measure, value in (("interacting", interacting(scores).mean()), ("top_pair", top_pair(scores))):
                found[measure, name][run.seed].append((text, text, float(value)))
        if name == "sst":
            for text, words, scores in scored(model, vocabulary, chosen(test, NEGATORS)):
                pairs, negated = interacting(scores), _pairs_with(words)
                apart = pairs[negated].mean() - pairs[~negated].mean()
                found["negated − others", name][run.seed].append((text, text, float(apart)))
    return found


def chosen(split: Split, having: set[str] | None = None) -> Split:
    """Short texts, by the hash of their ids; all of them, or those with one of these words."""
    words = split.table["tokens"].to_pylist()
    short = [n for n, length in enumerate(split.lengths) if WORDS[0] <= length <= WORDS[1]]
    wanted = [n for n in short if having is None or having & set(words[n])]
    return split.take(sorted(wanted, key=lambda n: sha256(split.ids[n].encode()).hexdigest())[:TEXTS])


@torch.no_grad()
def scored(model: Network, vocabulary: Vocabulary, split: Split) -> Iterator[tuple[str, list[str], torch.Tensor]]:
    """Id, words, and the scores of pairs of every text."""
    words = split.table["tokens"].to_pylist()
    for batches in bucketed(Encoded.of(split, vocabulary), tokens=256):
        for batch in batches:
            every = interactions(model, batch, model.read(batch)).double()
            for row, mask, scores in zip(batch.rows.tolist(), batch.mask, every, strict=True):
                length = int(mask.sum())
                yield split.ids[row], words[row], scores[:length, :length]


def interacting(scores: torch.Tensor) -> torch.Tensor:
    """Which pairs interact, as zeros and ones, by the rule."""
    first, second = _places(len(scores))
    alone = scores.diagonal().abs()
    return (scores[first, second].abs() > MUCH * torch.maximum(alone[first], alone[second])).double()


def top_pair(scores: torch.Tensor) -> bool:
    """Whether the pair of largest d is that of the two words of largest d."""
    first, second = _places(len(scores))
    alone = scores.diagonal()
    together = alone[first] + alone[second] - scores[first, second]
    best = int(together.argmax())
    return {int(first[best]), int(second[best])} == set(alone.topk(2).indices.tolist())


def _places(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = torch.triu_indices(length, length, offset=1).unbind()
    return first, second


def _pairs_with(words: list[str]) -> torch.Tensor:
    negates = torch.tensor([word in NEGATORS for word in words])
    first, second = _places(len(words))
    return negates[first] | negates[second]
