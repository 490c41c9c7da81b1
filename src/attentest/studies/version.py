"""The version of code: a hash of the modules that decide a result, whatever their comments and docstrings say.

A run's id holds the version of what trained its model and of every challenge, so that findings of old code are never
taken for findings of new code, and a change elsewhere recomputes nothing. A module's version covers the modules it
imports from the same package, and theirs. Packages' ``__init__`` files hold tables, not behaviour, and are passed over:
an explainer that nobody asked for does not count.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

__all__ = ["version_of"]


@cache
def version_of(*modules: str) -> str:
    """One short hash of these modules and everything of their own packages that they import."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and _source(module) is not None:
            found.add(module)
            waiting.extend(_imported(module))
    total = hashlib.sha256()
    for module in sorted(found):
        total.update(f"{module}\0{_meaning(module)}\0".encode())
    return total.hexdigest()[:12]


@cache
def _source(module: str) -> Path | None:
    """The module's file, found without importing it; None for a package's table and for what is not Python."""
    package, _, rest = module.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    if not rest:
        return None if spec.submodule_search_locations else Path(spec.origin)
    path = Path(spec.origin).parent.joinpath(*rest.split(".")).with_suffix(".py")
    return path if path.is_file() else None


@cache
def _tree(module: str) -> ast.Module:
    path = _source(module)
    assert path is not None
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imported(module: str) -> tuple[str, ...]:
    """The modules of the same package that a module imports, those for type checkers left out."""
    package = module.partition(".")[0]
    names = [name for name in _import_names(_tree(module)) if name.partition(".")[0] == package]
    return tuple(sorted(set(names)))


def _import_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _import_names(child)


@cache
def _meaning(module: str) -> str:
    """The syntax tree as text, without docstrings; the same in every version of Python that reads the module."""
    return "".join(_written(_tree(module)))


def _written(node: object) -> Iterator[str]:
    if isinstance(node, ast.AST):
        yield f"{type(node).__name__}("
        for name, value in ast.iter_fields(node):
            if name in ("ctx", "kind", "type_comment") or value is None or value == []:
                continue
            if name == "body" and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                value = _without_docstring(value)  # noqa: PLW2901
            yield f"{name}="
            yield from _written(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for item in node:
            yield from _written(item)
            yield ","
        yield "]"
    else:
        yield repr(node)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body
