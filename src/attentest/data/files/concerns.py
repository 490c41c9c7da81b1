"""What a person should know of the texts before they are audited, one line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attentest.data.files.scripts import share_without_spaces

__all__ = ["concerns_of_labels", "concerns_of_spaces"]

#: So large a share of one class is worth a warning.
MOST_OF_ONE = 0.8
#: So small a share of texts without spaces is let pass.
LEAST_WITHOUT_SPACES = 0.01


def concerns_of_labels(keys: Sequence[object], labels: Sequence[str]) -> Iterator[str]:
    """One class that has nearly all rows, and texts that carry several labels; rows of one key have the same text."""
    counts = Counter(labels)
    (most, count), (least, few) = counts.most_common()[0], counts.most_common()[-1]
    if len(counts) > 1 and count >= MOST_OF_ONE * len(labels):
        yield (
            f"labels are strongly imbalanced: {count / len(labels):.0%} of {len(labels)} rows are {most!r}, "
            f"{few / len(labels):.1%} are {least!r}. A model that always says {most!r} has that accuracy"
        )
    several: dict[object, set[str]] = {}
    for key, label in zip(keys, labels, strict=True):
        several.setdefault(key, set()).add(label)
    if contradicting := {key for key, held in several.items() if len(held) > 1}:
        rows, texts = sum(key in contradicting for key in keys), len(contradicting)
        yield (
            f"{texts} {'text carries' if texts == 1 else 'texts carry'} different labels in different rows "
            f"({rows} rows): no model can be right on all of them"
        )


def concerns_of_spaces(
    texts: Sequence[str], tokenizer: str, remedy: str = "Use --tokenizer characters"
) -> Iterator[str]:
    """Texts of scripts without spaces, of which a tokenizer that goes by spaces makes a few long tokens."""
    if tokenizer == "characters":
        return
    if (share := share_without_spaces(texts)) >= LEAST_WITHOUT_SPACES:
        yield (
            f"{share:.0%} of the texts are written without spaces between words, as Chinese, Japanese or Thai is: "
            f"{tokenizer} tokens are whole phrases there, and attention over them says little. {remedy}"
        )
