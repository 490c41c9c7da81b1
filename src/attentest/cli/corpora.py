"""attentest corpora: what there is, get it, prepare it, check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.terminal import Terminal
from attentest.errors import InputError
from attentest.printing import Printer, echo, echo_json
from attentest.store.outputs import check_output

if TYPE_CHECKING:
    from attentest.data.catalog.check import Recounted
    from attentest.data.corpora.declared import Declared

__all__ = ["corpora_app"]

corpora_app = typer.Typer(
    help="Named corpora: list, get, prepare and check them.",
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Name = Annotated[str, typer.Argument(help="A corpus by name, as 'attentest corpora' lists it.")]
From = Annotated[
    Path | None, typer.Option("--from", metavar="DIR", help="Your own copy of the official files, unpacked.")
]
Preset = Annotated[str | None, typer.Option(metavar="NAME", help="paper, released, or another the corpus has.")]


@corpora_app.callback()
def corpora(context: typer.Context, as_json: o.Json = False) -> None:
    """List every corpus: task, rows, licence, where it comes from, and whether it is on this machine."""
    if context.invoked_subcommand is not None:
        return
    from attentest.cli.corpora_tables import entries, list_table

    terminal = Terminal(quiet=as_json)
    with terminal.console.status("Looking for corpora …"):
        found = entries()
    if as_json:
        echo_json(found)
        return

    Printer().print(list_table(found))
    echo("\nGet one:  attentest corpora get NAME\nUse it:   attentest audit --corpus NAME")


@corpora_app.command("get")
def get(
    name: Name,
    from_folder: From = None,
    source: Annotated[
        str | None, typer.Option(metavar="KIND", help="archive or hub; default: the first the corpus names.")
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Put a corpus on this machine.

    It comes from its official archive, from the hub, or from your own copy of its files (--from). Downloads go on
    where they stopped, and nothing is replaced before the new copy is whole.
    """
    from attentest.data.catalog import installing

    declared = _declared(name)
    done = installing.get(declared, source=source, from_folder=from_folder, progress=Terminal(quiet=quiet))
    rows = ", ".join(f"{count:,} {split}" for split, count in done.rows.items())
    echo(f"{declared.name}: {rows}")
    echo(f"Licence {declared.licence}")
    if declared.citation:
        echo(f"Cite    {declared.citation}")
    echo(f"Rows    {done.folder}")


@corpora_app.command("prepare")
def prepare(name: Name, from_folder: From = None, preset: Preset = None, quiet: o.Quiet = False) -> None:
    """Tokenise a corpus the way a paper did.

    The result is kept, and made again only when the rows, the options or the code have changed.
    """
    from attentest.data.catalog import installing
    from attentest.data.catalog.prepared import load_prepared, prepared_folder

    terminal = Terminal(quiet=quiet)
    declared = _declared(name, preset)
    if from_folder is not None:
        installing.get(declared, from_folder=from_folder, progress=terminal)
    corpus = load_prepared(declared, progress=terminal)
    sizes = ", ".join(f"{len(split):,} {part}" for part, split in corpus.splits.items())
    echo(f"{corpus.name}: {sizes}; classes {_listed(corpus.classes)}")
    echo(f"Made    {corpus.provenance.preparation}")
    if corpus.provenance.partial:
        echo(f"Partial {corpus.provenance.partial}")
    for line in corpus.provenance.left_out:
        echo(f"        {line}")
    echo(f"Digest  {corpus.digest}")
    echo(f"Kept    {prepared_folder(declared)}")


@corpora_app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(help="Corpora to recount; default: all that are here.")] = None,
    preset: Preset = None,
    as_json: o.Json = False,
) -> None:
    """Recount, and compare with the published figures.

    Every official or published figure stands beside ours, each difference with its reason.
    """

    from attentest.cli.corpora_tables import check_table, recounted_record

    terminal = Terminal(quiet=as_json)
    records: list[dict[str, Any]] = []
    agree = differ = 0
    for declared, title, lines in _recounted(names or [], preset, terminal):
        agree += sum(line.agrees for line in lines)
        differ += sum(not line.agrees for line in lines)
        if as_json:
            records += [recounted_record(declared, title, line) for line in lines]
        else:
            Printer().print(check_table(title, lines), "")
    if as_json:
        echo_json(records)
    else:
        echo(f"{agree} figures agree, {differ} differ.")


def _recounted(names: list[str], preset: str | None, terminal: Terminal) -> Any:
    """Each corpus in each preparation that has figures, with what a recount gives."""
    from attentest.data.catalog.check import recount
    from attentest.data.catalog.presets import names_of, with_preset
    from attentest.data.catalog.raw import where
    from attentest.data.corpora import CORPORA
    from attentest.data.corpora.declared import Declared

    chosen = names or [name for name in CORPORA if issubclass(CORPORA[name], Declared)]
    for name in chosen:
        first = _declared(name, preset)
        here = where(first)
        if not names and here.here == "no":
            continue
        wanted = [first]
        if preset is None and first == type(first)():
            others = [with_preset(type(first), other) for other in first.presets]
            figures = [other for other in others if any(set(names_of(other)) & set(e.presets) for e in first.expected)]
            wanted += [other for i, other in enumerate(figures) if other != first and other not in figures[:i]]
        for declared in wanted:
            lines: list[Recounted] = recount(declared, progress=terminal)
            known = "/".join(names_of(declared))
            title = f"{declared.name}{f' as {known}' if known and declared.presets else ''}"
            short = "; ".join([*(f"no {split}" for split in here.missing), *here.short])
            yield declared, f"{title} (partial: {short})" if short else title, lines


@corpora_app.command("vectors")
def vectors(
    name: Name,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write them: an .npz file for --vectors.")],
    dimension: Annotated[int, typer.Option(metavar="N", min=1, help="Numbers in a vector.")] = 300,
    window: Annotated[int, typer.Option(metavar="N", min=1, help="Words to each side that count as context.")] = 5,
    epochs: Annotated[int, typer.Option(metavar="N", min=1, help="Passes over the training texts.")] = 5,
    skip_gram: Annotated[bool, typer.Option("--skip-gram", help="Skip-gram instead of CBOW.")] = False,
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
) -> None:
    """Train word2vec vectors on a corpus.

    Its training texts are used, as was done for MIMIC; give the file to --vectors.
    """
    from attentest.data.corpora import CORPORA
    from attentest.data.word2vec import Word2Vec

    check_output("--out", out)
    corpus = CORPORA.parse(name).load()
    made = Word2Vec(dimension, window, epochs, skip_gram, seed).train(corpus, out, progress=Terminal(quiet=quiet))
    echo(f"{int(made.found.sum()):,} words of {made.dimension} numbers; they cover {made.types:.1%} of the")
    echo(f"vocabulary and {made.tokens or 0:.1%} of the training tokens.")
    echo(f"Vectors {out}")


def _declared(name: str, preset: str | None = None) -> Declared:
    """The corpus of that name; one that is generated has no files to get, prepare or check."""
    from attentest.data.catalog.presets import with_preset
    from attentest.data.corpora import CORPORA
    from attentest.data.corpora.declared import Declared

    value = CORPORA.parse(name)
    if not isinstance(value, Declared):
        raise InputError(
            f"Corpus {name!r} is generated by attentest: nothing to get, prepare or check. "
            f"Use it: attentest audit --corpus {name}."
        )
    if preset is None:
        return value
    if value != type(value)():
        raise InputError(f"{name!r} has options of its own and --preset {preset!r} sets them: give one of the two.")
    return with_preset(type(value), preset)


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
