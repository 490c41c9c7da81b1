"""How numbers and names are written for people.

Tokens, class names and corpus names come from strangers: they are shown after ``visible``, never as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pyarrow.compute as pc

from attentest.printing import visible
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import Estimate

__all__ = ["interval_of", "pair_in_words", "reasons", "signed", "value_of", "visible", "visible_token"]


def signed(found: Estimate) -> str:
    """A difference with its interval, each with a sign."""
    numbers = f"{found.value:+.3f} [{found.low:+.3f}, {found.high:+.3f}]" if found.judged else "not judged"
    return numbers.replace("-0.000", "0.000").replace("-", "−")


def visible_token(token: str, longest: int | None = None) -> str:
    """A token as it is shown: blank and empty ones get a sign."""
    return visible(token, longest) if token.strip(" ") else "␣" * len(token) or "∅"


def pair_in_words(pair: str) -> str:
    """A pair of explainers, or one, as a reader writes it: ``attention ↔ leave-one-out``."""
    return visible(name_in_words(pair))


#: By statistic: what a number is multiplied with, and its decimals.
_UNITS = {"fraction": (100, 1), "share": (100, 1), "bleu": (1, 1), "bleu_change": (1, 1)}

_PER_CENT = ("fraction", "share")


def value_of(found: Estimate, statistic: str) -> str:
    """The estimate alone: a fraction or share in per cent, BLEU with one decimal, anything else with three."""
    if found.judged == 0:
        return "not judged"
    scale, digits = _UNITS.get(statistic, (1, 3))
    return f"{_number(scale * found.value, digits)}{' %' if statistic in _PER_CENT else ''}"


def interval_of(found: Estimate, statistic: str) -> str:
    """The estimate's 95 % interval, in the unit of ``value_of``."""
    if found.judged == 0 or found.low != found.low:
        return ""
    scale, digits = _UNITS.get(statistic, (1, 3))
    return f"[{_number(scale * found.low, digits)}, {_number(scale * found.high, digits)}]"


def _number(value: float, digits: int) -> str:
    """The number with a true minus sign, and without one where it rounds to zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def reasons(findings: Findings, where: Mapping[str, str] | None = None) -> dict[str, int]:
    """Why rows were not judged, and how many for each reason, the most frequent first."""
    table = findings.rows(where)
    if "not_judged" not in table.column_names:
        return {}
    return dict(Counter(pc.drop_null(table["not_judged"]).to_pylist()).most_common())
