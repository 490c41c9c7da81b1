"""What a translator writes by itself, so that it can be examined while it writes just that."""

from __future__ import annotations

from attentest.data.batches import Encoded, bucketed
from attentest.data.corpus import Split
from attentest.data.steps import with_targets
from attentest.data.vocabulary import Vocabulary
from attentest.errors import NotApplicable
from attentest.models.capabilities import Generates
from attentest.models.network import Network
from attentest.progress import SILENT, Progress

__all__ = ["own_translations"]

#: Candidates that are kept while a translation is searched for.
BEAM = 5


def own_translations(model: Network, split: Split, vocabulary: Vocabulary, progress: Progress = SILENT) -> Split:
    """The split with the model's own translations, by beam search, as its targets."""
    if not isinstance(model, Generates) or vocabulary.target is None:
        raise NotApplicable(f"{type(model).__name__} writes no texts. Leave out --forced own.")
    encoded = Encoded.of(split, vocabulary)
    texts: list[list[str]] = [[] for _ in range(len(split))]
    with progress.stage("Translating", len(split)) as tick:
        for batches in bucketed(encoded):
            for batch in batches:
                assert batch.target is not None
                target = batch.target.to(model.device)
                written = model.translate(target.text, target.keys, beam=BEAM)
                lines = zip(target.sentences.tolist(), written.words.tolist(), written.lengths.tolist(), strict=True)
                for row, words, length in lines:
                    texts[row] = vocabulary.target.decode(words[:length])
                tick(batch.texts)
    return with_targets(split, texts)
