"""attentest: may this model's attention be shown as the reason for its prediction?

>>> import attentest
>>> verdict = attentest.audit(data="reviews.csv")  # doctest: +SKIP
>>> verdict.show()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Audit", "__version__", "audit"]

if TYPE_CHECKING:
    from attentest.auditing import Audit, audit


def __getattr__(name: str) -> Any:
    """Load the audit, and with it torch, only when it is asked for."""
    if name in ("Audit", "audit"):
        from importlib import import_module

        return getattr(import_module("attentest.auditing"), name)
    raise AttributeError(f"module 'attentest' has no attribute {name!r}")
