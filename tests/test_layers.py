"""How the house is built: imports point one way, files and folders stay small, rooms keep what is theirs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "attentest"
LAYERS = [
    {"errors", "__init__"},
    {"parameters"},
    {"cores", "devices", "durations", "printing", "registry", "progress", "tasks", "memory", "words"},
    {"measures"},
    {"statistics"},
    {"data"},
    {"store"},
    {"presentation"},
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
    {"people"},
    {"sources"},
    {"auditing", "catalogue", "explaining"},
    {"deceiving"},
    {"explorer"},
    {"testing"},
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


ROOT = SOURCE.parents[1]
EVERY = [
    path for part in ("src", "tests", "benchmarks", "scripts", "docs") for path in sorted((ROOT / part).rglob("*.py"))
]
#: A folder with more modules than this shows no architecture; corpora are one file each.
MODULES, MANY = 15, ("src/attentest/data/corpora", "tests/data/corpora")
#: What has an underscore in front and is public all the same: an exit without farewell, the methods of named tuples.
PUBLIC = {"_exit", "_fields", "_replace"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("folder", sorted({path.parent for path in EVERY}), ids=named)
def test_a_folder_can_be_seen_at_a_glance(folder):
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MODULES or named(folder) in MANY


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


@pytest.mark.parametrize("path", EVERY, ids=named)
def test_no_private_name_is_used_across_modules(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported, used = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("attentest", "tests"):
            imported |= {alias.asname or alias.name for alias in node.names}
            used |= {alias.name for alias in node.names if private(alias.name)}
        elif isinstance(node, ast.Import):
            imported |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr) and isinstance(node.value, ast.Name):
            used |= {node.attr} if node.value.id in imported else set()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            said = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
            used |= {text for text in said if isinstance(text, str) and private(text.rpartition(".")[2])}
    assert used <= PUBLIC


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_nobody_asks_for_the_kind_of_a_model_but_its_own_room(path):
    text = path.read_text(encoding="utf-8")
    if "huggingface" not in path.parts:
        assert not re.search(r"isinstance\(.*Pretrained", text)
    assert ".generates" not in text
