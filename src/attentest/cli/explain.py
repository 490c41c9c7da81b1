"""attentest explain."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.sources.explained import explain_answer
from attentest.cli.terminal import Terminal
from attentest.errors import InputError, StorageError
from attentest.printing import echo, echo_json
from attentest.store.outputs import check_output

if TYPE_CHECKING:
    from attentest.report.explanations.explanation import Explanation
    from attentest.report.explanations.translation import Translation

#: The folder of a run that its explanations go to.
FOLDER = "explanations"


def explain(
    text: Annotated[str, typer.Argument(help="The text, in quotation marks; '-' reads it from standard input.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="RUN",
            help="A run's folder, its id or the beginning of it, or 'latest'; or a Transformers checkpoint: its folder "
            "or its name on the hub.",
        ),
    ] = "latest",
    second: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The second text, for a model of pairs; the first is explained.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Explainers ('attentest list explainers'), separated by commas, or repeat; default: five or six.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class to explain; default: the predicted one.")
    ] = None,
    interactions: Annotated[bool, typer.Option("--interactions", help="Also score every pair of words.")] = False,
    interaction_method: Annotated[
        str, typer.Option(metavar="NAME", help="How ('attentest list interactions').")
    ] = "pairwise_occlusion",
    tokenizer: Annotated[
        str | None, typer.Option(metavar="NAME", help="english or whitespace; default: the run's own.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="For a language model: a source to answer from; repeat. The text is asked."),
    ] = None,
    answer: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With sources: the answer; without one the model's own is taken.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the page goes; default: the run's folder, or --runs.")
    ] = None,
    runs: o.Runs = o.DEFAULT_RUNS,
    as_json: o.Json = False,
) -> None:
    """Show which words of a text mattered to a model, by several methods.

    A model that translates writes its translation, and shows which words mattered to each word of it. Of an audit of
    sources ('attentest sources') the text is a question or its id, and its answer is shown with its sources.

    Prints the words in colour and the top ones in print, with what was checked of every method's scores, and writes
    the same as a page.
    """
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--html {html} must end in .html.")
    check_output("--html", html)
    terminal = Terminal(quiet=as_json)
    given = _read() if text == "-" else text
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "The text is not UTF-8. Give it in UTF-8, or from a file: iconv … | attentest explain -."
        ) from error
    if not given.strip():
        raise InputError("The text is empty: there is no word to explain. Give a text with words in it.")
    if (audit := _audit_of(model, runs)) is not None or source or answer is not None:
        if second is not None or target is not None or interactions or tokenizer is not None:
            raise InputError(
                "--second, --target, --interactions and --tokenizer are not for answers from sources: leave them out."
            )
        beside = runs if audit is None else audit
        about: dict[str, Any] = {"sources": source or (), "answer": answer, "methods": methods or (), "html": html}
        explain_answer(given, str(audit or model), **about, folder=beside / FOLDER, as_json=as_json, terminal=terminal)
        return
    with terminal.console.status("Explaining …"):
        from attentest.models.huggingface.checkpoint import is_checkpoint
        from attentest.store.folder import find_run

        found: Explanation | Translation
        alone = is_checkpoint(model, runs)
        fields = None if alone else find_run(model, runs).record["fields"]
        from attentest.explaining import explain as explain_text
        from attentest.explaining import explain_translation
        from attentest.tasks import task_of

        if fields is not None and task_of(fields).writes:
            if second is not None or target is not None or interactions:
                raise InputError(
                    "--second, --target and --interactions are not for a model that writes: leave them out."
                )
            found = explain_translation(given, model, methods=methods or None, tokenizer=tokenizer, runs=runs)
        else:
            found = explain_text(
                given,
                model,
                second=second,
                methods=methods or None,
                target=target,
                interactions=interaction_method if interactions else False,
                tokenizer=tokenizer,
                runs=runs,
            )
    if html is not None:
        found.save(html)
    if as_json:
        echo_json(found.to_record())
        return
    found.show()
    echo()
    if html is not None:
        echo(f"Page  {html}")
        return
    try:
        echo(f"Page  {_beside_the_run(found, runs if alone else Path(found.run))}")
    except StorageError as error:
        terminal.say(f"No page was written. {error}")


def _audit_of(model: str, runs: Path) -> Path | None:
    """The audit of sources that is meant, if it is one: by its folder or id, or the latest run that there is."""
    from attentest.store.folder import find_run
    from attentest.store.sources import find_audit, is_sources

    if model == "latest":
        latest = find_run(model, runs).path if any(runs.glob("*/run.json")) else None
        return latest if latest is not None and is_sources(latest) else None
    return find_audit(model, runs)


def _beside_the_run(found: Explanation | Translation, beside: Path) -> Path:
    """The page, named by the text, the class and the methods: the same question, the same file."""
    from attentest.explaining import SECOND
    from attentest.report.explanations.explanation import Explanation
    from attentest.store.atomic import make_folder

    folder = beside / FOLDER
    make_folder(folder)
    if isinstance(found, Explanation):
        second = [note for note in found.notes if note.startswith(SECOND)]
        asked = json.dumps([found.tokens, found.target, list(found.scores), found.pairs and found.pairs.name, *second])
    else:
        asked = json.dumps([found.tokens, found.words, list(found.scores)])
    letters = (sign if sign.isascii() and sign.isalnum() else " " for sign in " ".join(found.tokens[:6]).lower())
    words = "-".join("".join(letters).split())[:40]
    return found.save(folder / f"{words or 'text'}-{hashlib.sha256(asked.encode()).hexdigest()[:6]}.html")


def _read() -> str:
    """Standard input as text; of one that is closed, nothing."""
    if sys.stdin is None:
        return ""
    data = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"Standard input is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}. Convert it first."
        ) from error
