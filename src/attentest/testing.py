"""Hold a model to its verdict in a test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attentest.report.verdict.judge import judge
from attentest.report.verdict.requirements import check, requirements
from attentest.store.folder import RunFolder, find_run

if TYPE_CHECKING:
    from attentest.auditing import Audit

__all__ = ["require"]


def require(audited: Audit | RunFolder | str | Path, *, runs: str | Path = "runs", **least: str) -> None:
    """Raise an AssertionError that says why, where an audit's verdict is worse than required.

    ``audited`` is an audit, a finished run, or a run's folder, id or "latest" among those in ``runs``. What is required
    are the least answers that will do, "yes" or "with care", of ``reason`` (say which words mattered), ``check``
    (check where the model looks) and ``one`` (give it as the one reason): ``require(audit, reason="with care")``.
    "no" and "cannot say" are worse than either.
    """
    required = requirements(least.items())
    found = find_run(str(audited), Path(runs)) if isinstance(audited, str | Path) else audited
    verdict = judge(found) if isinstance(found, RunFolder) else found.verdict
    checked = check(verdict, required)
    if failing := [one.line for one in checked if not one.met]:
        raise AssertionError("\n".join(["The verdict is worse than required:", *failing]))
