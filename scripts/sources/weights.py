"""Other weights at chosen places of a language model: the tests of attention behind docs/explanation/sources.md.

    python -m scripts.sources.weights MODEL WORK [--questions 60]

WORK is what scripts/sources/study.py wrote (``--part value``). At every place (all layers, each third of them, each
layer alone, and the tenth of all heads that the learnt combination weighs most) what the value's tokens give to the
sources is handed out evenly, permuted, or all to one source, and attention to each source is cut. The combination is
learnt on the other confirmed questions. ``weights.jsonl`` has a line for every question and place; a run that was cut
short goes on; ``scripts/sources/tables.py`` makes the page's table of it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scripts.sources.files import heading, printed, read
from scripts.sources.study import PROMPT, Screened, with_span

from attentest.models.huggingface.attending import Edit
from attentest.sources.auditing import CASES, load_language_model
from attentest.sources.case import Case, open_case
from attentest.sources.judging.alternatives import FAR, Alternatives, ask_alternatives
from attentest.sources.judging.learnt import fit_heads
from attentest.sources.judging.record import Record
from attentest.sources.language import LanguageModel
from attentest.sources.methods.knockout import Knockout
from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import Prompter
from attentest.statistics.bootstrap import bootstrap_mean
from attentest.statistics.intervals import Interval, wilson

#: Of all heads, one in so many is where the learnt combination looks.
PART = 10
LEARNT = "learnt heads"
#: ``farthest``: how far the farthest weights lie that were tried and leave the answer as it is; ``first``: the source
#: whose cut hurts most.
PLACES = ("id", "place", "uniform", "permuted", "farthest", "first")
DO, DECIDE, UNSETTLED = "other weights do", "its weights decide", "unsettled"


class OnHeads:
    """A language model whose attention is edited at chosen heads only."""

    def __init__(self, model: LanguageModel, chosen: np.ndarray) -> None:
        self.model, self.chosen = model, torch.tensor(chosen)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def log_probabilities(
        self, prompts: Sequence[Sequence[int]], answer: Sequence[int], *, prefix: Any, edits: Mapping[int, Edit]
    ) -> Any:
        """The log-probability where other heads stay as they are."""
        some = {
            place: self._only(edit, self.chosen[place]) for place, edit in edits.items() if self.chosen[place].any()
        }
        return self.model.log_probabilities(prompts, answer, prefix=prefix, edits=some)

    @staticmethod
    def _only(edit: Edit, heads: torch.Tensor) -> Edit:
        def edited(weights: Any, values: Any, allowed: Any) -> Any:
            new, kept = edit(weights, values, allowed)
            return torch.where(heads[None, :, None, None], new, weights), kept

        return edited


def places(layers: int) -> dict[str, tuple[int, int]]:
    """First and last layer of every place, from 1."""
    third = layers // 3
    thirds = {f"layers {start + 1} to {start + third}": (start + 1, start + third) for start in range(0, layers, third)}
    return {"all layers": (1, layers), **thirds, **{f"layer {n}": (n, n) for n in range(1, layers + 1)}}


def at(case: Case, first: int, last: int) -> tuple[Alternatives, list[float]]:
    """Other weights, and attention to each source cut, in these layers."""
    cut = Knockout(first=first, last=last).score(case).scores
    return ask_alternatives(case, first=first, last=last, draws=2), [float(fall) for fall in cut]


def at_heads(case: Case, chosen: np.ndarray) -> tuple[Alternatives, list[float]]:
    """The same at chosen heads, [layer, head]."""
    own = np.where(chosen[..., None], case.attended.summed, 0).sum((0, 1))
    model = case.model
    case.model = OnHeads(model, chosen)  # type: ignore[assignment]
    found, cut = at(case, 1, len(chosen))
    case.model = model
    return replace(found, shares=(own / max(own.sum(), np.finfo(float).tiny)).tolist()), cut


def collected_places(work: Path) -> list[dict[str, Any]]:
    """A row for every question that was asked at every place."""
    lines = [json.loads(line) for line in (work / "weights.jsonl").read_text("utf-8").splitlines()]
    whole = max(sum(line["id"] == each for line in lines) for each in {line["id"] for line in lines})
    rows = []
    for line in lines:
        about = {key: value for key, value in line.items() if key not in ("id", "place", "cut")}
        found = Alternatives(**about)
        row = {
            **{"id": line["id"], "place": line["place"], "uniform": f"{found.uniform:.3f}"},
            **{"permuted": f"{np.mean(found.permuted):.3f}", "farthest": f"{found.farthest():.3f}"},
            "first": int(np.argmax(line["cut"])),
        }
        if sum(each["id"] == line["id"] for each in lines) == whole:
            rows.append(row)
    return rows


def ruled(stays: Interval) -> str:
    """The rule on the page: by how many answers stay under far weights."""
    return DO if stays.low > 0.5 else DECIDE if stays.high < 0.5 else UNSETTLED


def stays_at(folder: Path, model: str = "smollm2, value") -> dict[str, tuple[Interval, list[dict[str, str]]]]:
    """At every place, how often far weights leave the answer as it is, with the rows; answers that hang on sources."""
    about = {row["id"]: row for row in read(folder, "questions.csv") if row["model"] == model}
    rows = [row | about[row["id"]] for row in read(folder, "weights.csv") if about[row["id"]]["status"] == "sources"]
    found = {}
    for place in dict.fromkeys(row["place"] for row in rows):
        own = [row for row in rows if row["place"] == place]
        found[place] = wilson(sum(float(row["farthest"]) >= FAR for row in own), len(own)), own
    return found


def places_table(folder: Path) -> Iterator[str]:
    """A line for every place."""
    yield from heading(
        *("place", "answers", "fall under even weights, nats", "permuted, nats", "far weights leave it, %"),
        *("cutting finds the deciding source, %", "what follows"),
    )
    for place, (stays, rows) in stays_at(folder).items():
        hits = sum(row["first"] in row["deciding"].split() for row in rows)
        cells = (
            *(str(len(rows)), printed(bootstrap_mean([float(row["uniform"]) for row in rows]))),
            *(printed(bootstrap_mean([float(row["permuted"]) for row in rows])), printed(stays, percent=True)),
            *(printed(wilson(hits, len(rows)), percent=True), ruled(stays)),
        )
        yield f"| {place} | " + " | ".join(cells) + " |"


def main() -> None:
    """Ask at every place."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("work", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--dtype", default="bfloat16")
    given = parser.parse_args()
    torch.set_num_threads(1)
    (cases,) = (given.work / "values").glob(f"*/{CASES}")
    records = [Record.from_json(line) for line in cases.read_text("utf-8").splitlines()]
    records = [record for record in records if record.confirmed]
    weights = fit_heads(records[given.questions :])
    heads = weights >= np.sort(weights.ravel())[-weights.size // PART]
    model = load_language_model(given.model, device="cpu", dtype=given.dtype)
    prompter = Prompter(model.tokenizer, PROMPT)
    screened = [
        Screened(**json.loads(line)) for line in (given.work / "screened.jsonl").read_text("utf-8").splitlines()
    ]
    known = {each.id: each for each in screened}
    asked = {question.id: question for question in planted_questions(len(screened), seed=given.seed)}
    path = given.work / "weights.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    done = {(line["id"], line["place"]) for line in map(json.loads, lines)}
    with path.open("a", encoding="utf-8") as file:
        for record in records[: given.questions]:
            about = known[record.id]
            case = open_case(model, prompter, with_span(replace(asked[record.id], answer=about.answer or None), about))
            sites: dict[str, Any] = {LEARNT: None, **places(len(model.places))}
            for name, layers in sites.items():
                if (record.id, name) not in done:
                    found, cut = at_heads(case, heads) if layers is None else at(case, *layers)
                    told = {"id": record.id, "place": name, "cut": cut, **asdict(found)}
                    file.write(f"{json.dumps(told)}\n")
            file.flush()


if __name__ == "__main__":
    main()
