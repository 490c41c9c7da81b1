"""attentest people invite, simulate and forget: who answers."""

from __future__ import annotations

from typing import Annotated

import typer

from attentest.cli import options as o
from attentest.cli.people.app import DEFAULT_PEOPLE, Root, Study, host_of, study_named
from attentest.errors import InputError
from attentest.printing import echo

__all__ = ["forget", "invite", "simulate"]


def invite(
    study: Study,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Annotators; pseudonyms are best.")],
    at: Annotated[
        str, typer.Option(metavar="URL", help="Where the study is served, as links begin.")
    ] = "http://127.0.0.1:8474",
    new_link: Annotated[
        bool, typer.Option("--new-link", help="A new link for somebody who lost theirs; the old one stops working.")
    ] = False,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Invite annotators and print a link for each. A link is shown once: only its hash is kept."""
    from attentest.people.answers import check_name

    host_of(at)
    if len(set(names)) < len(names):
        raise InputError("A name is given twice: call every annotator by their own.")
    with study_named(study, people) as found:
        for name in names:
            check_name(name)
        if not new_link:
            known = {each.name for each in found.store.annotators()}
            if taken := [name for name in names if name in known]:
                raise InputError(
                    f"{taken[0]!r} was invited before. Choose another name, or ask for a new link (--new-link)."
                )
        width = max(map(len, names))
        for name in names:
            link = found.store.new_link(name) if new_link else found.invite(name)
            echo(f"{name:<{width}}  {at.rstrip('/')}/people/{found.name}/{link}")


def simulate(
    study: Study,
    annotators: Annotated[int, typer.Option(metavar="N", help="How many.")] = 3,
    slip: Annotated[float, typer.Option(metavar="X", help="How often one gives a wrong answer.")] = 0.1,
    careless: Annotated[int, typer.Option(metavar="N", help="How many of them answer at random and fail checks.")] = 0,
    seed: o.Seed = 0,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Add simulated annotators, who answer by the planted truth and slip now and then; never mixed with people."""
    from attentest.people.simulated import expected_kappa
    from attentest.people.simulated import simulate as simulated

    with study_named(study, people) as found:
        names = simulated(found, annotators, slip, seed, careless)
        steady = names[: len(names) - careless]
        expected = expected_kappa(found, steady) if len(steady) > 1 else None
    should = "" if expected is None else f"; κ of those who read should be {expected:.2f}"
    echo(f"Simulated  {', '.join(names)}{should}\nNext       attentest people results {study} --simulated")


def forget(
    study: Study,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Who withdraws; none: erase what a busy file kept.")
    ] = None,
    people: Root = DEFAULT_PEOPLE,
) -> None:
    """Delete annotators with all they answered, for good; the report page, which may show it, goes too.

    What was exported before, and backups, are yours to delete.
    """
    with study_named(study, people) as found:
        chosen = [found.store.named(name) for name in names or ()]
        for who in chosen:
            gone = found.forget(who)
            echo(f"{who.name}: deleted with {gone} answers. Delete exports and backups that hold them, too.")
        if not chosen:
            found.store.erase()
            echo("Erased: the file holds nothing that was deleted.")
