"""attentest: may this model's attention be shown as the reason for its prediction?

>>> import attentest
>>> audit = attentest.audit(data="reviews.csv")  # doctest: +SKIP
>>> audit.show()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "AttentestError",
    "Audit",
    "Explanation",
    "Question",
    "__version__",
    "audit",
    "audit_sources",
    "explain",
    "explain_sources",
    "explain_translation",
    "find_run",
    "require",
    "subject_of_functions",
    "subject_of_module",
]

#: Where each name is found: what a program may rely on. Other modules may move.
_LAZY = {
    "AttentestError": "attentest.errors",
    "Audit": "attentest.auditing",
    "audit": "attentest.auditing",
    "audit_sources": "attentest.sources.auditing",
    "Question": "attentest.sources.question",
    "Explanation": "attentest.report.explanations.explanation",
    "explain": "attentest.explaining",
    "explain_sources": "attentest.sources.explaining",
    "explain_translation": "attentest.explaining",
    "find_run": "attentest.store.folder",
    "require": "attentest.testing",
    "subject_of_functions": "attentest.models.custom.own_model",
    "subject_of_module": "attentest.models.custom.own_module",
}

if TYPE_CHECKING:
    from attentest.auditing import Audit, audit
    from attentest.errors import AttentestError
    from attentest.explaining import explain, explain_translation
    from attentest.models.custom.own_model import subject_of_functions
    from attentest.models.custom.own_module import subject_of_module
    from attentest.report.explanations.explanation import Explanation
    from attentest.sources.auditing import audit_sources
    from attentest.sources.explaining import explain_sources
    from attentest.sources.question import Question
    from attentest.store.folder import find_run
    from attentest.testing import require


def __getattr__(name: str) -> Any:
    """Load a part, and torch with it where it needs torch, only when it is asked for."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'attentest' has no attribute {name!r}")
