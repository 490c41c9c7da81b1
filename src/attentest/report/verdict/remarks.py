"""What the tests that train other models add to a verdict, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attentest.presentation.line import Line
from attentest.tasks import TEXTS, Wording

__all__ = ["remarks"]


def remarks(lines: Sequence[Line], wording: Wording = TEXTS) -> Iterator[str]:
    """A sentence for every line that has one for its tone."""
    tone = {line.key: line.tone for line in lines}
    for key, words in _by_tone(wording).items():
        if tone.get(key, "") in words:
            yield words[tone[key]]


def _by_tone(wording: Wording) -> Mapping[str, Mapping[str, str]]:
    item, items = wording.item, wording.items
    return {
        "needed": {
            "supports": "A model trained with uniform weights predicts worse, so the task needs attention.",
            "mixed": "A model trained with uniform weights predicts only a little worse.",
            "against": "A model trained with uniform weights predicts as well, so the task does not need attention.",
        },
        "luck": {
            "supports": f"Other seeds of the same model put the same {items} first.",
            "mixed": f"Another seed of the same model would often put another {item} first.",
            "against": f"Another seed of the same model would more often than not put another {item} first.",
        },
        "carries": {
            "supports": f"A simple model of single {items} predicts better when guided by the weights.",
            "against": f"A simple model of single {items} gains nothing when guided by the weights.",
        },
        "unique": {
            "supports": "A model trained to attend elsewhere no longer predicts the same.",
            "mixed": "A model trained to attend elsewhere predicts the same, but attends only partly elsewhere or "
            "with weights that are a worse guide.",
            "against": "A model trained to attend elsewhere does so, and predicts the same.",
        },
    }
