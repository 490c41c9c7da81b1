"""attentest people results and power: what was answered, and how many answers are enough."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from attentest.cli import options as o
from attentest.cli.people.app import DEFAULT_PEOPLE, Root, Study, study_named
from attentest.printing import Printer, echo, echo_json, json_text

__all__ = ["power", "results"]


def results(
    study: Study,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Those of simulated annotators, which are in no other figure.")
    ] = False,
    people: Root = DEFAULT_PEOPLE,
    as_json: o.Json = False,
) -> None:
    """Say whether the explanation is plausible to people, with tables, agreement and power; write the report page."""
    from attentest.people.results.page import write_page
    from attentest.people.results.results import results_of
    from attentest.people.results.terminal import shown

    with study_named(study, people) as found:
        computed = results_of(found, "simulated" if simulated else "people")
        target = write_page(found, computed)
        if as_json:
            echo_json(computed.record())
            return
        console = Printer(highlight=False)
        for part in shown(computed):
            console.print(part)
        console.print(Text(f"\nReport  {target}"), soft_wrap=True)


def power(
    annotators: Annotated[int, typer.Option(metavar="N", help="How many people answer the same items.")] = 3,
    half_width: Annotated[
        float, typer.Option(metavar="X", help="How well a share is to be known: 0.1 is ±10 points, 95 % interval.")
    ] = 0.1,
    share: Annotated[float, typer.Option(metavar="X", help="The share that you expect; 0.5 needs most.")] = 0.5,
    agreement: Annotated[
        float, typer.Option(metavar="X", help="How alike answers to one item are; about the κ that you expect.")
    ] = 0.6,
    people_differ: Annotated[
        float, typer.Option(metavar="X", help="How alike the answers of one person are, beyond that; a pilot tells.")
    ] = 0.01,
    overlap: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Items that everybody gets; the others are dealt. Default: all."),
    ] = None,
    conditions: Annotated[int, typer.Option(metavar="N", min=1, help="Conditions, as original and permuted.")] = 2,
    seconds: Annotated[
        float, typer.Option(metavar="S", min=0, help="Seconds that an answer takes; a pilot tells.")
    ] = 20.0,
    pay: Annotated[float, typer.Option(metavar="X", min=0, help="Pay for an hour, in your currency.")] = 15.0,
    fee: Annotated[float, typer.Option(metavar="X", min=0, help="What a platform adds, as a share of the pay.")] = 0.33,
    as_json: o.Json = False,
) -> None:
    """Say how many items people must answer for an interval of this width, how long it takes and what it costs."""
    from attentest.people.results.power import plan_of

    plan = plan_of(
        annotators,
        half_width,
        share,
        agreement,
        people_differ,
        conditions=conditions,
        seconds=seconds,
        pay=pay,
        fee=fee,
        overlap=overlap,
    )
    echo(json_text(plan.record()) if as_json else plan.text)
