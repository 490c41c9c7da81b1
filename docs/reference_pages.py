"""The reference pages, written from the registries and what their entries say of themselves, the presets, the
thresholds, the errors and the command line.

``pages`` gives every page as text, so that tests can read them without Sphinx; ``write`` puts them in a folder.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from attentest import errors
from attentest.catalogue.entries import REGISTRIES
from attentest.challenges import CHALLENGES, PRESENTATIONS
from attentest.cli.main import app
from attentest.data.catalog.presets import USUAL, with_preset
from attentest.data.corpora.declared import Declared, Expected
from attentest.data.tokenizers import TOKENIZERS
from attentest.models.parts.encoders import ENCODERS
from attentest.presentation.thresholds import FEWEST, THRESHOLDS
from attentest.registry import text_of
from attentest.runs.options import DEFAULTS, OPTIONS
from attentest.runs.presets import PRESETS
from attentest.store.findings import Measure
from attentest.tasks import DEFAULT, TASKS
from attentest.training.loop import Training
from attentest.words import about, first_line, words_of

sys.path.insert(0, str(Path(__file__).parent))
from paper_pages import papers

__all__ = ["columns", "commands", "pages", "write"]

#: The first paragraph of every registry's page.
INTRODUCTIONS = {
    "corpora": "Texts that attentest knows by name: `attentest audit --corpus NAME`. Those named *generated* need no "
    "files; [get, prepare and check the others](../../how-to/corpora.md). *Task* says what a model reads: one "
    "text, a [pair of texts](../../how-to/pairs.md), or a text to [translate](../../how-to/translation.md).",
    "encoders": "From word embeddings to one state per token: `attentest audit --encoder NAME`.",
    "attentions": "From states to weights that sum to one over the real tokens: `attentest audit --attention NAME`.",
    "decoders": "What writes a translation, a word at a time, and asks the attention at every step: `attentest audit "
    "--corpus CORPUS --decoder NAME`, for corpora of [translations](../../how-to/translation.md).",
    "heads": "From the weighted sum of the states to the prediction: `attentest audit --head NAME`.",
    "selectors": "Which words are read at all: `attentest audit --selector NAME`, for classifiers of single texts. The "
    "prediction is made of the selected words alone. [How to train, measure and doubt "
    "them](../../how-to/selections.md).",
    "terms": "What training asks of a model beside its task: `attentest audit --term NAME`, for classifiers with one "
    "attention over words. Each adds a loss to the cross-entropy; the dev score that chooses the epoch stays that of "
    "the task. [With and without](../../how-to/train-attention-to-mean-something.md).",
    "explainers": "Each gives every token of a text one score: how much it mattered to the predicted class. Where a "
    "method has a sign, scores below zero speak against the class. Challenges name explainers in their parameters, and "
    "[`attentest explain`](../../how-to/explain.md) asks them about a text of yours. "
    "[Which for what](../../explanation/saliency.md).",
    "interactions": "Each gives every two tokens of a text one score: what they do together beyond what each does "
    "alone. Asked for with [`attentest explain --interactions`](../../how-to/explain.md#two-words-together).",
    "challenges": "Each puts one question to a model, text by text: `attentest audit --challenge NAME`. "
    f"Without `--challenge`, an audit runs {', '.join(f'`{name}`' for name in DEFAULT)}; `instances` always runs. "
    f"For a translator {', '.join(map('`{}`'.format, TASKS['translate'].usual))} are asked too. "
    "What each writes for every text is in [findings](../findings.md).",
    "designs": "What [people are asked](../../how-to/people.md) about the explanations of a run: `attentest people new "
    "RUN --design NAME`.",
}
SYNTAX = (
    "Where an entry has parameters, write its name alone for the defaults, or its name with the parameters you "
    "change: `{example}`. In a shell, put quotation marks around it."
)
EXAMPLES = {
    "corpora": "reviews(test=200)",
    "encoders": "bilstm(hidden=64)",
    "attentions": "dot(scaled=False)",
    "decoders": "bahdanau(hidden=128)",
    "selectors": "hardkuma(share=0.1)",
    "terms": "tying(weight=20)",
    "explainers": "gradient(path='full')",
    "interactions": "integrated_hessians(n_steps=64)",
    "challenges": "adversary(epsilon=0.05)",
    "designs": "meaningful(top=5)",
}
LISTED = "The same list in the terminal: `attentest list {kind}`; one entry of it: `attentest list {kind} NAME`."


def pages() -> dict[str, str]:
    """File names to Markdown."""
    found = {f"{kind}.md": "\n\n".join(_registry_page(kind)) for kind in REGISTRIES}
    found |= {
        "tokenizers.md": "\n\n".join(_tokenizers_page()),
        "presets.md": "\n\n".join(_presets_page()),
        "thresholds.md": "\n\n".join(_thresholds_page()),
        "command-line.md": "\n\n".join(_command_line_page()),
        "errors.md": "\n\n".join(_errors_page()),
        **papers(),
    }
    return {name: f"{text}\n" for name, text in found.items()}


def columns() -> str:
    """The columns of every challenge's findings, a section each, for findings.md to include."""
    sections = []
    for name, reading in PRESENTATIONS.items():
        rows = [(f"`{column.name}`", column.type, column.meaning) for column in reading.columns]
        table = _table(("column", "type", "meaning"), rows)
        sections += [f"## {name}", *filter(None, (reading.rows, table, reading.notes))]
    return "\n\n".join(sections) + "\n"


def options() -> str:
    """The choices of an audit in Python, a table a group, for python.md to include."""
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for name, option in OPTIONS.items():
        groups.setdefault(option.group, []).append((f"`{name}`", f"`{DEFAULTS[name]!r}`", option.help))
    tables = [f"**{group}**\n\n{_table(('choice', 'default', 'meaning'), rows)}" for group, rows in groups.items()]
    return "\n\n".join(tables) + "\n"


def write(folder: Path) -> None:
    """Write the pages that changed, so that a second build has nothing to do, and remove those that went."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages() | {"columns.inc": columns(), "options.inc": options()}
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        target = folder / name
        if not target.is_file() or target.read_text("utf-8") != text:
            target.write_text(text, encoding="utf-8")


def _registry_page(kind: str) -> Iterator[str]:
    yield f"# {kind.capitalize()}"
    yield INTRODUCTIONS[kind]
    if kind in EXAMPLES:
        yield SYNTAX.format(example=EXAMPLES[kind])
    yield LISTED.format(kind=kind)
    for name, cls in REGISTRIES[kind].items():
        yield from _entry(kind, name, cls)


def _entry(kind: str, name: str, cls: type[Any]) -> Iterator[str]:
    yield f"## {name}"
    yield f"**{_sentence(getattr(cls, 'question', '') or getattr(cls, 'summary', '') or first_line(cls))}**"
    if more := about(cls):
        yield more
    facts = [(title, getattr(cls, attribute, "")) for attribute, title in FACTS.items()]
    if kind == "corpora":
        facts = [("Task", TASKS[getattr(cls, "task", "single")].about), *facts, *_corpus_facts(cls)]
    if shown := [f"- {title}: {value}" for title, value in facts if value and value != "—"]:
        yield "\n".join(shown)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if words := words_of(cls):
        yield "Parameters and their defaults:"
        yield "\n".join(f"- `{name} = {_default(fields[name])!r}`<br>{text}" for name, text in words.items())
    if kind == "corpora" and issubclass(cls, Declared):
        yield from _corpus(cls)
    if kind == "challenges":
        yield (
            "What is computed from its findings, for all texts and by predicted class, each with a 95 % interval "
            "(bootstrap for means, Wilson's for shares):"
        )
        yield _table(("measure", "statistic", "in words"), _measures(CHALLENGES.parse(name).measures))
        yield f"[The columns of its findings](../findings.md#{name})"


FACTS = {
    "reference": "Reference",
    "cost": "Cost for a text of T tokens",
    "checked": "Its certificate checks",
    "licence": "Licence",
    "citation": "Citation",
}
STATISTICS = {
    **{"mean": "mean", "share": "mean share", "fraction": "share", "ratio": "ratio of sums"},
    **{"bleu": "BLEU of sums", "bleu_change": "difference of BLEU"},
    **{"information": "mutual information", "whole": "one number of the corpus"},
}


def _corpus_facts(cls: type[Any]) -> Iterator[tuple[str, str]]:
    """What a corpus with files of its own also declares: where it comes from, and what to mind."""
    if not issubclass(cls, Declared):
        yield "Files", "none: generated on the spot"
        return
    yield "Homepage", f"<{cls.homepage}>" if cls.homepage else ""
    sources = [source.describe() for source in cls.sources]
    named = ", then ".join(f"<{source}>" if source.startswith("http") else source for source in sources)
    yield "Fetched from", named or f"nowhere: `attentest corpora get {cls.name} --from DIR`, with files you have"
    yield "Rows", f"`{cls.folder or cls.name}/` in the data folder: {', '.join(f'`{split}`' for split in cls.splits)}"
    if cls.sensitive:
        yield "Mind", "**its texts are offensive or private**: do not show or pass them on unasked"


def _corpus(cls: type[Declared]) -> Iterator[str]:
    """Its named preparations, and what is published about it."""
    names = dict.fromkeys((*USUAL, *cls.presets))
    if cls.presets:
        yield "Presets:"
        yield "\n".join(f"- `{name}`: `{text_of(with_preset(cls, name))}`" for name in names)
    if cls.expected:
        yield f"What is published, for `attentest corpora check {cls.name}`:"
        yield _table(("figure", "published", "by", "why ours may differ"), [_figure(figure) for figure in cls.expected])


def _figure(figure: Expected) -> tuple[str, ...]:
    only = f" (preset {', '.join(f'`{name}`' for name in figure.presets)})" if figure.presets else ""
    return f"{figure.split}: {figure.what}{only}", f"{figure.value:,.0f}", figure.source, figure.because


def _measures(measures: tuple[Measure, ...]) -> list[tuple[str, ...]]:
    """One row per measure; those that differ only in the pair or explainer they are restricted to share a row."""
    rows: dict[tuple[str, ...], None] = {}
    for measure in measures:
        name, words = measure.name, measure.words
        for column, value in measure.where.items():
            name, words = name.replace(value, f"‹{column}›"), words.replace(f"{value}: ", "")
        rows[(f"`{name}`", STATISTICS[measure.statistic], words)] = None
    return list(rows)


def _tokenizers_page() -> Iterator[str]:
    yield "# Tokenizers"
    yield "From text to tokens, for your own data: `attentest audit --data FILE --tokenizer NAME`."
    yield LISTED.format(kind="tokenizers")
    for name, made in TOKENIZERS.items():
        yield f"## {name}"
        yield f"**{_sentence(first_line(made))}**"
        yield about(made)


def _presets_page() -> Iterator[str]:
    yield "# Presets"
    yield (
        "Where a paper's text and its released code differ, both by name: `attentest audit --preset NAME`. What you "
        "give explicitly (`--epochs 4`, `--encoder 'average(hidden=64)'`) wins over the preset."
    )
    yield LISTED.format(kind="presets")
    yield "\n".join(f"- `{name}`: {preset.summary}" for name, preset in PRESETS.items())
    yield "## Training"
    rows = [
        (f"`{name}`", *(f"`{getattr(p.training, name)!r}`" for p in PRESETS.values()), text)
        for name, text in words_of(Training).items()
    ]
    yield _table(("", *PRESETS, "meaning"), rows)
    yield "## Encoders"
    yield "What the plain name of an encoder stands for:"
    rows = [(f"`{e}`", *(f"`{_spelled(p.encoder(e))}`" for p in PRESETS.values())) for e in ENCODERS]
    yield _table(("", *PRESETS), rows)
    yield "## Pairs of texts"
    yield (
        "The head of a model of pairs, and how long a model that answers questions is trained: attention finds the "
        "sentence asked for late. "
        "What a paper had for one corpus stands in a study file: `attentest study run jain_wallace_pairs --dry-run`."
    )
    trained = [p.training_for("answer") for p in PRESETS.values()]
    rows = [("`head`", *(f"`{p.pair_head}`" for p in PRESETS.values()))]
    rows += [(f"`{name}`, answers", *(f"`{getattr(t, name)}`" for t in trained)) for name in ("epochs", "patience")]
    yield _table(("", *PRESETS), rows)


def _spelled(encoder: Any) -> str:
    value = ENCODERS.parse(encoder) if isinstance(encoder, str) else encoder
    return f"{value.name}({', '.join(f'{f.name}={getattr(value, f.name)!r}' for f in dataclasses.fields(value))})"


def _thresholds_page() -> Iterator[str]:
    yield "# Thresholds"
    yield (
        "A line of the verdict speaks for attention, or against it, only when its *whole* 95 % interval lies beyond "
        "the mark, and is mixed when all of it lies between the two. An interval that crosses a mark, or stands on "
        f"fewer than {FEWEST} judged texts, settles nothing: *not settled*. The marks of the three uses "
        "(`reason`, `check`, `one`) and of single texts were fitted on models of known truth; the others only choose a "
        "line's words "
        "([what the verdict means](../../explanation/what-the-verdict-means.md))."
    )
    rows = []
    for key, band in THRESHOLDS.items():
        upward = band.supports >= band.against
        sides = (f"{'≥' if upward else '≤'} {band.supports:.2g}", f"{'≤' if upward else '≥'} {band.against:.2g}")
        rows.append((f"`{key}`", *sides, band.why))
    yield _table(("scale", "speaks for it", "speaks against it", "what is measured"), rows)
    yield "They stand in one place, `presentation/thresholds.py`."


def _command_line_page() -> Iterator[str]:
    group: Any = typer.main.get_command(app)
    yield "# Command line"
    yield "\n\n".join(group.help.split("\n\n"))
    yield (
        "Progress and messages go to standard error, results to standard output, so `--json` can be piped. "
        "[Exit codes](errors.md#exit-codes) tell your script what happened."
    )
    for name, command in commands(group):
        yield f"## attentest {name}"
        yield from (" ".join(paragraph.split()) for paragraph in command.help.split("\n\n"))
        yield f"```text\nattentest {name} [OPTIONS] {' '.join(_arguments(command))}".rstrip() + "\n```"
        context = command.make_context(name, [], resilient_parsing=True)
        if command.params:
            yield _table(("option", "meaning"), [_option(p, context) for p in command.params])
    yield "## Environment"
    yield _table(
        ("variable", "meaning"),
        [
            (
                "`ATTENTEST_DATA`",
                "The folder that holds the rows of corpora, such as `sst/test.jsonl.gz`; default: `data` in "
                "attentest's cache folder.",
            ),
            (
                "`ATTENTEST_CACHE`",
                "The folder that holds what can be made or fetched again: downloads, prepared corpora, checksums; "
                "default: the user's cache folder for attentest.",
            ),
            ("`ATTENTEST_RUNS`", "The folder that holds runs, as `--runs` does; default `runs`."),
            ("`ATTENTEST_DEBUG`", "Set to 1, a fault of attentest prints its traceback."),
        ],
    )


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its full name, those of groups after their group."""
    for name, command in group.commands.items():
        yield f"{prefix}{name}", command
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")


def _arguments(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = f"{parameter.name.upper()}{' ...' if parameter.nargs == -1 else ''}"
            yield name if parameter.required else f"[{name}]"
    if hasattr(command, "commands"):
        yield f"[{' | '.join(command.commands)}]"


def _option(parameter: Any, context: Any) -> tuple[str, str]:
    names, meaning = parameter.get_help_record(context)
    return f"`{names}`", " ".join(meaning.split())


def _errors_page() -> Iterator[str]:
    yield "# Errors and exit codes"
    yield (
        "An error you can put right is one line on standard error: the value, the rule, the next step. In Python it is "
        "an exception of the tree below, with the same line as its message."
    )
    yield "## Exit codes"
    yield _table(
        ("code", "meaning"),
        [
            ("0", "Done."),
            ("1", "A fault of attentest. Set `ATTENTEST_DEBUG=1` for the traceback, and report it, please."),
            ("2", "Something you can put right: an option, a file, a name, a folder."),
            ("130", "Interrupted. Finished stages are kept; the same command resumes."),
        ],
    )
    yield "## The tree"
    tree = (errors.__doc__ or "").split("\n\n", 1)[1].strip()
    yield f"```text\n{tree}\n```"
    for name in errors.__all__:
        yield f"### {name}"
        yield f"`attentest.errors.{name}`. {' '.join((getattr(errors, name).__doc__ or '').split())}"


def _default(field: dataclasses.Field[Any]) -> Any:
    return field.default if field.default is not dataclasses.MISSING else field.default_factory()  # type: ignore[misc]


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _sentence(text: str) -> str:
    text = text if text.startswith("spaCy") else text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
