"""attentest: may this model's attention be shown as the reason for its prediction?

>>> import attentest
>>> verdict = attentest.audit(data="reviews.csv")  # doctest: +SKIP
>>> verdict.show()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "Audit",
    "Explanation",
    "__version__",
    "audit",
    "explain",
    "subject_of_functions",
    "subject_of_module",
]

#: Where each name is found.
_LAZY = {
    "Audit": "attentest.auditing",
    "audit": "attentest.auditing",
    "Explanation": "attentest.report.explanations.explanation",
    "explain": "attentest.explaining",
    "subject_of_functions": "attentest.models.custom.own_model",
    "subject_of_module": "attentest.models.custom.own_module",
}

if TYPE_CHECKING:
    from attentest.auditing import Audit, audit
    from attentest.explaining import explain
    from attentest.models.custom.own_model import subject_of_functions
    from attentest.models.custom.own_module import subject_of_module
    from attentest.report.explanations.explanation import Explanation


def __getattr__(name: str) -> Any:
    """Load the audit or the explanations, and with them torch, only when they are asked for."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'attentest' has no attribute {name!r}")
