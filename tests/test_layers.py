"""Imports point one way only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "attentest"
LAYERS = [
    {"errors", "__init__"},
    {"devices", "durations", "registry", "progress", "tasks", "memory", "words"},
    {"measures"},
    {"statistics"},
    {"data"},
    {"store"},
    {"readings"},
    {"models"},
    {"training"},
    {"explainers"},
    {"challenges"},
    {"runs"},
    {"studies"},
    {"calibration"},
    {"papers"},
    {"report"},
    {"papers of their own"},
    {"auditing", "catalogue", "explaining"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
FILES = sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return part(path.relative_to(SOURCE).with_suffix("").parts)


def part(names: tuple[str, ...]) -> str:
    """The part of a module; what a paper draws in a way of its own stands above the report, not among the papers."""
    own = names[:1] == ("papers",) and len(names) > 1 and (SOURCE / "papers" / names[1]).is_dir()
    return "papers of their own" if own else names[0]


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module or ""]
        parts = [name.split(".") for name in names]
        found |= {part(tuple(rest)) if rest else "__init__" for package, *rest in parts if package == "attentest"}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_from_its_own_layer_or_below(path):
    own = part_of(path)
    if own == "__init__":
        return
    for other in imports(path):
        assert other == own or HEIGHT[other] < HEIGHT[own], f"{own} must not import {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_can_be_read_in_a_sitting(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


def test_every_part_has_its_layer():
    assert {part_of(path) for path in FILES} <= set(HEIGHT)
