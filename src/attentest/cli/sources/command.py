"""attentest sources: which source did a language model's answer come from, and does attention tell?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from attentest.cli import options as o
from attentest.cli.sources.several import several
from attentest.cli.terminal import Terminal
from attentest.errors import InputError
from attentest.printing import Printer, echo, echo_json
from attentest.store.outputs import check_output

__all__ = ["sources"]

#: Made-up questions; more say nothing more, and are all in memory before the first is asked.
MOST = 1_000_000


def sources(
    model: Annotated[
        list[str],
        typer.Option(
            metavar="PATH",
            help="A causal language model: a folder that save_pretrained wrote, or a name. Several are compared.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions, JSON Lines: question, contexts, perhaps answer, span and id."),
    ] = None,
    planted: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=MOST, help="So many made-up questions whose deciding source is known, instead."
        ),
    ] = 0,
    corpus: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Stories instead, sentence by sentence: stories-1 to -3, babi-1 to -3."),
    ] = None,
    sources_column: Annotated[
        str, typer.Option(metavar="NAME", help="The column with the list of sources.")
    ] = "contexts",
    question_column: Annotated[str, typer.Option(metavar="NAME", help="The column with the question.")] = "question",
    answer_column: Annotated[
        str, typer.Option(metavar="NAME", help="The column with answers; without one the model's own is taken.")
    ] = "answer",
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A method; may be given several times. Default: all.")
    ] = None,
    unit: Annotated[str, typer.Option(metavar="NAME", help="What is given a score: source or word.")] = "source",
    prompt: Annotated[
        str, typer.Option(metavar="TEXT", help="The user's message, with {context} and {query} in it.")
    ] = "",
    chat: Annotated[bool, typer.Option("--chat/--no-chat", help="Put the message into the chat template.")] = True,
    held_out: Annotated[
        int, typer.Option(metavar="N", min=0, help="Ablations of every question that predictions are compared with.")
    ] = 16,
    alternatives: Annotated[
        bool, typer.Option("--alternatives/--no-alternatives", help="Try other weights over the sources.")
    ] = True,
    longest: Annotated[int, typer.Option(metavar="N", min=1, help="Tokens of the model's own answers, at most.")] = 32,
    limit: Annotated[int, typer.Option(metavar="N", min=0, help="Only the first N questions; 0: all.")] = 0,
    seed: o.Seed = 0,
    device: o.Device = "auto",
    dtype: Annotated[str, typer.Option(metavar="NAME", help="float32, bfloat16 or float16.")] = "float32",
    device_map: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="auto: spread the model over all devices, and memory and disk if need be."),
    ] = None,
    to: Annotated[Path, typer.Option(metavar="PATH", help="The folder that holds such audits.")] = Path("sources"),
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Of several models, so many at a time.")] = 1,
    engine: Annotated[str, typer.Option(metavar="NAME", help="Of several models: auto, processes or ray.")] = "auto",
    address: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="A running Ray cluster; default: one on this machine.")
    ] = None,
    gpus: Annotated[
        float, typer.Option(metavar="X", min=0, help="Ray: the share of a GPU that one model takes, such as 0.5.")
    ] = 0.0,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Every figure of every model and method, as CSV.")
    ] = None,
    fresh: o.Fresh = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Say which source a language model's answers came from, and whether its attention tells.

    Every question is asked with all sources, without each, and without some at random; what attention, gradients and
    ablations say of the sources is compared with what happened. Ends in a verdict on every way of reading attention and
    an HTML report. The same command again shows what is there; a killed one resumes. Several models are asked the same
    questions, side by side if there are workers, and compared.
    """
    from attentest.sources.question import read_questions

    if sum((data is not None, planted > 0, corpus is not None)) != 1:
        raise InputError(
            "Give questions: your own (--data questions.jsonl), made-up ones (--planted 300) or stories (--corpus "
            "babi-1), not both."
        )
    for option, given in (("--engine", engine != "auto"), ("--address", address is not None), ("--gpus", gpus > 0)):
        if given and len(model) == 1:
            raise InputError(f"{option} is for several models, and one is named: leave it out, or repeat --model.")
    check_output("--csv", csv, data)
    terminal = Terminal(quiet=quiet or as_json)
    columns = {"sources_column": sources_column, "question_column": question_column, "answer_column": answer_column}
    asked = list(read_questions(data, **columns)) if data is not None else []
    from attentest.sources.auditing import audit_sources
    from attentest.sources.planting.planted import planted_questions
    from attentest.sources.planting.stories import story_questions
    from attentest.sources.prompt import PROMPT
    from attentest.sources.showing.comparison import comparison_csv
    from attentest.sources.showing.page import write_page
    from attentest.sources.showing.terminal import shown
    from attentest.store.atomic import write_text

    if planted:
        asked = list(planted_questions(planted, seed=seed))
    elif corpus is not None:
        asked = list(story_questions(corpus, limit=limit, seed=seed))
    options: dict[str, Any] = {
        "methods": method or (),
        "unit": unit,
        "prompt": prompt or PROMPT,
        "chat": chat,
        "held_out": held_out,
        "alternatives": alternatives,
        "longest": longest,
        "seed": seed,
        "dtype": dtype,
        "device_map": device_map,
        "fresh": fresh,
    }
    asked = asked[: limit or None]
    if len(model) > 1:
        from attentest.studies.engines import engine as engine_of

        using = engine_of(engine, workers=workers, address=address, gpus=gpus)
        several(model, asked, using, to=to, device=device, csv=csv, terminal=terminal, as_json=as_json, **options)
        return
    found = audit_sources(model[0], asked, **options, device=device, to=to, progress=terminal)
    page = write_page(found)
    if csv is not None:
        write_text(csv, comparison_csv([found]))
    if as_json:
        echo_json(found.to_record())
        return
    if not quiet:
        console = Printer(highlight=False)
        for part in shown(found):
            console.print(part)
    echo(f"Folder  {found.folder}\nReport  {page}")
