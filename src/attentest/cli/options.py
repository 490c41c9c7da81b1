"""From options as they are declared to options of the command line, and those that several commands share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from attentest.runs.options import OPTIONS, Option, Options

__all__ = ["DEFAULT_RUNS", "Device", "Fresh", "Grouped", "Json", "Quiet", "Runs", "Seed", "spread"]

DEFAULT_RUNS = Path("runs")

Seed = Annotated[int, typer.Option(metavar="N", min=0, max=OPTIONS["seed"].most, help=OPTIONS["seed"].help)]
Device = Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or auto.")]
Runs = Annotated[Path, typer.Option(metavar="PATH", envvar="ATTENTEST_RUNS", help="The folder that holds runs.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Compute again what is already there.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; only the outcome.")]
Json = Annotated[bool, typer.Option("--json", help="The outcome as JSON on standard output.")]
Port = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=65535, help="The port; default: the first free one from 8474.")
]
Host = Annotated[
    str, typer.Option(metavar="NAME", help="Another host than this machine alone; a token is then asked for.")
]
Token = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The token; default: where others can ask, one is made up.")
]


class Grouped(TyperCommand):
    """A command whose help shows its options in groups, those without one last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write every group under its name."""
        groups: dict[str, list[tuple[str, str]]] = {}
        rest: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Other options": []}
        for parameter in self.get_params(ctx):
            group = getattr(parameter, "rich_help_panel", None)
            kind = rest["Arguments" if parameter.param_type_name == "argument" else "Other options"]
            if (record := parameter.get_help_record(ctx)) is not None:
                (groups.setdefault(group, []) if group else kind).append(record)
        for name, records in {"Arguments": rest["Arguments"], **groups, **rest}.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for every field of the dataclasses among its parameters, in their place.

    Of ``Options`` it has those that are declared for a command of its name.
    """
    own = inspect.signature(command, eval_str=True).parameters
    made = {
        name: {option.name: option for option in _fields(parameter.annotation, command.__name__)}
        for name, parameter in own.items()
        if dataclasses.is_dataclass(parameter.annotation)
    }
    parameters = [one for name, kept in own.items() for one in (made[name].values() if name in made else (kept,))]
    signature = inspect.Signature([one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters])

    @functools.wraps(command)
    def called(**given: Any) -> None:
        bound = signature.bind(**given)
        bound.apply_defaults()
        values = bound.arguments
        for name, options in made.items():
            kind: Any = own[name].annotation
            chosen = {option: values.pop(option) for option in options}
            values[name] = kind(**(_read(chosen) if kind is Options else chosen))
        command(**values)

    called.__signature__ = signature  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _fields(kind: Any, command: str) -> Iterator[inspect.Parameter]:
    """The parameters of a command that stand for a dataclass."""
    hints = {} if kind is Options else inspect.get_annotations(kind, eval_str=True)
    for field in dataclasses.fields(kind):
        if kind is not Options:
            annotation: Any = hints[field.name]
        elif command in OPTIONS[field.name].commands:
            annotation = _typed(OPTIONS[field.name])
        else:
            continue
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation
        )


def _typed(option: Option) -> Any:
    """The type of an option for Typer, with what its help shows."""
    kind: Any = list[option.type] if option.many else option.type  # type: ignore[name-defined]
    about: dict[str, Any] = {"help": option.help, "rich_help_panel": option.group}
    if option.type is not bool:
        about |= {"metavar": option.metavar, "min": option.least, "max": option.most}
    return Annotated[kind | None, typer.Option(*([option.flag] if option.flag else []), **about)]


def _read(chosen: dict[str, Any]) -> dict[str, Any]:
    """The values that texts of the command line stand for."""
    values = {name: value for name, value in chosen.items() if value not in (None, [])}
    return {name: read(value) if (read := OPTIONS[name].read) else value for name, value in values.items()}
