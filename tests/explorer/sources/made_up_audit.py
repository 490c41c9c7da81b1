"""Audits of sources as ``attentest sources`` writes them, made up: no model is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from attentest.sources.auditing import CASES, FINDINGS, UNFINISHED
from attentest.sources.judging.record import Given, Record
from attentest.store.folder import RunFolder

__all__ = ["HOSTILE", "METHODS", "unfinished_audit", "write_audit"]

#: What a passage may hold that would do harm, were it markup.
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror=alert(3)>',
    "x" * 5_000,
    "مرحبا بالعالم",
    "one\u202etwo\x00three 👩‍👩‍👧",
)
METHODS = ("attention", "gradient_x_input", "leave_one_out", "shared_words")


def made_up_record(number: int, *, hostile: bool = False, words: bool = False) -> Record:
    """A question over five sources; one of them decides, and attention puts it first in two of three questions."""
    random = np.random.default_rng(number)
    decides = number % 5
    drops = np.round(random.normal(0, 0.1, 5), 3)
    drops[decides] = 3.0
    # Most answers hang on their sources; the model knew some, and some came from nowhere.
    whole, empty = {8: (-1.0, -1.1), 9: (-4.0, -4.5)}.get(number % 10, (-1.0, -5.0))
    attention = np.round(random.random(5) / 10, 4)
    attention[decides if number % 3 else (decides + 1) % 5] = 0.4
    sources = [f"Passage {place + 1} of question {number}." for place in range(5)]
    if hostile:
        sources = [*HOSTILE]
    items, of_source = (sources, [0, 1, 2, 3, 4])
    heads = np.round(random.random((2, 2, 5)) / 8, 6)
    given = {
        "attention": Given(attention.tolist(), 1, 90, 0.01),
        "gradient_x_input": Given(np.round(random.normal(0, 1, 5), 4).tolist(), 2, 180, 0.02),
        "leave_one_out": Given(drops.tolist(), 5, 300, 0.3),
        "shared_words": Given(random.integers(0, 4, 5).astype(float).tolist()),
    }
    if number == 1:
        given["gradient_x_input"] = Given([], not_judged="the model has no <b>gradients</b>")
    if words:
        items = [word for source in sources for word in source.split()]
        of_source = [place for place, source in enumerate(sources) for _ in source.split()]
        drops = drops[of_source] / 5
        heads = heads[:, :, of_source]
        given = {"leave_one_out": Given(drops.tolist(), 25, 300, 0.3)}
    kept = random.random((8, len(items))) < 0.5
    return Record(
        str(number) if not hostile else HOSTILE[0],
        HOSTILE[0] if hostile else f"Where is thing {number}?",
        sources,
        items,
        of_source,
        HOSTILE[1] if hostile else f"In place {decides}.",
        "",
        **{"explained": 2, "tokens": 80, "whole": whole, "empty": empty, "without": (whole - drops).tolist()},
        **{"kept": kept.tolist(), "values": (whole - ~kept @ drops).tolist(), "given": given},
        **{"heads": heads.tolist(), "rest": [0.5, 0.2, 0.1, 0.1]},
        **{"kind": "fact" if number % 2 else "twin", "deciding": [decides], "margins": [2.0, -2.0], "right": True},
    )


def write_audit(root: Path, name: str = "0123456789ab", questions: int = 60, *, words: bool = False) -> Path:
    """A finished audit; its question 2 is hostile."""
    fields = {"name": "a <b>model</b>", "unit": "word" if words else "source"}
    folder = RunFolder.create(root / name, fields, {"attentest": "0"})
    records = [made_up_record(number, hostile=number == 2 and not words, words=words) for number in range(questions)]
    lines = "\n".join(record.to_json() for record in records)
    (folder.path / CASES).write_text(f"{lines}\n", encoding="utf-8")
    folder.finish(CASES)
    return folder.path


def unfinished_audit(root: Path, name: str = "unfinished00") -> Path:
    """One that was cut short."""
    folder = RunFolder.create(root / name, {"name": "cut short"}, {"attentest": "0"})
    (folder.path / UNFINISHED).write_text("{", encoding="utf-8")
    assert not (folder.path / FINDINGS).exists()
    return folder.path
