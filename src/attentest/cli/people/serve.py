"""attentest people serve: annotators answer in their browsers."""

from __future__ import annotations

from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.cli.people.app import DEFAULT_PEOPLE, Root, host_of
from attentest.errors import InputError
from attentest.printing import echo

__all__ = ["serve"]


def serve(
    studies: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STUDY...]", help="Studies to serve, by name or folder; default: all."),
    ] = None,
    port: o.Port = None,
    host: o.Host = "127.0.0.1",
    at: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The address that people use, where a proxy stands before this server."),
    ] = None,
    token: o.Token = None,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Serve studies of people: annotators answer by their links, and you see how far they are. Ctrl-C ends it.

    An annotator's link opens their own pages and nothing else. Where other machines can reach the server, your own
    pages ask for a token. No run is served; 'attentest explore' does that.
    """
    from attentest.explorer.people.server import people_server
    from attentest.explorer.people.studies import PeopleStudies
    from attentest.explorer.serving import address_of, listening, token_for
    from attentest.explorer.serving import serve as serve_until_interrupted
    from attentest.people.study import find_study, studies_in

    known_as = None if at is None else host_of(at)
    paths = [find_study(name, people).path for name in studies or ()]
    if len({path.name for path in paths}) < len(paths):
        raise InputError("Two of these studies have one name, so that links could mean either. Serve one at a time.")
    if not paths and not any(studies_in(people)):
        raise InputError(f"There is no study of people in {people}. Make one: attentest people new RUN --name NAME")
    asked = token_for(host, token, public=known_as is not None)
    socket = listening(host, port)
    address = (at or address_of(host, socket)).rstrip("/")
    echo(
        f"Studies   {address}/people{f'?token={asked}' if asked else ''}\n"
        f"Links     attentest people invite STUDY NAME --at {address}\n"
        "Ctrl-C ends it; answers are on disk as they come."
    )
    app = people_server(PeopleStudies(people, paths), host=host, token=asked, known_as=known_as)
    serve_until_interrupted(app, socket)
