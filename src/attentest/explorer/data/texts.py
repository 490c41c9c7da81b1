"""Texts of a run: pages of them, in any order, and one with all that was found of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.challenges.importance.presentation import GRADES, grade_by_text
from attentest.errors import InputError, UnknownName
from attentest.explorer.data.files import RunFiles
from attentest.explorer.data.plots import plot_of
from attentest.explorer.data.selection import in_plot, number_of
from attentest.presentation.text import visible
from attentest.store.findings import Findings
from attentest.tasks import wording_of

__all__ = ["PAGE", "grades", "page_of_texts", "record_of_text", "sentence_rows", "text_of"]

Row = dict[str, Any]
#: Texts of a page, the most that may be asked for, tokens and characters of an excerpt.
PAGE, MOST, EXCERPT, CHARACTERS = 50, 200, 40, 240
#: Columns of instances with a list for every text that are no explainer's scores.
NOT_SCORES = ("probabilities", "tokens", "attention", "token_logits", "rationale", "second")
TONES = ("", *GRADES)
#: What other challenges found of a text that its page shows.
FOUND = {
    "adversary": (
        *("lower", "upper", "certified", "decision_kept", "adversarial_attention", "adversarial_probabilities"),
        *("adversarial_change",),
    ),
    "uniform": ("change", "flipped", "decided", "not_judged"),
    "permutation": ("median_change", "largest_change", "flips", "draws", "not_judged"),
    "flip_sets": ("order", "items"),
}
#: How far a prediction may move and stay the same, where no adversary says.
EPSILON = 0.01


def grades(run: RunFiles) -> np.ndarray:
    """Every text's grade, as a place in ``TONES``; 0 where it has none."""
    return run.kept("grades", lambda: _grades(run))


def _grades(run: RunFiles) -> np.ndarray:
    out = np.zeros(run.texts, dtype=np.int8)
    if not run.has("importance", "held", "explainer", "erasure"):
        return out
    table = run.columns("importance", "id", "explainer", "erasure", "held")
    table = table.filter(pc.equal(table["explainer"].cast(pa.string()), "attention"))
    table = table.set_column(table.column_names.index("erasure"), "erasure", table["erasure"].cast(pa.string()))
    table = table.set_column(table.column_names.index("explainer"), "explainer", table["explainer"].cast(pa.string()))
    about = run.about("importance")
    found = grade_by_text(Findings(about.challenge, about.measures, table, about.parameters))
    if found:
        place = pc.index_in(pa.array(list(found)), run.ids().combine_chunks()).to_numpy(zero_copy_only=False)
        out[place.astype(np.int64)] = [TONES.index(tone) for tone in found.values()]
    return out


def page_of_texts(run: RunFiles, asked: Mapping[str, str]) -> Row:
    """A page of texts: by their rows, by what a plot shows of them, or all, in the order of ``sort``."""
    rows = _selected(run, asked)
    rows, sort = _sorted(run, rows, asked.get("sort", ""))
    size = _whole(asked, "size", PAGE, 1, MOST)
    pages = max(1, -(-len(rows) // size))
    page = _whole(asked, "page", 1, 1, max(pages, 1))
    shown = rows[(page - 1) * size : page * size]
    return {
        "rows": _excerpts(run, shown.tolist()),
        "total": len(rows),
        "texts": run.texts,
        "page": page,
        "pages": pages,
        "size": size,
        "sort": sort,
        "sorts": _sorts(run),
        "classes": run.classes,
        "unit": wording_of(run.fields).unit,
    }


def _whole(asked: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """A whole number of the address within bounds."""
    text = asked.get(name) or str(default)
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < low:
        raise InputError(f"{name}={text[:40]!r} must be a whole number from {low}.")
    return min(int(text), high)


def _selected(run: RunFiles, asked: Mapping[str, str]) -> np.ndarray:
    """Which texts are asked for, by row."""
    rows: np.ndarray = np.arange(run.texts)
    if asked.get("rows"):
        named = asked["rows"].split(",")
        if len(named) > 5_000 or not all(text.isascii() and text.isdigit() and len(text) < 10 for text in named):
            raise InputError("rows must be at most 5,000 whole numbers with commas between, as rows=1,2,3.")
        rows = np.array(list(dict.fromkeys(run.check_row(int(text)) for text in named)), dtype=np.int64)
    if asked.get("plot"):
        x, y, _ = plot_of(run, asked["plot"]).values(run)
        rows = rows[in_plot(asked, x[rows], y[rows])]
    if asked.get("from") or asked.get("to"):
        values = _key(run, (asked.get("by") or asked.get("sort") or "row").removeprefix("-"))[rows]
        rows = rows[(values >= number_of(asked, "from", -np.inf)) & (values <= number_of(asked, "to", np.inf))]
    if asked.get("grade"):
        if asked["grade"] not in GRADES:
            raise UnknownName("grade", asked["grade"][:40], GRADES)
        rows = rows[grades(run)[rows] == TONES.index(asked["grade"])]
    for name in ("predicted", "label"):
        if asked.get(name):
            rows = rows[run.numbers("instances", name)[rows] == number_of(asked, name, 0)]
    return rows


#: Orders by a number of another challenge: its name in the address, the challenge and the column.
OTHERS = {
    "adversary": ("adversary", "lower"),
    "permutation": ("permutation", "median_change"),
    "uniform": ("uniform", "change"),
}


def _sorts(run: RunFiles) -> list[str]:
    own = [name for name in ("confidence", "max_attention", "label", "predicted") if run.has("instances", name)]
    others = [name for name, (challenge, column) in OTHERS.items() if run.has(challenge, column)]
    return ["row", *own, *(["grade"] if run.has("importance", "held") else []), *others]


def _key(run: RunFiles, name: str) -> np.ndarray:
    """The number that texts are ordered by."""
    if name not in _sorts(run):
        raise UnknownName("order of texts", name[:40], _sorts(run))
    if name == "row":
        return np.arange(run.texts, dtype=np.float64)
    if name == "grade":
        return np.where(grades(run) == 0, np.nan, grades(run).astype(np.float64))
    return run.numbers(*OTHERS.get(name, ("instances", name)))


def _sorted(run: RunFiles, rows: np.ndarray, sort: str) -> tuple[np.ndarray, str]:
    """The rows in order, those without a number last; a minus turns it round. Rows that were named keep their order."""
    if not sort:
        return rows, ""
    keys = _key(run, sort.removeprefix("-"))[rows]
    return rows[np.argsort(-keys if sort.startswith("-") else keys, kind="stable")], sort


def _excerpts(run: RunFiles, rows: Sequence[int]) -> list[Row]:
    names = {*run.schema("instances").names}
    wanted = [
        c for c in ("id", "tokens", "label", "predicted", "confidence", "word", "written", "sentence") if c in names
    ]
    found = run.take("instances", rows, wanted).to_pylist()
    tones = grades(run)
    return [
        {
            "row": row,
            "id": text["id"],
            "excerpt": _excerpt(text.get("tokens")),
            "label": text.get("label"),
            "predicted": text.get("predicted"),
            "confidence": text.get("confidence"),
            "word": text.get("word"),
            "written": text.get("written"),
            "grade": GRADES.get(TONES[tones[row]]),
            "tone": TONES[tones[row]] or None,
        }
        for row, text in zip(rows, found, strict=True)
    ]


def _excerpt(tokens: Sequence[str] | None) -> str:
    if tokens is None:
        return ""
    more = " …" if len(tokens) > EXCERPT else ""
    return visible(" ".join(tokens[:EXCERPT]), CHARACTERS) + more


def text_of(run: RunFiles, row: int) -> Row:
    """One text with all that was found of it; what findings do not hold is null."""
    run.check_row(row)
    text: Row = run.take("instances", [row]).to_pylist()[0]
    found = {
        name: run.of_texts(name, [row], [c for c in columns if run.has(name, c)]).to_pylist()
        for name, columns in FOUND.items()
        if run.has(name, columns[0])
    }
    record = record_of_text(run, text, found, TONES[grades(run)[row]]) | {"row": row}
    if "sentence" in text:
        record |= {"step": row - sentence_rows(run, row)[0], "matrix": _matrix(run, row)}
    return record


def record_of_text(run: RunFiles, text: Row, found: Mapping[str, Sequence[Row]], tone: str) -> Row:
    """A text in the shape of its page: its row of instances, and those of other challenges."""
    wording = wording_of(run.fields)
    scores = [
        name
        for name, values in text.items()
        if isinstance(values, list) and name not in NOT_SCORES and not name.startswith("second_")
    ]
    return {
        "run": run.id,
        "texts": run.texts,
        "id": text.get("id"),
        "tokens": text.get("tokens"),
        "second": text.get("second"),
        "label": text.get("label"),
        "predicted": text.get("predicted"),
        "word": text.get("word"),
        "written": text.get("written"),
        "classes": run.classes,
        "confidence": text.get("confidence"),
        "probabilities": text.get("probabilities"),
        "attention": text.get("attention"),
        "explainers": {name: text[name] for name in scores},
        "second_explainers": {n: v for n, v in text.items() if n.startswith("second_") and v is not None},
        "token_logits": text.get("token_logits"),
        "affine": text.get("token_logits") is not None,
        "on_words": text.get("on_words"),
        "rationale": text.get("rationale"),
        "marks": run.fields.get("corpus", {}).get("rationale") or "",
        "grade": GRADES.get(tone),
        "tone": tone or None,
        "adversary": _adversary(_one(found, "adversary")),
        "epsilon": run.about("adversary").parameters.get("epsilon", EPSILON) if run.has("adversary") else EPSILON,
        "flip_set": next((one.get("items") for one in found.get("flip_sets", ()) if one["order"] == "smallest"), None),
        "uniform": _only(_one(found, "uniform"), *FOUND["uniform"]),
        "permutation": _only(_one(found, "permutation"), *FOUND["permutation"]),
        "item": wording.item,
        "unit": wording.unit,
        "not_judged": text.get("not_judged"),
    }


def _one(found: Mapping[str, Sequence[Row]], challenge: str) -> Row | None:
    """The row of a challenge that has one for each text."""
    rows = found.get(challenge, ())
    return rows[0] if len(rows) == 1 else None


def _only(found: Row | None, *names: str) -> Row | None:
    return None if found is None else {name: found.get(name) for name in names}


def _adversary(found: Row | None) -> Row | None:
    if found is None or found.get("lower") is None:
        return None
    return {
        "weights": found.get("adversarial_attention"),
        "jsd": found["lower"],
        "upper": found.get("upper"),
        "certified": found.get("certified"),
        "tvd": found.get("adversarial_change"),
        "probabilities": found.get("adversarial_probabilities"),
        "decision_kept": found.get("decision_kept"),
    }


def sentence_rows(run: RunFiles, row: int) -> range:
    """The steps of writing the sentence that a step belongs to, by row."""
    firsts = run.kept("sentences", lambda: _firsts(run))
    place = int(np.searchsorted(firsts, row, side="right")) - 1
    last = int(firsts[place + 1]) if place + 1 < len(firsts) else run.texts
    return range(int(firsts[place]), last)


def _firsts(run: RunFiles) -> np.ndarray:
    """Where each sentence's steps begin."""
    names = run.columns("instances", "sentence")["sentence"].cast(pa.string()).combine_chunks()
    names = names.chunk(0) if isinstance(names, pa.ChunkedArray) else names
    new = np.ones(len(names), dtype=bool)
    new[1:] = pc.not_equal(names[1:], names[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(new)


def _matrix(run: RunFiles, row: int) -> Row | None:
    """Source × target: what every step of a sentence weighs."""
    rows = sentence_rows(run, row)
    if not run.has("instances", "tokens", "attention", "word"):
        return None
    steps = run.take("instances", rows, ["tokens", "attention", "word", "written", "confidence"]).to_pylist()
    return {
        "source": steps[0]["tokens"],
        "target": [step["word"] for step in steps],
        "written": [step["written"] for step in steps],
        "confidence": [step["confidence"] for step in steps],
        "weights": [step["attention"] for step in steps],
        "rows": list(rows),
    }
