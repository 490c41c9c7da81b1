"""The version of code: a hash of the definitions that decide a result, whatever their comments and docstrings say.

A run's id holds the version of what trained its model and of every challenge, so that findings of old code are never
taken for findings of new code, and a change elsewhere recomputes nothing. From the classes and functions that a run
names, the version follows every name that they use, annotations included, to its definition in the same package, and
so on. Where a definition stands does not count: moving a module, or a function between modules, changes no version.
Neither do the words and the bounds of a parameter, ``Annotated[int, "words", Within(1, 9)]``.

Two things end the way. A registry is a table: what a run chose from it, the run names itself. So are the assignments in
a package's ``__init__``; what it only passes on is followed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["name_of", "version_of"]


def name_of(definition: type) -> str:
    """A class as ``module:name``, the way roots are written."""
    return f"{definition.__module__}:{definition.__qualname__.partition('.')[0]}"


@cache
def version_of(*roots: str) -> str:
    """One short hash of these definitions, ``module:name`` or all of a ``module``, and of what they use."""
    found: set[Definition] = set()
    waiting = [definition for root in roots for definition in _found(*_split(root))]
    while waiting:
        definition = waiting.pop()
        if definition not in found:
            found.add(definition)
            waiting.extend(used for _, used in definition.uses())
    versions = sorted(definition.version() for definition in found)
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:12]


def forget() -> None:
    """Read every source again the next time: for tests that change one."""
    for cached in (version_of, _source, _module, Definition.uses, Definition.text):
        cached.cache_clear()


@dataclass(frozen=True)
class Definition:
    """One statement at the top of a module: a class, a function, an assignment, or what is done on import."""

    module: str
    index: int

    @property
    def statement(self) -> ast.stmt:
        """Its syntax tree."""
        return _module(self.module).body[self.index]

    @cache  # noqa: B019
    def text(self) -> str:
        """A hash of the syntax tree without docstrings, the same in every version of Python that reads it."""
        written: list[str] = []
        _write(self.statement, written)
        return hashlib.sha256("".join(written).encode()).hexdigest()

    @cache  # noqa: B019
    def uses(self) -> tuple[tuple[str, Definition], ...]:
        """The names in it that its package defines, with their definitions, and what its module does on import."""
        module = _module(self.module)
        names = {**module.imports, **_imports(self.statement, self.module)}
        package = self.module.partition(".")[0]
        found = [("", Definition(self.module, index)) for index in module.acts]
        for name, *attributes in sorted(set(_names(self.statement))):
            if name in names:
                target, path = names[name]
                if target.partition(".")[0] == package:
                    found += [(name, used) for used in _followed(target, [*path, *attributes])]
            elif (index := module.names.get(name)) is not None:
                found.append((name, Definition(self.module, index)))
        return tuple(dict.fromkeys((name, used) for name, used in found if used != self))

    def version(self) -> str:
        """Its own text and that of what each of its names stands for."""
        used = sorted(f"{name}={definition.text()}" for name, definition in self.uses())
        return hashlib.sha256(" ".join([self.text(), *used]).encode()).hexdigest()


@dataclass(frozen=True)
class _Module:
    body: list[ast.stmt]
    #: The statement that defines each name, by its place.
    names: dict[str, int]
    #: What each imported name stands for: a module, and the path within it.
    imports: dict[str, tuple[str, list[str]]]
    #: Statements that define nothing and are done on import.
    acts: list[int]


def _split(root: str) -> tuple[str, list[str]]:
    module, _, name = root.partition(":")
    return module, [name] if name else []


def _followed(module: str, path: list[str]) -> Iterator[Definition]:
    """What ``module.a.b`` stands for: as much of the path as names modules, then the definition."""
    while path and _source(f"{module}.{path[0]}") is not None:
        module, path = f"{module}.{path[0]}", path[1:]
    if _source(module) is not None:
        yield from _found(module, path)


def _found(module: str, path: list[str]) -> Iterator[Definition]:
    """The definition that a path within a module names; all of the module where it names none."""
    read, table = _module(module), _is_table(module)
    if not path:
        if not table:
            yield from (Definition(module, index) for index in sorted({*read.names.values(), *read.acts}))
    elif path[0] in read.imports:
        target, rest = read.imports[path[0]]
        if target.partition(".")[0] == module.partition(".")[0]:
            yield from _followed(target, [*rest, *path[1:]])
    elif path[0] in read.names and not (
        table and isinstance(read.body[read.names[path[0]]], ast.Assign | ast.AnnAssign)
    ):
        yield Definition(module, read.names[path[0]])


@cache
def _source(module: str) -> Path | None:
    """The module's file, found without importing it; None for what is not Python."""
    package, _, rest = module.partition(".")
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    if not rest:
        return Path(spec.origin)
    path = Path(spec.origin).parent.joinpath(*rest.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _is_table(module: str) -> bool:
    source = _source(module)
    return source is not None and source.name == "__init__.py"


@cache
def _module(module: str) -> _Module:
    path = _source(module)
    if path is None:
        raise ModuleNotFoundError(f"No source of {module!r} is found.")
    body = _WithoutWords().visit(ast.parse(path.read_text(encoding="utf-8"))).body
    names: dict[str, int] = {}
    imports: dict[str, tuple[str, list[str]]] = {}
    acts: list[int] = []
    for index, statement in enumerate(body):
        if _for_type_checkers(statement) or _is_registry(statement):
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports |= _imports(statement, module)
        elif defined := set(_defined(statement)) - {"__all__"}:
            names |= dict.fromkeys(defined, index)
            imports |= _imports(statement, module) if isinstance(statement, ast.If | ast.Try) else {}
        elif not isinstance(statement, ast.Assign) and not _is_text(statement):
            acts.append(index)
    return _Module(body, names, imports, acts)


class _WithoutWords(ast.NodeTransformer):
    """``Annotated[int, "words", Within(1, 9)]`` as ``int``: words decide nothing, nor does what is refused."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """The type alone."""
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated" and isinstance(node.slice, ast.Tuple):
            return node.slice.elts[0]
        return node


def _for_type_checkers(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.If) and isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"
    )


def _is_registry(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Call):
        return False
    made = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    return isinstance(made, ast.Name) and made.id == "Registry"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _defined(statement: ast.AST) -> Iterator[str]:
    """The names that a statement at the top of a module gives a meaning to."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Name) and isinstance(statement.ctx, ast.Store):
        yield statement.id
    else:
        for child in ast.iter_child_nodes(statement):
            yield from _defined(child)


def _imports(node: ast.AST, module: str) -> dict[str, tuple[str, list[str]]]:
    """What the names imported anywhere in a statement stand for; those for type checkers are left out."""
    found: dict[str, tuple[str, list[str]]] = {}
    if isinstance(node, ast.expr) or _for_type_checkers(node):  # no expression imports
        return found
    if isinstance(node, ast.Import):
        for alias in node.names:
            found[alias.asname or alias.name.partition(".")[0]] = (
                (alias.name, []) if alias.asname else (alias.name.partition(".")[0], [])
            )
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = module.split(".")[: -node.level + (1 if _is_table(module) else 0) or None]
            base = ".".join([*above, *([base] if base else [])])
        found |= {alias.asname or alias.name: (base, [alias.name]) for alias in node.names}
    for child in ast.iter_child_nodes(node):
        found |= _imports(child, module)
    return found


def _names(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The names that a statement uses, each with the attributes asked of it directly."""
    if _for_type_checkers(node):
        return
    if isinstance(node, ast.Name | ast.Attribute):
        path: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            path.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield (inner.id, *reversed(path))
            return
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _write(node: object, written: list[str]) -> None:
    """Add a syntax tree to what is written."""
    if isinstance(node, ast.AST):
        written.append(f"{type(node).__name__}(")
        for name, value in ast.iter_fields(node):
            if name in ("ctx", "kind", "type_comment") or value is None or value == []:
                continue
            if name == "body" and isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                value = _without_what_does_nothing(value)  # noqa: PLW2901
            written.append(f"{name}=")
            _write(value, written)
        written.append(")")
    elif isinstance(node, list):
        written.append("[")
        for item in node:
            _write(item, written)
            written.append(",")
        written.append("]")
    else:
        written.append(repr(node))


def _without_what_does_nothing(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body apart from its docstring, and from imports, whose names are followed instead."""
    return [
        statement
        for index, statement in enumerate(body)
        if not (index == 0 and _is_text(statement)) and not isinstance(statement, ast.Import | ast.ImportFrom)
    ]
