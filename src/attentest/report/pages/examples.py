"""The texts that a page shows, with their attention, the adversary's, and what every explainer says of the words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.challenges.importance.presentation import GRADES, grade_by_text
from attentest.presentation.charts import Palette
from attentest.presentation.text import pair_in_words, visible_token
from attentest.store.findings import Findings

__all__ = ["examples", "name_of"]

#: A text longer than this is shown around its heaviest words; one longer than the second, only so.
EXCERPT, WHOLE = 60, 600
LONGEST = 80  # characters shown of a token; of a sentence, as many for each of its words, within bounds
#: Attentions that differ by less (JSD) are the same to a reader, and to three digits.
DIFFERENT = 0.0005
#: Of words under each other: characters shown, pixels of a letter and around a word, and of a line.
SHORT, LETTER, AROUND, LINE = 36, 8.2, 16, 800
#: Which texts are shown: places on the scale of how replaceable or, unattacked, how concentrated attention is.
PLACES = (
    ("hardest to replace", "most spread out", (0.0, 0.05, 0.1)),
    ("in between", "in between", (0.45, 0.55)),
    ("easiest to replace", "most concentrated", (0.9, 0.95, 1.0)),
)

Row = dict[str, Any]


def examples(found: Mapping[str, Findings], palette: Palette, names: Sequence[str]) -> Iterator[Row]:
    """Some ten texts with their attention, the adversary's where there is one, and the scores of every explainer."""
    if "instances" not in found or "attention" not in found["instances"].table.column_names:
        return
    table = found["instances"].table
    table = table.filter(pc.is_null(table["not_judged"]))
    attacks = found["adversary"].table if "adversary" in found else None
    chosen = _chosen(table, attacks)
    ids = pa.array(list(chosen), pa.string())
    texts = {row["id"]: row for row in table.filter(pc.is_in(table["id"], ids)).to_pylist()}
    against: dict[str, Row] = {}
    if attacks is not None:
        against = {row["id"]: row for row in attacks.filter(pc.is_in(attacks["id"], ids)).to_pylist()}
    grades = grade_by_text(found["importance"]) if "importance" in found else {}
    explainers = _explainers(found["instances"])
    for key, why in chosen.items():
        text, attack = texts[key], against.get(key, {})
        maps = [("attention", text["attention"], _outcome(text, names))]
        if attack.get("adversarial_attention") and (attack["lower"] or 0.0) >= DIFFERENT:
            maps.append(("adversary", attack["adversarial_attention"], _attacked(text, attack, names)))
        kept = _kept([w for _, w, _ in maps], [text[e] for e in explainers if text[e]], text.get("rationale"))
        yield {
            "id": key,
            "why": why,
            "tokens": len(text["tokens"]),
            "second": " ".join(visible_token(token, LONGEST) for token in text.get("second") or ()),
            "step": "written" in text,
            "gold": text.get("word") or name_of(names, text["label"]),
            "predicted": text.get("written") or name_of(names, text["predicted"]),
            "colour": palette.colours[palette.group_of[text["predicted"]]],
            "attack": attack,
            "grade": GRADES.get(grades.get(key, ""), ""),
            "aligned": _aligned(text, [*((k, w) for k, w, _ in maps), *((e, text[e]) for e in explainers)], kept),
            "maps": [
                {
                    "kind": kind,
                    "outcome": outcome,
                    "chance": chance,
                    "excerpt": list(_pieces(text, weights, kept)),
                    "whole": list(_pieces(text, weights, None)) if len(kept) < len(weights) <= WHOLE else None,
                }
                for kind, weights, (outcome, chance) in maps
            ],
        }


def _explainers(instances: Findings) -> list[str]:
    """The explainers whose scores were kept, in the order in which they were asked."""
    return [name for name in instances.parameters.get("explainers", ()) if name in instances.table.column_names]


def _aligned(text: Row, scores: Sequence[tuple[str, Sequence[float] | None]], kept: set[int]) -> Row | None:
    """All scores under each other, word by word, in lines of about the same width; None where only attention is."""
    rows = [_shaded(name, list(values)) for name, values in scores if values is not None]
    lines: list[list[int]] = []
    used = widest = 0.0
    for t in sorted(kept):
        width = AROUND + LETTER * min(SHORT, len(text["tokens"][t]))
        used, widest = used + width, max(widest, used + width)
        if not lines or used > LINE or t != lines[-1][-1] + 1:
            lines.append([])
            used = width
        lines[-1].append(t)
    return {"rows": rows, "lines": [_line(text, places) for places in lines], "width": widest} if rows[1:] else None


def _line(text: Row, places: Sequence[int]) -> Row:
    marks = text.get("rationale") or ()
    words = [(visible_token(text["tokens"][t], SHORT), bool(marks and marks[t])) for t in places]
    return {"places": places, "words": words}


def _shaded(name: str, scores: Sequence[float]) -> Row:
    """Scores as shares of the largest: of one hue or, where some are negative, of two."""
    sizes = [abs(score) for score in scores if score is not None and math.isfinite(score)]
    largest, signed = max(sizes, default=0.0), any(score is not None and score < 0 for score in scores)
    cells = []
    for score in scores:
        there = score is not None and math.isfinite(score)
        shade = score / largest if there and largest else 0.0
        hue = ("against" if shade < 0 else "for") if signed else "other" if name == "adversary" else "most"
        cells.append((hue, abs(shade), f"{score:.3g}".replace("-", "−") if there else "no number"))
    return {"name": "another attention" if name == "adversary" else pair_in_words(name), "cells": cells}


def _outcome(text: Row, names: Sequence[str]) -> tuple[str, str]:
    """What the model predicts, and its chance."""
    chance = text["confidence"] if "confidence" in text else max(text["probabilities"])
    return text.get("written") or name_of(names, text["predicted"]), f"{100 * chance:.1f} %"


def _attacked(text: Row, attack: Row, names: Sequence[str]) -> tuple[str, str]:
    """The same under the adversary's weights; of very many classes only whether it is the same one."""
    chances = attack.get("adversarial_probabilities")
    chance = f"{100 * max(chances):.1f} %" if chances else ""
    if attack.get("decision_kept"):
        return _outcome(text, names)[0], chance
    if chances and "written" not in text:
        return name_of(names, max(range(len(chances)), key=chances.__getitem__)), chance
    return "another one", chance


def _chosen(texts: pa.Table, attacks: pa.Table | None) -> dict[str, str]:
    """Ids and why they were chosen: spread over the scale, and the two most confident of the others."""
    scale, column = (texts, "max_attention") if attacks is None else (attacks, "ratio")
    places = sorted(
        (v, i) for v, i in zip(scale[column].to_pylist(), scale["id"].to_pylist(), strict=True) if v is not None
    )
    chosen: dict[str, str] = {}
    for replaceable, concentrated, shares in PLACES if places else ():
        for share in shares:
            why = concentrated if attacks is None else replaceable
            chosen.setdefault(places[round(share * (len(places) - 1))][1], why)
    if "confidence" in texts.column_names:
        confidence = texts["confidence"].to_pylist()
    else:
        confidence = [max(chances) for chances in texts["probabilities"].to_pylist()]
    surest = sorted((-chance, i) for chance, i in zip(confidence, texts["id"].to_pylist(), strict=True))
    confident = (i for _, i in surest if i not in chosen)
    return chosen | dict.fromkeys(islice(confident, 2), "most confident")


def _kept(
    maps: Sequence[Sequence[float]], scores: Sequence[Sequence[float]], rationale: Sequence[bool] | None
) -> set[int]:
    """The tokens of an excerpt: all of a short text, else the heaviest and the deciding ones with neighbours."""
    length = len(maps[0])
    if length <= EXCERPT:
        return set(range(length))
    centres = {t for weights in maps for t in sorted(range(length), key=lambda t: -weights[t])[:6]}
    centres |= {t for each in scores for t in sorted(range(length), key=lambda t: -abs(each[t] or 0))[:2]}
    centres |= set([t for t, decides in enumerate(rationale or ()) if decides][:8])
    near = {t for c in centres for t in range(c - 2, c + 3) if 0 <= t < length}
    return near | {t for a, b in pairwise(sorted(near)) if b - a <= 4 for t in range(a, b)}


def _pieces(text: Row, weights: Sequence[float], kept: set[int] | None) -> Iterator[Row]:
    """Tokens with their shade, the square root of the weight; what is left out becomes a gap with its length."""
    gap = 0
    for t, (token, weight) in enumerate(zip(text["tokens"], weights, strict=True)):
        if kept is not None and t not in kept:
            gap += 1
            continue
        if gap:
            yield {"gap": gap}
            gap = 0
        decides = bool(text.get("rationale") and text["rationale"][t])
        yield {
            "text": visible_token(token, min(WHOLE, LONGEST * (1 + token.count(" ")))),
            "weight": weight,
            "shade": math.sqrt(max(weight, 0)),
            "decides": decides,
        }
    if gap:
        yield {"gap": gap}


def name_of(names: Sequence[str], c: int) -> str:
    """The name of a class."""
    return names[c] if c < len(names) else f"class {c}"
