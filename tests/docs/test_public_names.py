"""The names that a program may rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

import attentest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
#: A name leaves this list only with a new major version.
NAMES = (
    *("AttentestError", "Audit", "Explanation", "audit", "audit_sources", "explain", "explain_sources"),
    *("Question", "explain_translation", "find_run", "require", "subject_of_functions", "subject_of_module"),
)


def test_the_public_names_stay() -> None:
    assert set(attentest.__all__) == {*NAMES, "__version__"}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(attentest, name).__doc__
    text = PAGE.read_text("utf-8")
    assert f"`attentest.{name}`" in text.partition("## Auditing")[0]
