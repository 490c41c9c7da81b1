"""Files that a person names to write to: refused before any work where they cannot be, or would take what is kept."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from attentest.errors import InputError, shown
from attentest.store.regular import opened
from attentest.store.sealed import LARGEST

__all__ = ["check_output"]

#: The records of folders whose files are sealed or hold answers, and their files where the record does not list them.
RUN, PEOPLE = "run.json", "people.json"
OF_PEOPLE = (PEOPLE, "items.jsonl", "consent.md", "instructions.md", "answers.sqlite")
#: So many folders above a file may be the one whose record lists it: run/checkpoint/model.safetensors.
DEEP = 3


def check_output(option: str, target: Path | None, *read: Path | None) -> None:
    """Refuse ``target``, which ``option`` names, where nothing can be written, or what is read or kept would go."""
    if target is None:
        return
    said = f"{option} {shown(str(target), 200)}"
    if target.is_dir():
        raise InputError(f"{said} is a folder. Name a file in it.")
    if not target.parent.is_dir():
        raise InputError(
            f"{said}: there is no folder {target.parent} to write {target.name} in. Make it, or name another."
        )
    if not target.exists():
        return
    if any(path is not None and path.exists() and path.samefile(target) for path in read):
        raise InputError(f"{said} is what is read, and would be lost. Name another file.")
    whole = target.resolve()
    for folder in islice(whole.parents, DEEP):
        if whole.relative_to(folder).as_posix() in _kept_in(folder):
            raise InputError(f"{said} is one of the files that {folder} consists of, and would be lost. Name another.")


def _kept_in(folder: Path) -> set[str]:
    """The files that the record of a run or of a study of people stands for; of any other folder, none."""
    kept = set(OF_PEOPLE) if (folder / PEOPLE).exists() else set()
    if (folder / RUN).exists():
        kept.add(RUN)
        try:
            with opened(folder / RUN) as file:
                kept.update(json.loads(file.read(LARGEST))["finished"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass  # it is damaged, so that nothing is known of the others
    return kept
