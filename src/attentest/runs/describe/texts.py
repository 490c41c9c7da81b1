"""The texts that a model which is there already is audited on, labelled in the order of its outputs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.files.columns import columns_of, texts_of
from attentest.data.files.concerns import concerns_of_labels, concerns_of_spaces
from attentest.data.files.frames import table_of
from attentest.data.files.labels import one_spelling
from attentest.data.files.to_corpus import corpus_from_files
from attentest.errors import InputError, NotApplicable
from attentest.tasks import TASKS

__all__ = ["corpus_for", "in_memory", "refuse_no_texts"]


def corpus_for(
    corpus: str | Corpus | None,
    names: tuple[str, ...],
    classes: Sequence[str] | None = None,
    *,
    data: Any = None,
    tokenizer: str | None = None,
    **of_files: Any,
) -> Corpus:
    """Texts with the classes of a model, in its order: a corpus, or the user's rows, cut at spaces and in their case.

    ``classes`` names the model's outputs in their order, where its own names are not those of the data; ``of_files``
    are other choices of ``corpus_from_files``.
    """
    refuse_no_texts(corpus, data)
    if data is None:
        found = corpus if isinstance(corpus, Corpus) else CORPORA.parse(str(corpus)).load()
        if TASKS[found.task].writes:
            raise NotApplicable(
                f"Corpus {found.name!r} has a text to generate; choose one of task single, pair or answer."
            )
        return _reordered(found, _chosen(names, classes, set(found.classes)))
    table = table_of(data, of_files.get("encoding"))
    named = {role: of_files.get(f"{role}_column") for role in ("text", "label", "second", "id")}
    there = {
        label for label in texts_of(table, columns_of(table, **named).label) if label is not None and label.strip()
    }
    return corpus_from_files(
        table,
        tokenizer=tokenizer or "whitespace",
        lowercase=False,
        classes=_chosen(names, classes, set(one_spelling(sorted(there)))),
        **of_files,
    )


def refuse_no_texts(corpus: object, data: object, model: str | Path | None = None) -> None:
    """A model that is there already has no texts of its own; nor has one that may be on the hub, and is not here."""
    if data is None and corpus is None:
        away = ""
        if model is not None and not Path(model).exists():
            away = f"{str(model)!r} is no folder or run here ('attentest train' makes one), and the hub has no texts. "
        raise InputError(f"{away}Give data (--data) or a corpus (--corpus): texts to audit the model on.")


def _chosen(names: tuple[str, ...], given: Sequence[str] | None, labels: set[str]) -> tuple[str, ...]:
    """What the data calls the model's classes, in the model's order."""
    if given is not None:
        if len(given) != len(names):
            raise InputError(
                f"classes={', '.join(given)}: these are {len(given)}, and the model has {len(names)} outputs "
                f"({', '.join(names)}). Name one for each, in their order."
            )
        return tuple(given)
    if len(labels) > len(names):
        raise InputError(
            f"The data has {len(labels)} labels ({_listed(labels)}), and the model {len(names)} outputs "
            f"({', '.join(names)}). Give data with the model's classes."
        )
    by_case = {label.lower(): label for label in labels}
    candidates = (names, tuple(by_case.get(name.lower(), name) for name in names), tuple(map(str, range(len(names)))))
    for candidate in candidates:
        if labels <= set(candidate):
            return candidate
    raise InputError(
        f"The data's labels are {_listed(labels)}, and the model calls its classes {', '.join(names)}: say which is "
        "which with classes (--classes), the data's labels in the order of the model's outputs."
    )


def _example(labels: Sequence[int | str], count: int) -> str:
    """How classes are passed, by the labels there are where these are as many."""
    there = sorted({str(label) for label in labels})
    shown = there if len(there) == count else [*there[: min(2, count)], "…"]
    return f"classes=({', '.join(name if name == '…' else json.dumps(name, ensure_ascii=False) for name in shown)})"


def _listed(labels: set[str], limit: int = 6) -> str:
    shown = sorted(labels)[:limit]
    return ", ".join([*shown, *(["…"] if len(labels) > limit else [])])


def _reordered(corpus: Corpus, classes: tuple[str, ...]) -> Corpus:
    """The corpus with its classes in this order."""
    if corpus.classes == classes:
        return corpus
    place = np.array([classes.index(name) for name in corpus.classes], dtype=np.int32)
    splits = {}
    for name, split in corpus.splits.items():
        column = split.table.column_names.index("label")
        labels = place[split.labels] if len(split) else split.labels
        field_ = split.table.schema.field("label")
        splits[name] = Split(split.table.set_column(column, field_, [labels.astype(np.int32)]))
    return dataclasses.replace(corpus, classes=classes, splits=splits, known_digest="")


def in_memory(
    texts: Sequence[str | tuple[str, str]],
    labels: Sequence[int | str],
    names: Sequence[str],
    *,
    name: str = "texts",
) -> Corpus:
    """Texts (or pairs of texts) and labels of a Python program as a corpus to audit on; labels are names or numbers."""
    if len(texts) != len(labels):
        raise InputError(f"There are {len(texts)} texts and {len(labels)} labels: give one label for each text.")
    if not len(texts):
        raise InputError("There is no text to audit the model on: give at least one.")
    index = {str(label): number for number, label in enumerate(names)}
    by_number = {str(number): number for number in range(len(names))}
    unknown = sorted({str(label) for label in labels} - set(index) - set(by_number))
    if unknown:
        raise InputError(
            f"Label {unknown[0]!r} is none of the model's {len(names)} classes ({', '.join(names)}), nor the "
            f"number of one: correct it, or pass {_example(labels, len(names))} in the order of the model's outputs."
        )
    coded = [index[str(label)] if str(label) in index else by_number[str(label)] for label in labels]
    pairs = [text if isinstance(text, tuple) else (text, "") for text in texts]
    second = [other.split() for _, other in pairs] if isinstance(texts[0], tuple) else None
    words = [first.split() for first, _ in pairs]
    if empty := next((place for place, some in enumerate(words, 1) if not some), None):
        raise InputError(f"Text {empty} of {len(texts)} is empty: leave it out.")
    concerns = [
        *concerns_of_spaces([first for first, _ in pairs], "whitespace", "Put spaces between words or characters"),
        *concerns_of_labels(pairs, [str(names[number]) for number in coded]),
    ]
    split = Split.of([f"text-{place + 1}" for place in range(len(texts))], words, coded, second=second)
    none = Split.of([], [], [], second=None if second is None else [])
    return Corpus(
        name,
        tuple(map(str, names)),
        {"train": none, "dev": none, "test": split},
        Provenance("given in Python", "cut at spaces", notes=tuple(concerns)),
        task="single" if second is None else "pair",
    )
