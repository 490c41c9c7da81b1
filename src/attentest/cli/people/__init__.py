"""attentest people: ask people about a run's explanations, and say what they answered."""

from __future__ import annotations

from attentest.cli.people.annotators import forget, invite, simulate
from attentest.cli.people.app import people_app
from attentest.cli.people.exchange import export, import_
from attentest.cli.people.results import power, results
from attentest.cli.people.serve import serve
from attentest.cli.people.studies import ls, new, status

__all__ = ["people_app"]

for name, command in (
    *(
        ("new", new),
        ("invite", invite),
        ("serve", serve),
        ("ls", ls),
        ("status", status),
        ("results", results),
        ("export", export),
    ),
    *(("import", import_), ("forget", forget), ("power", power), ("simulate", simulate)),
):
    people_app.command(name)(command)
