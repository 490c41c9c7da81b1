"""Answers as CSV, JSON lines or Parquet; items as tasks of Label Studio or as CSV, without what must not be seen."""

from __future__ import annotations

import csv
import io
import json
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.errors import InputError
from attentest.people.item import Item, Panel
from attentest.people.results.answered import Whose, answered
from attentest.people.study import PeopleStudy
from attentest.store.atomic import replacing, write_text

__all__ = ["ANSWER_COLUMNS", "answer_rows", "label_studio_config", "label_studio_tasks", "write_answers", "write_items"]

#: The columns of exported answers, and their types.
ANSWER_COLUMNS = {
    **dict.fromkeys(("study", "annotator", "kind", "item", "item_kind", "condition", "text"), pa.string()),
    **dict.fromkeys(("choice", "outcome", "truth", "planted", "prediction", "at"), pa.string()),
    "correct": pa.bool_(),
    "seconds": pa.float64(),
}


def answer_rows(study: PeopleStudy, whose: Whose = "people") -> list[dict[str, Any]]:
    """Every answer that counts, with what its item was."""
    rows = []
    for answer in answered(study, whose).answers:
        item = study.items[answer.item]
        rows.append(
            {
                "study": study.name,
                "annotator": answer.annotator,
                "kind": answer.kind,
                "item": item.id,
                "item_kind": item.hidden.kind,
                "condition": item.hidden.condition,
                "text": item.hidden.text,
                "choice": answer.choice,
                "outcome": study.design.outcome(item, answer.choice) if item.hidden.kind == "item" else "",
                "truth": item.hidden.truth,
                "planted": item.hidden.planted,
                "prediction": item.shown.prediction,
                "at": answer.at,
                "correct": item.hidden.facts.get("correct"),
                "seconds": answer.seconds,
            }
        )
    return rows


def write_answers(study: PeopleStudy, to: Path, whose: Whose = "people") -> int:
    """Write the answers to a file, by its ending; how many."""
    rows = answer_rows(study, whose)
    ending = to.suffix.lower()
    if ending == ".parquet":
        with replacing(to) as temporary:
            pq.write_table(pa.Table.from_pylist(rows, pa.schema(ANSWER_COLUMNS)), temporary)
    elif ending == ".jsonl":
        write_text(to, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    elif ending == ".csv":
        _write_csv(to, list(ANSWER_COLUMNS), rows)
    else:
        raise InputError(f"--to {to} must end in .csv, .jsonl or .parquet.")
    return len(rows)


def write_items(study: PeopleStudy, to: Path) -> list[Path]:
    """Write the items, to be answered elsewhere: tasks of Label Studio (.json, their interface beside it) or a CSV."""
    items = list(study.items.values())
    if to.suffix.lower() == ".json":
        config = to.with_suffix(".xml")
        write_text(to, json.dumps(label_studio_tasks(items), ensure_ascii=False, indent=1) + "\n")
        write_text(config, label_studio_config(items))
        return [to, config]
    if to.suffix.lower() != ".csv":
        raise InputError(f"--to {to} must end in .json (tasks of Label Studio) or .csv.")
    rows = [
        {
            "item": item.id,
            "question": item.shown.question,
            "prediction": item.shown.prediction,
            "second": item.shown.second,
            "html": html_of(item),
            "choices": "|".join(choice.value for choice in item.shown.choices),
        }
        for item in items
    ]
    _write_csv(to, list(rows[0]), rows)
    return [to]


def label_studio_tasks(items: list[Item]) -> list[dict[str, Any]]:
    """The items as tasks that Label Studio imports."""
    return [{"data": {"item": item.id, "question": item.shown.question, "html": html_of(item)}} for item in items]


def label_studio_config(items: list[Item]) -> str:
    """The interface of the project: the text, the question, the answers with their keys."""
    choices = "\n".join(
        f'    <Choice value="{escape(c.words)}" alias="{escape(c.value)}" hotkey="{escape(c.key)}"/>'
        for c in items[0].shown.choices
    )
    return (
        '<View>\n  <HyperText name="text" value="$html"/>\n  <Header value="$question"/>\n'
        f'  <Choices name="answer" toName="text" choice="single" required="true">\n{choices}\n  </Choices>\n</View>\n'
    )


def html_of(item: Item) -> str:
    """What is seen of an item as HTML; tokens come from strangers and are escaped."""
    parts = [f"<p><b>Asked with</b> {escape(item.shown.second)}</p>"] if item.shown.second else []
    parts += [_panel(panel) for panel in item.shown.panels]
    if item.shown.prediction:
        parts.append(f"<p><b>Answer of the program:</b> {escape(item.shown.prediction)}</p>")
    return "\n".join(parts)


def _panel(panel: Panel) -> str:
    words = []
    for place, token in enumerate(panel.tokens):
        text = escape(token)
        if place in panel.marked:
            text = f"<mark><b>{text}</b></mark>"
        elif panel.shades:
            text = f'<span style="background: rgba(245, 176, 40, {panel.shades[place]:.2f})">{text}</span>'
        words.append(text)
    title = f"<p><b>{escape(panel.title)}</b></p>" if panel.title else ""
    return f"{title}<p>{' '.join(words)}</p>"


def _write_csv(to: Path, columns: list[str], rows: list[dict[str, Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    with replacing(to) as temporary:
        temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
