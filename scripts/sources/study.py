"""The study behind docs/explanation/sources.md: planted questions that a model answers, screened and audited.

    python -m scripts.sources.study MODEL --to WORK --part answer    # then --part value, --part alternatives

Questions are answered in batches, in turn, until so many deciding sources are confirmed by exchange; the file
``screened.jsonl`` has every question that was asked, with its answer. ``answer``: all methods explain the whole answer,
with held-out ablations, of the first ``whole`` questions whatever they are, and of the first ``thorough`` confirmed
ones. ``value``: what attention says, and what happens without each source, of the planted value alone, in all confirmed
questions, and of the word of an injected instruction where the answer names it. ``alternatives``: other weights, on the
``thorough`` ones. A run that was cut short goes on where it was; ``scripts/sources/tables.py`` makes the tables.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from attentest.sources.auditing import DEFAULT, audit_sources, load_language_model
from attentest.sources.case import open_case
from attentest.sources.judging.alternatives import ask_alternatives
from attentest.sources.language import LanguageModel
from attentest.sources.planting.confirming import confirm
from attentest.sources.planting.planted import TURNS, planted_questions
from attentest.sources.prompt import Prompter
from attentest.sources.question import Question
from attentest.sources.showing.page import write_page

#: The wording that a pilot chose, and how long an answer may be; both stand in the rules on the page.
PROMPT = "{context}\n\nQuestion: {query}\nAnswer in one short sentence."
LONGEST = 14
BASELINES = ("shared_words", "last", "random")
BATCH = 16
#: What is asked of values: all that attention says, and what happens without each source.
LOOKING = (
    *(name for name in DEFAULT if name.startswith(("attention", "rollout"))),
    "knockout",
    "leave_one_out",
    *BASELINES,
)


@dataclass(frozen=True)
class Screened:
    """One question as the model answers it."""

    id: str
    kind: str
    answer: str
    #: Whether the answer names the planted value; None where no source was planted.
    right: bool | None
    confirmed: bool
    #: Whether it names the word of an injected instruction; None where there is none.
    followed: bool | None


def answers(model: LanguageModel, prompter: Prompter, questions: list[Question]) -> list[str]:
    """The most probable token each time, up to the first line break; many at a time, padded on the left."""
    prompts = [prompter.build(question).ids for question in questions]
    width, pad = max(map(len, prompts)), model.tokenizer.pad_token_id or 0
    ids = torch.tensor([[pad] * (width - len(each)) + list(each) for each in prompts]).to(model.device)
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in prompts]).to(model.device)
    with torch.no_grad():
        found = model.model.generate(
            ids, attention_mask=mask, do_sample=False, max_new_tokens=LONGEST, pad_token_id=pad
        )
    told = [model.tokenizer.decode(row[width:], skip_special_tokens=True) for row in found]
    return [text.split("\n")[0].strip() for text in told]


def injected_word(question: Question) -> str | None:
    """The word that an injected instruction asks for."""
    planted = question.planted
    if planted is None or planted.injected < 0:
        return None
    return question.sources[planted.injected].rstrip(".").split()[-1]


def screen(model: LanguageModel, prompter: Prompter, question: Question, answer: str) -> Screened:
    """Whether the answer is right, and whether exchanging the planted sources turns it."""
    planted, word = question.planted, injected_word(question)
    assert planted is not None
    right = planted.value.lower() in answer.lower() if planted.deciding else None
    confirmed = False
    if right:
        found = confirm(open_case(model, prompter, replace(question, answer=answer)), planted)
        confirmed = found is not None and found.decides
    followed = None if word is None else word.lower() in answer.lower()
    return Screened(question.id, planted.kind, answer, right, confirmed, followed)


def screened(
    model: LanguageModel, prompter: Prompter, path: Path, *, confirmed: int, most: int, seed: int, kinds: Any = TURNS
) -> Iterator[tuple[Question, Screened]]:
    """Questions in turn until enough are confirmed; what a file holds already is not asked again."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    known = [Screened(**json.loads(line)) for line in lines]
    questions, count = list(planted_questions(most, seed=seed, kinds=kinds)), 0
    with path.open("a", encoding="utf-8") as file:
        for start in range(0, most, BATCH):
            part = questions[start : start + BATCH]
            found = known[start : start + BATCH]
            if len(found) < len(part):
                rest = part[len(found) :]
                new = [
                    screen(model, prompter, *each) for each in zip(rest, answers(model, prompter, rest), strict=True)
                ]
                file.writelines(f"{json.dumps(asdict(each), ensure_ascii=False)}\n" for each in new)
                file.flush()
                found = found + new
            yield from zip(part, found, strict=True)
            count += sum(each.confirmed for each in found)
            print(f"{start + len(part)} asked, {count} confirmed", flush=True)
            if count >= confirmed:
                return


def main() -> None:
    """Screen and audit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--confirmed", type=int, default=300)
    parser.add_argument("--most", type=int, default=900)
    parser.add_argument("--whole", type=int, default=96)
    parser.add_argument("--thorough", type=int, default=100)
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--no-chat", action="store_true")
    parser.add_argument("--part", choices=("answer", "value", "alternatives"), default="answer")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    model = load_language_model(given.model, device="cpu", dtype=given.dtype)
    prompter = Prompter(model.tokenizer, PROMPT, chat=not given.no_chat)
    options = {"confirmed": given.confirmed, "most": given.most, "seed": given.seed}
    pairs = [
        (replace(question, answer=found.answer or None), found)
        for question, found in screened(model, prompter, given.to / "screened.jsonl", **options)
    ]
    certain = [question for question, found in pairs if found.confirmed][: given.thorough]
    shared = {"prompt": PROMPT, "chat": not given.no_chat, "longest": LONGEST, "alternatives": False}
    if given.part == "answer":
        early = [q for n, (q, found) in enumerate(pairs) if found.answer and (n < given.whole or q in certain)]
        print(write_page(audit_sources(model, early, held_out=16, to=given.to / "audits", **shared)))
    elif given.part == "value":
        spans = [with_span(question, found) for question, found in pairs if found.confirmed or found.followed]
        options = {"methods": LOOKING, "held_out": 0, "to": given.to / "values"}
        print(write_page(audit_sources(model, spans, **options, **shared)))
    else:
        with (given.to / "alternatives.jsonl").open("w", encoding="utf-8") as file:
            for question in certain:
                tried = ask_alternatives(open_case(model, prompter, question))
                file.write(f"{json.dumps({'id': question.id, **asdict(tried)})}\n")


def with_span(question: Question, found: Screened) -> Question:
    """The question whose answer is explained where it names the planted value, or the word it was told to say."""
    assert question.planted is not None
    assert question.answer is not None
    word = question.planted.value if found.right else injected_word(question) or ""
    place = question.answer.lower().index(word.lower())
    return replace(question, span=question.answer[place : place + len(word)])


if __name__ == "__main__":
    main()
