"""The documentation is true: its code runs, its commands parse, its links lead somewhere, its tables are complete."""

from __future__ import annotations

import csv
import functools
import importlib.util
import itertools
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from tests.support.chat import chat_model, chat_tokenizer
from tests.support.pretrained import tiny, tokenizer_of
from tests.support.translations import found, made_up_translations, transformer, translator

import attentest
from attentest.catalogue.entries import REGISTRIES, catalogue
from attentest.challenges import CHALLENGES
from attentest.challenges.parts_of_speech.tagger import missing
from attentest.cli.main import app
from attentest.data.catalog.presets import with_preset
from attentest.data.corpora import CORPORA
from attentest.data.corpora.declared import Declared
from attentest.data.tokenizers import TOKENIZERS
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explaining import named as methods_named
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.models.parts.selectors import SELECTORS
from attentest.papers import PAPERS, paper_in
from attentest.presentation import thresholds
from attentest.presentation.thresholds import THRESHOLDS
from attentest.runs.presets import PRESETS, preset
from attentest.store.folder import find_run
from attentest.store.query import query
from attentest.studies.study import read_study
from attentest.training.loop import Training
from attentest.training.terms import TERMS
from attentest.words import words_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = DOCS / "reference" / "generated"
PAGES = [
    *(page for page in sorted(ROOT.glob("*.md"))),
    *sorted((ROOT / "src").rglob("page.md")),
    *(p for p in sorted(DOCS.rglob("*.md")) if not {"_build", "generated"} & set(p.relative_to(DOCS).parts)),
]
#: Challenges that are for transformers alone.
TRANSFORMERS = ("layers", "heads", "knockout", "joint_adversary")
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
#: The challenges that only a model which writes texts can be put to.
OF_TRANSLATIONS = ("bleu", "alignment", "layers_bleu")


class Block(NamedTuple):
    """A fenced block: its page, the line it begins on, its info string and its text."""

    page: Path
    line: int
    info: list[str]
    code: str


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text("utf-8")
    found = [
        Block(page, text.count("\n", 0, match.start()) + 2, match["info"].split(), match["code"])
        for match in FENCE.finditer(text)
    ]
    return [block for block in found if block.info and block.info[0] in languages]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def reference() -> Any:
    """docs/reference_pages.py, which writes the reference pages."""
    spec = importlib.util.spec_from_file_location("reference_pages", DOCS / "reference_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(reference: Any) -> dict[str, str]:
    """The reference pages, by name."""
    return reference.pages()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def sections(reference: Any) -> dict[str, str]:
    """The page of findings with the columns that it includes, by section."""
    page = (DOCS / "reference" / "findings.md").read_text("utf-8").partition("```{include} generated/columns.inc")
    assert page[1], "docs/reference/findings.md includes no columns"
    parts = re.split(r"^## (.+)$", page[0] + reference.columns(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the files that the pages speak of."""
    splits = CORPORA.parse("reviews(train=70, dev=40, test=1)").load().splits
    for name, split in (("reviews.csv", splits["train"]), ("new-reviews.csv", splits["dev"])):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            for row in split.table.to_pylist():
                writer.writerow([" ".join(row["tokens"]), ("negative", "positive")[row["label"]]])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=named)
def test_the_python_of_a_page_runs(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after the other, as a reader would; tests that they define are called.

    Blocks that name a file are written first, and a paper among them is found.
    """
    for block in blocks(page, "toml", "csv", "python"):
        for name in block.info[1:]:
            if "." not in name:
                continue
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(block.code, encoding="utf-8")
    for about in folder.glob("*/paper.toml"):
        (about.parent / "__init__.py").touch()
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setitem(PAPERS.own, about.parent.name, paper_in(about.parent, about.parent.name))
        assert all(map(read_study, PAPERS[about.parent.name].studies()))
    if page.name == "sources.md":
        for part in (chat_model(), chat_tokenizer()):
            part.save_pretrained(folder / "my-chat-model")
    monkeypatch.setattr(thresholds, "THRESHOLDS", dict(thresholds.THRESHOLDS))  # a page may add its own
    module = type(sys)("page")
    monkeypatch.setitem(sys.modules, "page", module)
    for block in blocks(page, "python"):
        if "no-run" in block.info:
            continue
        lines = "\n" * (block.line - 1) + block.code
        exec(compile(lines, str(page), "exec", dont_inherit=True), module.__dict__)
    for name, function in list(vars(module).items()):
        if name.startswith("test_"):
            function()


def commands(page: Path) -> Iterator[tuple[int, list[str]]]:
    """Every ``attentest`` command of a page's shell blocks, as words, with the line of its block."""
    for block in blocks(page, "bash"):
        code = re.sub(r"(^|\s)#.*$", "", block.code.replace("\\\n", " "), flags=re.MULTILINE)
        lexer = shlex.shlex(code, posix=True, punctuation_chars="\n;|&")
        lexer.whitespace, lexer.commenters = " \t", ""
        for separator, words in itertools.groupby(lexer, key=lambda word: not word.strip("\n;|&")):
            found = list(words)
            while found and re.fullmatch(r"[A-Z_]+=.*", found[0]):
                found.pop(0)
            if not separator and found and Path(found[0]).name == "attentest":
                yield block.line, found[1:]
            elif not separator and found[:2] == ["make", "audit"]:
                given = next((word.removeprefix("ARGS=") for word in found if word.startswith("ARGS=")), "")
                yield block.line, ["audit", *shlex.split(given)]


COMMANDS = [(page, line, words) for page in PAGES for line, words in commands(page)]


@functools.cache
def command_line() -> Any:
    return typer.main.get_command(app)


def parsed(words: list[str]) -> dict[str, Any]:
    """The parameters of a command, which may stand in a group: corpora get sst."""
    command: Any = command_line()
    arguments = words
    while hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        assert name in command.commands, f"there is no 'attentest {' '.join(words)}'"
        command = command.commands[name]
    parameters: dict[str, Any] = command.make_context(command.name, arguments).params
    return parameters


@pytest.mark.parametrize(
    ("page", "line", "words"), COMMANDS, ids=[f"{named(p)}:{n} {' '.join(w)[:60]}" for p, n, w in COMMANDS]
)
def test_a_command_parses(page: Path, line: int, words: list[str]) -> None:
    given = parsed(words)
    for option, registry in (
        ("corpus", CORPORA),
        ("encoder", ENCODERS),
        ("attention", ATTENTIONS),
        ("head", HEADS),
        ("selector", SELECTORS),
        ("terms", TERMS),
    ):
        chosen = given.get(option) or ()
        for text in [chosen] if isinstance(chosen, str) else chosen:
            registry.parse(text)
    for challenge in given.get("challenge") or ():
        CHALLENGES.parse(challenge)
    for explainer in methods_named(given.get("methods") or ()):
        EXPLAINERS.parse(explainer)
    for corpus in (given.get("name"), *(given.get("names") or ())):
        if corpus and words[0] == "corpora":
            made: Any = CORPORA.parse(corpus)
            with_preset(type(made), given.get("preset") or "paper")
    if given.get("preset") and words[0] != "corpora":
        preset(given["preset"])
    if given.get("tokenizer"):
        assert given["tokenizer"] in TOKENIZERS
    if given.get("kind"):
        catalogue(given["kind"])


def test_the_pages_show_commands() -> None:
    shown = {words[0] for _, _, words in COMMANDS}
    assert shown == {
        "audit",
        "example",
        "train",
        "fine-tune",
        "deceive",
        "people",
        "sources",
        "show",
        "export",
        "check",
        "verify",
        "list",
        "corpora",
        "claims",
        "reproduce",
        "explain",
        "explore",
        "scores",
        "tokens",
    }
    below = {words[1] for _, _, words in COMMANDS if words[0] == "corpora" and words[1:]}
    assert {"get", "prepare", "check", "vectors"} <= below
    assert len(COMMANDS) > 25


def test_a_command_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(Exception, match="--bogus"):
        parsed(["audit", "--bogus"])
    with pytest.raises(Exception, match="--bogus"):
        parsed(["corpora", "get", "sst", "--bogus"])
    with pytest.raises(AssertionError, match="there is no 'attentest corpora burn'"):
        parsed(["corpora", "burn"])


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        for block in blocks(page, "bash"):
            assert set(re.findall(r"^make ([a-z-]+)", block.code, re.MULTILINE)) <= targets, page


@pytest.mark.slow
def test_the_queries_run_and_the_findings_are_documented_column_by_column(
    folder: Path, sections: dict[str, str]
) -> None:
    """A small run with marks, so that every challenge applies but those of translations."""
    choices = {"corpus": "reviews(train=40, dev=10, test=12)", "encoder": "average(hidden=8)", "epochs": 1}
    elsewhere = (
        "instances",
        *OF_TRANSLATIONS,
        *TRANSFORMERS,
        *(("parts_of_speech",) if missing() else ()),
    )
    asked = [name for name in CHALLENGES if name not in elsewhere]
    # Of a model that selects nothing by itself, a trained explainer does.
    put = {"selection": "selection(explainers=('diffmask(epochs=1)', 'random'))"}
    done = attentest.audit(challenges=[put.get(name, name) for name in asked], **choices)
    run = find_run("latest", Path("runs"))
    put_as = {name: str(run.named(name)) for name in put}
    for _, _, words in COMMANDS:
        if words[0] == "show" and (sql := parsed(words)["sql"]):
            columns, _ = query(run, sql)
            assert columns
    shared = _columns(sections["What all findings share"])
    assert set(CHALLENGES) <= set(sections), "a challenge has no columns in its presentation.py"
    tokenizer = tokenizer_of()
    layered = attentest.audit(
        tiny("bert", size=len(tokenizer)), tokenizer, ["word1 word2", "word3"], [0, 1], challenges=TRANSFORMERS
    )
    for name in ("instances", *asked, *TRANSFORMERS):
        written = (layered if name in TRANSFORMERS else done).to_frame(put_as.get(name, name)).columns
        assert {*_columns(sections[name]), *shared} == set(written), f"the columns of {name}"


@pytest.mark.parametrize("name", OF_TRANSLATIONS)
def test_the_findings_on_translations_are_documented_column_by_column(
    name: str, tmp_path: Path, sections: dict[str, str]
) -> None:
    split = made_up_translations(3)
    vocabulary = Vocabulary.from_split(split)
    subject = (transformer if name == "layers_bleu" else translator)(vocabulary)
    written = found(name, split, subject, vocabulary, tmp_path).table.column_names
    assert {*_columns(sections[name]), *_columns(sections["What all findings share"])} == set(written)


def _columns(section: str) -> list[str]:
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("kind", [*REGISTRIES, "tokenizers"])
def test_every_entry_and_every_parameter_has_words(kind: str, pages: dict[str, str]) -> None:
    page = pages[f"{kind}.md"]
    for entry in catalogue(kind):
        name, words = entry["name"], entry.get("words", {})
        assert f"\n## {name}\n" in page
        assert entry["about"] in page, f"the docstring of {name} says nothing after its first line"
        assert set(words) == set(entry.get("parameters", {}))
        for parameter, text in words.items():
            assert text, f"{name}: {parameter} has no words: write {parameter}: Annotated[…, 'words']"
            assert re.search(rf"- `{parameter} = .*`<br>{re.escape(text)}", page)


def test_presets_training_thresholds_and_commands_are_documented(reference: Any, pages: dict[str, str]) -> None:
    assert all(words_of(Training).values())
    assert all(f"- `{name}`: " in pages["presets.md"] for name in PRESETS)
    assert all(f"| `{key}` |" in pages["thresholds.md"] for key in THRESHOLDS)
    every = dict(reference.commands(command_line()))
    assert {"audit", "corpora", "corpora get"} <= set(every)
    for name, command in every.items():
        assert f"\n## attentest {name}\n" in pages["command-line.md"]
        for option in itertools.chain(*(p.opts for p in command.params if p.param_type_name == "option")):
            assert option in pages["command-line.md"]


def test_every_corpus_shows_where_it_comes_from_and_what_is_published(pages: dict[str, str]) -> None:
    page = pages["corpora.md"]
    sections = dict(zip(*[iter(re.split(r"^## (.+)$", page, flags=re.MULTILINE)[1:])] * 2, strict=True))
    for name, corpus in CORPORA.items():
        facts = ["- Task: ", f"- Licence: {corpus.licence}"]
        if issubclass(corpus, Declared):
            facts += [f"- Citation: {corpus.citation}", f"<{corpus.homepage}>", *(s.describe() for s in corpus.sources)]
            facts += [f"- `{preset}`: `" for preset in corpus.presets]
            facts += [f"| {figure.value:,.0f} | {figure.source} |" for figure in corpus.expected]
            assert ("offensive or private" in sections[name]) == corpus.sensitive
        for fact in facts:
            assert fact in sections[name], f"{name}: {fact}"


def test_every_measure_of_every_challenge_is_in_words(pages: dict[str, str]) -> None:
    page = pages["challenges.md"]
    for name in CHALLENGES:
        for measure in CHALLENGES.parse(name).measures:
            assert measure.words.split(": ")[-1] in page


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_relative_link_leads_to_a_file(page: Path, pages: dict[str, str]) -> None:
    _check_links(page, page.read_text("utf-8"), set(pages))


def test_every_relative_link_of_the_generated_pages_leads_to_a_file(reference: Any, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        _check_links(GENERATED / name, text, set(pages))
    _check_links(DOCS / "reference" / "findings.md", reference.columns(), set(pages))


def _check_links(page: Path, text: str, generated: set[str]) -> None:
    for link in LINK.findall(FENCE.sub("", text)):
        target = link.split("#")[0]
        if not target or re.match(r"[a-z]+:", target):
            continue
        path = Path(os.path.normpath(page.parent / target))
        assert path.exists() or (path.parent == GENERATED and path.name in generated), f"{named(page)} links to {link}"


def test_every_file_named_in_the_architecture_exists() -> None:
    page = ROOT / "ARCHITECTURE.md"
    if not page.is_file():
        pytest.skip("there is no ARCHITECTURE.md")
    places = (ROOT, ROOT / "src" / "attentest")
    for name in re.findall(r"`([\w./-]+(?:\.py|\.md|\.toml|/))`", page.read_text("utf-8")):
        here = any((place / name).exists() for place in places)
        assert here or any((ROOT / "src").rglob(name.strip("/"))), f"ARCHITECTURE.md names {name}"


#: The examples of CONTRIBUTING.md.
MADE_UP = (
    "src/attentest/data/corpora/complaints.py",
    "src/attentest/explainers/embedding_norm.py",
    "src/attentest/challenges/top_erasure/examine.py",
)


def test_every_file_named_in_contributing_exists() -> None:
    text = FENCE.sub("", (ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|html|md|toml))`", text):
        made_up = name in MADE_UP
        assert made_up or any((place / name).exists() for place in (ROOT, ROOT / "src" / "attentest")), name


def test_versions_agree() -> None:
    version = re.escape(attentest.__version__)
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert re.search(rf"^version = \"{version}\"$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert re.search(rf"^## \[?{version}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)


@pytest.mark.slow
def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    for module in ("sphinx", "furo", "myst_parser"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    built = subprocess.run([*command, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "html" / "index.html").is_file()
