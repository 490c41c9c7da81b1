"""From a finished run to the items of a study: texts drawn by seed, conditions and sides balanced, checks and gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from attentest import __version__
from attentest.errors import InputError, NotApplicable
from attentest.people.design import Design, Draft, Draw
from attentest.people.item import Hidden, Item, Kind, item_id
from attentest.people.source import Source, Text, chance
from attentest.people.study import Documents, PeopleStudy, check_study_name
from attentest.registry import text_of
from attentest.store.folder import RunFolder

__all__ = ["Plan", "new_study", "usual_checks", "usual_gold"]

#: Texts that are read at once.
AT_ONCE = 200
#: What a study holds at most, by the option that says it.
MOST = {"items": 100_000, "annotators": 10_000, "overlap": 100_000, "checks": 10_000, "gold": 10_000}
#: Whoever fails more than this share of the checks is left out, beside the results with everybody.
FAILED = 0.25


@dataclass(frozen=True)
class Plan:
    """How many items of which kind, and who gets them."""

    items: int = 200
    seed: int = 0
    #: Items that everybody gets, the others being dealt to ``annotators`` people; None: everybody gets all.
    overlap: int | None = None
    annotators: int = 1
    #: Attention checks, and items with a planted truth; None: one check in 25 items of a person, one gold item in 20.
    checks: int | None = None
    gold: int | None = None
    #: Texts with more words are left out.
    longest: int = 400

    def __post_init__(self) -> None:
        least = {"items": 2, "annotators": 1, "longest": 2, "seed": 0}
        least |= {name: 0 for name in ("overlap", "checks", "gold") if getattr(self, name) is not None}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise InputError(f"--{name} {getattr(self, name)} must be at least {value}.")
        for name, value in MOST.items():
            if (getattr(self, name) or 0) > value:
                raise InputError(f"--{name} {getattr(self, name)} must be at most {value:,}: ask for fewer.")
        if self.overlap is not None and self.annotators < 2:
            raise InputError(
                f"--overlap {self.overlap} deals the rest to several people: say to how many (--annotators)."
            )
        if self.overlap is not None and self.overlap > self.items:
            raise InputError(f"--overlap {self.overlap} is more than --items {self.items}.")

    @property
    def each(self) -> int:
        """How many items that count one person gets."""
        shared = self.items if self.overlap is None else self.overlap
        return shared + -(-(self.items - shared) // self.annotators)


def usual_checks(each: int) -> int:
    """How many checks somebody gets beside so many items."""
    return max(3, each // 25)


def usual_gold(each: int) -> int:
    """How many gold items somebody gets beside so many items."""
    return max(2, each // 20)


def new_study(root: Path, name: str, runs: Sequence[RunFolder], design: Design, plan: Plan) -> PeopleStudy:
    """Make a study of people from finished runs."""
    check_study_name(name)
    if len(runs) not in design.runs:
        counts = " or ".join(map(str, design.runs))
        raise InputError(
            f"The design {design.name!r} takes {counts} run{'s' if counts != '1' else ''}, not {len(runs)}."
        )
    sources = [Source(run) for run in runs]
    items = _Maker(sources, design, plan).items()
    record = {
        "name": name,
        "design": text_of(design),
        "seed": plan.seed,
        "overlap": plan.items if plan.overlap is None else plan.overlap,
        "portions": 1 if plan.overlap is None else plan.annotators,
        "longest": plan.longest,
        "failed": FAILED,
        "runs": [_about(source) for source in sources],
        "classes": sources[0].classes,
        "counts": dict(Counter(item.hidden.kind for item in items)),
        "conditions": dict(Counter(item.hidden.condition for item in items if item.hidden.kind == "item")),
        "made_with": {"attentest": __version__},
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return PeopleStudy.create(root / name, record, items, Documents(design.consent, design.instructions))


def _about(source: Source) -> dict[str, Any]:
    corpus, model = source.fields.get("corpus", {}), source.fields.get("model", {})
    return {
        "id": source.run.path.name,
        "corpus": str(corpus.get("name", "")),
        "model": str(model.get("encoder", model.get("name", ""))),
        "attention": str(model.get("attention", "")),
        "seed": source.fields.get("seed"),
        "rationale": str(corpus.get("rationale", "")) if source.has_rationale else "",
    }


class _Maker:
    """Makes items of texts in random order, each text once."""

    def __init__(self, sources: Sequence[Source], design: Design, plan: Plan) -> None:
        self.sources, self.design, self.plan = sources, design, plan
        self.prepared = design.prepare(*sources)
        self.rows = self._candidates()

    def items(self) -> list[Item]:
        """All items: those that count, gold ones and checks."""
        texts = self._texts()
        made = [(condition, "item", text, draft) for condition, text, draft in self._balanced(texts)]
        spare = list(_some(texts, 4 * (self._gold() + self._checks()) + 20))
        made += self._golds(spare)
        made += self._made_checks(spare, made)
        order = chance(self.plan.seed, "file", self.design.name).permutation(len(made))
        return [self._item(number, *made[place]) for number, place in enumerate(order)]

    def _item(self, number: int, condition: str, kind: Kind, text: str, draft: Draft) -> Item:
        hidden = Hidden(condition, text, kind, draft.truth, draft.planted, draft.facts)
        return Item(item_id(self.plan.seed, number), draft.shown, hidden)

    def _candidates(self) -> list[tuple[int, ...]]:
        """The rows, one for every run, of the texts that can be used, in random order."""
        first, source = self.design.shortest, self.sources[0]
        lengths = source.lengths()
        usable = source.judged() & (lengths >= first) & (lengths <= self.plan.longest)
        rows = np.flatnonzero(usable)
        places = [{key: row for row, key in enumerate(other.plain("id")[0])} for other in self.sources[1:]]
        ids = source.plain("id")[0]
        kept = [(int(r), *(p[ids[r]] for p in places)) for r in rows if all(ids[r] in p for p in places)]
        if len(kept) < self.plan.items:
            shared = " that both runs have" if len(self.sources) > 1 else ""
            raise InputError(
                f"{source.run.path.name} has {len(kept):,} texts of {first} to {self.plan.longest} words{shared}, and "
                f"{self.plan.items:,} items need as many. Ask for fewer (--items) or allow longer texts (--longest)."
            )
        order = chance(self.plan.seed, "texts").permutation(len(kept))
        return [kept[place] for place in order]

    def _texts(self) -> Iterator[tuple[Text, ...]]:
        for start in range(0, len(self.rows), AT_ONCE):
            part = self.rows[start : start + AT_ONCE]
            read = [source.texts(row[i] for row in part) for i, source in enumerate(self.sources)]
            yield from zip(*read, strict=True)

    def _balanced(self, texts: Iterator[tuple[Text, ...]]) -> Iterator[tuple[str, str, Draft]]:
        """Drafts of as many texts as are asked for: of every label as many under each condition, sides in turn."""
        conditions = self.design.conditions
        wanted = {c: (self.plan.items + len(conditions) - 1 - n) // len(conditions) for n, c in enumerate(conditions)}
        made: Counter[str] = Counter()
        by_label: Counter[tuple[str, int]] = Counter()
        for text in texts:
            open_ = [c for c in conditions if made[c] < wanted[c]]
            if not open_:
                return
            label = text[0].label
            condition = min(open_, key=lambda c: (by_label[c, label], made[c] / wanted[c], conditions.index(c)))
            draft = self._draft(text, condition, by_label[condition, label])
            if draft is not None:
                made[condition] += 1
                by_label[condition, label] += 1
                yield condition, text[0].id, draft
            if sum(made.values()) == self.plan.items:
                return
        raise NotApplicable(
            f"Items of the design {self.design.name!r} could be made of only {sum(made.values()):,} of these "
            f"{len(self.rows):,} texts, and {self.plan.items:,} are asked for. Ask for fewer (--items)."
        )

    def _draw(self, kind: str, text: tuple[Text, ...], number: int) -> Draw:
        """What chance gives an item; sides begin with either and then take turns."""
        begin = int(chance(self.plan.seed, "side", kind, text[0].label).integers(2))
        random = chance(self.plan.seed, kind, text[0].id)
        return Draw(random, bool((number + begin) % 2) if self.design.sided else False)

    def _draft(self, text: tuple[Text, ...], condition: str, number: int) -> Draft | None:
        return self.design.draft(text, condition, self._draw(condition, text, number), self.sources[0], self.prepared)

    def _gold(self) -> int:
        if self.plan.gold is not None:
            return self.plan.gold
        return usual_gold(self.plan.each) if self.sources[0].planted else 0

    def _checks(self) -> int:
        return usual_checks(self.plan.each) if self.plan.checks is None else self.plan.checks

    def _golds(self, spare: list[tuple[Text, ...]]) -> list[tuple[str, Kind, str, Draft]]:
        """Gold items; where none were asked for and none can be made, there are none."""
        found: list[tuple[str, Kind, str, Draft]] = []
        wanted = self._gold()
        for text in list(spare):
            if len(found) == wanted:
                break
            number = len(found)
            draft = self.design.gold(text, self._draw("gold", text, number), self.sources[0], number)
            if draft is not None:
                found.append(("gold", "gold", text[0].id, draft))
                spare.remove(text)
        if len(found) < wanted and self.plan.gold is not None:
            raise NotApplicable(
                f"--gold {wanted}: gold items of the design {self.design.name!r} need texts beyond the items whose "
                f"rationale is known, and there are {len(found)}. Ask for fewer (--gold {len(found)})."
            )
        return found

    def _made_checks(
        self, spare: list[tuple[Text, ...]], made: Sequence[tuple[str, Any, str, Draft]]
    ) -> list[tuple[str, Kind, str, Draft]]:
        """Checks, made of texts that are left over, or else of the first items."""
        found: list[tuple[str, Kind, str, Draft]] = []
        left = [self._draft(text, self.design.conditions[0], 0) for text in spare]
        usable = [draft for draft in left if draft is not None] or [draft for *_, draft in made]
        for number in range(self._checks()):
            found.append(("check", "check", "", self.design.check(usable[number % len(usable)], number)))
        return found


def _some(texts: Iterator[tuple[Text, ...]], most: int) -> Iterator[tuple[Text, ...]]:
    for _, text in zip(range(most), texts, strict=False):
        yield text
