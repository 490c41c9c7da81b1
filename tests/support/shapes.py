"""Shapes and types are checked at every call, each argument and each result once.

``jaxtyped(typechecker=beartype)`` binds the arguments of every call to their signature and checks them twice, before
the call and after it, so that its message can tell the two apart: a third of the time of most tests. Here beartype
checks once while jaxtyping remembers the axes: ``batch`` is one number throughout a call, its arguments and its result.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

JAXTYPED: Any = jaxtyping.jaxtyped
AXES = JAXTYPED("context")
BEARTYPE = beartype(conf=BeartypeConf(violation_type=jaxtyping.TypeCheckError))


def check_shapes(*packages: str) -> None:
    """From now on, what is imported from these packages is checked."""
    jaxtyping.jaxtyped = checked  # the name that the import hook writes over every function and class
    jaxtyping.install_import_hook(packages, "beartype.beartype")


def checked(made: Any = None, *, typechecker: Any = beartype) -> Any:
    """Check the calls of a function, or the fields that a dataclass is made of."""
    if made is None:
        return functools.partial(checked, typechecker=typechecker)
    if inspect.isclass(made):
        if "__dataclass_fields__" in vars(made) and "__init__" in vars(made):
            made.__init__ = checked(made.__init__, typechecker=typechecker)
        return made
    if isinstance(made, classmethod | staticmethod):
        return type(made)(checked(made.__func__, typechecker=typechecker))
    if not isinstance(made, types.FunctionType) or inspect.isgeneratorfunction(made):
        return JAXTYPED(made, typechecker=typechecker)
    hints = {name: _resolved(hint, made.__globals__) for name, hint in made.__annotations__.items()}
    call = BEARTYPE(_annotated(made, hints))
    return _remembering_axes(made, call) if any(map(_has_axes, hints.values())) else functools.wraps(made)(call)


def _resolved(hint: Any, names: dict[str, Any]) -> Any:
    """The type that an annotation names; any, where it is imported for type checkers alone or not defined yet."""
    try:
        return get_type_hints(types.SimpleNamespace(__annotations__={"it": hint}), names, include_extras=True)["it"]
    except Exception:
        return Any


def _annotated(made: types.FunctionType, hints: dict[str, Any]) -> Callable[..., Any]:
    twin = types.FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, made.__closure__)
    twin.__kwdefaults__, twin.__qualname__, twin.__module__ = made.__kwdefaults__, made.__qualname__, made.__module__
    twin.__annotations__ = hints
    return twin


def _remembering_axes(made: types.FunctionType, call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(made)
    def remembering(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with AXES:
            return call(*args, **kwargs)

    return remembering


def _has_axes(hint: Any) -> bool:
    return hasattr(hint, "dims") or any(map(_has_axes, get_args(hint)))
