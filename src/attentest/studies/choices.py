"""What may stand in a study file: the options of a run, each checked when the file is read."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attentest.data.corpora import CORPORA
from attentest.errors import AttentestError, InputError, UnknownName, suggestion
from attentest.registry import Registry
from attentest.runs.options import OPTIONS
from attentest.runs.removal import Removal
from attentest.tasks import TASKS

__all__ = ["check_choice", "check_together"]


def check_choice(key: str, value: Any, at: str) -> None:
    """Whether the key is known, and the value is one it can take."""
    if key not in OPTIONS:
        raise InputError(f"{at}: unknown key. {suggestion(key, [n for n, o in OPTIONS.items() if not o.no_study])}")
    option = OPTIONS[key]
    if option.no_study:
        raise InputError(f"{at}: {key!r} is not for studies: {option.no_study}.")
    values = value if option.many and isinstance(value, list | tuple) else [value]
    option.refuse(value, f"{at}: ")
    if option.type is bool and not isinstance(value, bool):
        raise InputError(f"{at}: {value!r} must be true or false.")
    if option.type not in (int, float, bool) and not all(isinstance(text, str) for text in values):
        raise InputError(f"{at}: {value!r} must be {'a list of texts, or one' if option.many else 'text'}.")
    try:
        for one in values:
            _check_value(key, one, option.check)
    except AttentestError as error:
        raise InputError(f"{at}: {error}") from error


def _check_value(key: str, value: Any, check: str) -> None:
    """Whether the value is in the table, or acceptable to the class or function, that checks its option."""
    if not check:
        return
    module, _, name = check.partition(":")
    checks = getattr(import_module(module), name)
    if isinstance(checks, Registry):
        checks.parse(value)
    elif isinstance(checks, Mapping):
        if value not in checks:
            raise UnknownName(key, value, checks)
    elif isinstance(checks, type):
        checks(**{key: value})
    else:
        checks(value)


def check_together(choices: Mapping[str, Any], label: str) -> None:
    """What is wrong only in combination, found without reading a corpus."""
    if "corpus" in choices and "data" in choices:
        raise InputError(f"cell {label}: it has both 'corpus' and 'data'; a run reads one of them.")
    if "test" in choices and "data" not in choices:
        raise InputError(f"cell {label}: 'test' needs 'data', the file to train on.")
    for key in ("text_column", "label_column", "second_column", "id_column", "tokenizer", "truncate", "encoding"):
        if key in choices and "data" not in choices:
            raise InputError(f"cell {label}: {key!r} is for files; a corpus by name has its own. Leave it out.")
    if ("removal" in choices) != ("removal_share" in choices):
        raise InputError(f"cell {label}: 'removal' names an explainer, 'removal_share' how much goes: give both.")
    if "removal" in choices:
        Removal(choices["removal"], choices["removal_share"], choices.get("removal_by", "mask"))
    if "corpus" in choices:
        task = TASKS[getattr(CORPORA.parse(choices["corpus"]), "task", "single")]
        if not task.pairs and choices.get("query") not in (None, "", "own"):
            raise InputError(f"cell {label}: 'query' is for pairs of texts; {choices['corpus']!r} has one text.")
        if task.pairs and choices.get("query") == "own":
            raise InputError(f"cell {label}: query 'own' is for single texts; {choices['corpus']!r} has pairs.")
        if not task.writes and choices.get("decoder"):
            raise InputError(f"cell {label}: 'decoder' writes texts; {choices['corpus']!r} has none to write.")
        if task.writes and "removal" in choices:
            raise InputError(f"cell {label}: 'removal' is for classifiers; {choices['corpus']!r} has texts to write.")
    if choices.get("head") == "sigmoid" and (classes := _classes(choices)) not in (None, 2):
        raise InputError(f"cell {label}: one sigmoid tells two classes apart, {choices['corpus']!r} has {classes}.")


def _classes(choices: Mapping[str, Any]) -> int | None:
    """The number of classes, where the corpus declares them."""
    if "corpus" not in choices:
        return None
    classes = getattr(CORPORA.parse(choices["corpus"]), "classes", None)
    return len(classes) if isinstance(classes, tuple) else None
