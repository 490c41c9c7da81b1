"""Labels as a file spells them, as classes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from attentest.errors import InputError

__all__ = ["MOST_CLASSES", "classes_of", "is_number", "one_spelling"]

MOST_CLASSES = 1000
#: Beyond this many classes there must be several texts of each: else the column holds ids or titles, not classes.
FEW_CLASSES, TEXTS_OF_EACH = 100, 3
#: More different fractional numbers than this are a measurement, not classes.
MOST_FRACTIONS = 20
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?\s*", re.IGNORECASE | re.ASCII)


def is_number(label: str) -> bool:
    """Whether the label is spelled as a finite number."""
    return _NUMBER.fullmatch(label) is not None and math.isfinite(float(label))


def one_spelling(labels: Sequence[str]) -> list[str]:
    """The labels stripped and, if all are numbers, equal ones spelled alike: 1, 1.0 and 01 are one class."""
    if not all(is_number(label) for label in labels):
        return [label.strip() for label in labels]
    spelled = {label: _number_as_text(float(label)) for label in set(labels)}
    return [spelled[label] for label in labels]


def _number_as_text(number: float) -> str:
    return str(int(number)) if number.is_integer() else repr(number)


def classes_of(labels: Sequence[str], where: str) -> tuple[str, ...]:
    """The different labels in order, by number if all are numbers; ``where`` names file and column."""
    different = set(labels)
    numbers = all(is_number(label) for label in different)
    classes = tuple(sorted(different, key=float) if numbers else sorted(different))
    if len(classes) == 1:
        raise InputError(
            f"one class only: every label in {where} is {classes[0]!r}, and a classifier needs two or more. "
            "Add rows of another class, or name another column (label_column, --label-column)."
        )
    fractions = numbers and not all(float(label).is_integer() for label in different)
    if fractions and (len(classes) > MOST_FRACTIONS or 2 * len(classes) > len(labels)):
        raise InputError(
            f"The labels in {where} look continuous ({len(classes)} different numbers, such as {classes[0]} "
            f"and {classes[1]}): put them into classes, or name another column (label_column, --label-column)."
        )
    wrong = None
    if len(classes) > FEW_CLASSES and len(labels) < TEXTS_OF_EACH * len(classes):
        wrong = f"have fewer than {TEXTS_OF_EACH} of the {len(labels)} texts each"
    elif len(classes) > MOST_CLASSES:
        wrong = f"are more than {MOST_CLASSES}"
    if wrong is not None:
        raise InputError(
            f"{len(classes)} classes in {where} {wrong} (such as {_short(classes[0])} "
            f"and {_short(classes[1])}): merge some, or name another column (label_column, --label-column)."
        )
    return classes


def _short(label: str, limit: int = 40) -> str:
    return repr(label if len(label) <= limit else label[: limit - 1] + "…")
