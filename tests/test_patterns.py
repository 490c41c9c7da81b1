"""Patterns read what has a syntax of its own: files, names, texts of corpora. Nobody edits finished English."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "attentest"
#: The modules that use patterns, and what it is that they read.
READS = {
    "challenges/knockout/examine.py": "the parameter layers: all, first 2, 3-5",
    "data/catalog/cleaning.py": "white space in texts, which the papers' code folds",
    "data/catalog/prepared.py": "imports of modules whose code decides a preparation",
    "data/corpora/aspects.py": "slots of the grammar that texts are generated from",
    "data/corpora/mimic.py": "notes: placeholders of removed names, runs of one sign",
    "data/corpora/multi30k.py": "word links in files, as 3-5",
    "data/corpora/newsgroups.py": "headers and quotations of mails",
    "data/corpora/treebank.py": "trees in brackets, with their escapes",
    "data/corpora/yelp_hat.py": "HTML that annotators' marks are stored in",
    "cli/main.py": "the system's error number in a message of safetensors, which gives it nowhere else",
    "cli/look.py": "links of Markdown, which a terminal shows without their addresses",
    "data/files/columns.py": "spellings of column names",
    "data/files/delimited.py": "quoted fields and ends of lines of CSV files",
    "data/files/labels.py": "numbers in a column of labels",
    "data/files/new_texts.py": "texts, cut as the papers' tokenizers do",
    "data/files/scripts.py": "texts in scripts that have no spaces",
    "data/sentences.py": "ends of sentences, acronyms, numbers",
    "data/sources/hub.py": "revisions on the hub",
    "data/tokenizers.py": "runs of characters too long for spaCy",
    "durations.py": "durations that a person types, as 1h 30min",
    "models/huggingface/checkpoint.py": "names of checkpoints on the hub",
    "models/huggingface/site.py": "names of sites, as layer 6 head 3 row all",
    "presentation/charts.py": "paths of dots in SVG that the renderer wrote",
    "registry.py": "names of registered classes",
    "store/scores.py": "names of files of scores",
    "studies/study.py": "dots in the keys of a study file, before it is parsed",
}


def test_only_listed_modules_use_patterns() -> None:
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {"re", "regex"} & set(names):
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == set(READS)
