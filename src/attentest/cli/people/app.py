"""The commands of ``attentest people`` share this: the app, how a study is named, and where studies are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from attentest.errors import InputError

if TYPE_CHECKING:
    from attentest.people.study import PeopleStudy

__all__ = ["DEFAULT_PEOPLE", "Root", "Study", "host_of", "people_app", "study_named"]

people_app = typer.Typer(
    help="Ask people about a run's explanations: are the marked words relevant, which explains better, what did the "
    "model answer?",
    no_args_is_help=True,
)

DEFAULT_PEOPLE = Path("people")
Root = Annotated[
    Path,
    typer.Option(
        "--people", metavar="PATH", envvar="ATTENTEST_PEOPLE", help="The folder that holds studies of people."
    ),
]
Study = Annotated[str, typer.Argument(metavar="STUDY", help="A study of people: its name or its folder.")]


def host_of(address: str) -> str:
    """The name of the host in an address that people's browsers open."""
    try:
        found = urlsplit(address)
        name = found.hostname if found.scheme in ("http", "https") else None
        alone = not found.path.strip("/") and not found.query and address.isprintable() and " " not in address
    except ValueError:  # a bracket, say, that is not closed
        name, alone = None, False
    if name is None or not alone:
        raise InputError(f"--at {address[:80]!r} is no address of a server. Write it as https://study.example.org.")
    return name


def study_named(text: str, root: Path) -> PeopleStudy:
    """A study by its path or its name."""
    from attentest.people.study import find_study

    return find_study(text, root)
