"""MIMIC-III discharge summaries, diabetes and anemia, from the user's own licensed files.

Read from Jain & Wallace's released notebooks and not verified against the authors' private split: nobody may
publish it. Their text calls acute anemia 0 and chronic 1; their code and Table 1's counts say the opposite.
"""

from __future__ import annotations

import re
from abc import ABC
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import Limits, cleaned, csv_records, drawn, held_out, shuffled, shuffled_rows
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.splits import stratified
from attentest.errors import InputError
from attentest.parameters import SEEDS

__all__ = ["MimicAnemia", "MimicDiabetes"]

TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
#: Summaries held at once: they are long.
AT_ONCE = 10_000
UNVERIFIED = "not verified against the authors' private split"
WORDS = (
    "reports joined with their addenda; spaCy tokens, lower case, [** … **] as <DE>, repeated marks once, digits as "
    "qqq; not verified against the authors' private split"
)


def _figures(name: str, counts: Mapping[str, tuple[int, int]], vocabulary: int, length: int) -> Iterator[Expected]:
    for label, (train, test) in counts.items():
        yield Expected("train", f"class {label}", train, name, because=UNVERIFIED)
        yield Expected("test", f"class {label}", test, name, because=UNVERIFIED)
    yield Expected("train", "vocabulary", vocabulary, name, because=UNVERIFIED)
    yield Expected("train", "average length", length, name, because=UNVERIFIED)


def _admissions(notes: Path, diagnoses: Path, caml: Mapping[str, str]) -> Iterator[Row]:
    """Each admission as soon as the last of its notes is read, so that few wait at a time."""
    codes: dict[str, list[tuple[int, str]]] = {}
    for admission, order, code in _columns(diagnoses, "HADM_ID", "SEQ_NUM", "ICD9_CODE"):
        if admission and order and code:
            place = _number(diagnoses, "SEQ_NUM", order)
            codes.setdefault(admission, []).append((place, f"{code[:3]}.{code[3:]}"))
    awaited = Counter(admission for admission, *_ in _summaries(notes) if admission in codes)
    waiting: dict[str, list[tuple[bool, str, str]]] = {}
    for admission, subject, addendum, date, text in _summaries(notes):
        if admission not in codes:
            continue
        waiting.setdefault(admission, []).append((addendum, date, text))
        if len(waiting[admission]) == awaited[admission]:
            joined = sorted(waiting.pop(admission), key=lambda note: note[:2])
            yield {
                "id": f"mimic-{admission}",
                "text": " ".join(note[2] for note in joined).strip(),
                "subject": _number(notes, "SUBJECT_ID", subject),
                "admission": _number(notes, "HADM_ID", admission),
                "codes": [code for _, code in sorted(codes[admission])],
                "caml": caml.get(admission, ""),
            }


def _summaries(notes: Path) -> Iterator[tuple[str, str, bool, str, str]]:
    wanted = ("HADM_ID", "SUBJECT_ID", "DESCRIPTION", "CHARTDATE", "TEXT", "CATEGORY", "ISERROR")
    for admission, subject, kind, date, text, category, error in _columns(notes, *wanted):
        if category.strip() == "Discharge summary" and not error and admission:
            yield admission.removesuffix(".0"), subject, kind.strip() == "Addendum", date, text


def _columns(path: Path, *names: str) -> Iterator[list[str]]:
    records = csv_records(path)
    header = [name.upper() for name in next(records, [])]
    if lacking := [name for name in names if name not in header]:
        raise InputError(f"{path.name} has no column {lacking[0]}: it must be the table of MIMIC-III.")
    places = [header.index(name) for name in names]
    for number, record in enumerate(records, start=2):
        if len(record) != len(header):
            raise InputError(f"{path.name}, record {number} has {len(record)} columns, not {len(header)}.")
        yield [record[place] for place in places]


def _number(path: Path, column: str, value: str) -> int:
    if not value.isdigit():
        raise InputError(f"{path.name} has {value[:20]!r} in column {column}, which is not a number.")
    return int(value)


def _words(row: Row) -> list[str]:
    """The released cleaning, token for token."""
    text = " ".join(next(cleaned([row["text"]], mask_digits=False)))
    text = re.sub(r"\[\s*\*\s*\*.*?\*\s*\*\s*\]", " <DE> ", text)
    text = re.sub(r"([^a-zA-Z0-9])(\s*\1\s*)+", r"\1 ", text)
    return ["qqq" if any(character.isdigit() for character in word) else word for word in text.split()]


@dataclass(frozen=True)
class Mimic(Declared, ABC):
    """Discharge summaries from the user's own files."""

    licence: ClassVar[str] = "PhysioNet credentialed health data licence 1.5.0: your own copy, never passed on"
    citation: ClassVar[str] = "Johnson et al. 2016, MIMIC-III, a freely accessible critical care database"
    homepage: ClassVar[str] = "https://physionet.org/content/mimiciii/1.4/"
    folder: ClassVar[str] = "mimic"
    splits: ClassVar[tuple[str, ...]] = ("notes",)
    #: One row an admission: its summary and addenda, its codes, and its part among those of CAML's 50 codes.
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "subject", "admission", "codes", "caml")
    min_frequency: ClassVar[int] = 5
    sensitive: ClassVar[bool] = True

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """NOTEEVENTS and DIAGNOSES_ICD (.csv or .csv.gz), read as streams; CAML's *_50_hadm_ids.csv where given."""
        notes, diagnoses = (found(folder, name) for name in ("NOTEEVENTS.csv", "DIAGNOSES_ICD.csv"))
        caml = {
            record[0]: part
            for part in ("train", "dev", "test")
            for path in folder.rglob(f"{part}_50_hadm_ids.csv")
            for record in csv_records(path)
        }
        return {"notes": _admissions(notes, diagnoses, caml)}


@dataclass(frozen=True)
class MimicDiabetes(Mimic):
    """Discharge summaries: was the admission given the code for diabetes?

    From your own licensed copy of MIMIC-III: `NOTEEVENTS.csv` and `DIAGNOSES_ICD.csv`, gzipped or not. Put the
    `*_50_hadm_ids.csv` lists of caml-mimic beside them to get the published split of admissions; without them all
    admissions are split anew. The steps follow the released notebooks; the authors' own split is private, so nobody
    can verify it.
    """

    name: ClassVar[str] = "mimic_diabetes"
    summary: ClassVar[str] = "Discharge summaries with or without the ICD-9 code for diabetes (MIMIC-III, --from DIR)"
    expected: ClassVar[tuple[Expected, ...]] = (
        *_figures(TABLE_1, {"no diabetes": (6_381, 1_295), "diabetes": (1_353, 319)}, 22_316, 1_858),
        *_figures(TABLE_5, {}, 23_778, 1_700),
    )

    code: Annotated[
        str,
        "Admissions with an ICD-9 code that begins so are positive: `250.00` gives the published share, `250` is "
        "all of diabetes.",
    ] = "250.00"

    def prepare(self, rows: Rows) -> Prepared:
        """CAML's split of the admissions with its 50 codes; where its lists are not given, all admissions."""
        known = any(row["caml"] for row in rows("notes"))
        labels = {row["id"]: self._label(row) for row in rows("notes") if row["caml"] or not known}
        if known:
            part = {row["id"]: row["caml"] for row in rows("notes") if row["caml"]}
            how = "admissions and splits of Mullenbach et al.'s 50 codes"
        else:
            ids, fractions = list(labels), {"train": 0.8, "dev": 0.1, "test": 0.1}
            chosen = stratified(ids, [str(label) for label in labels.values()], fractions=fractions)
            part = {ids[i]: name for name, numbers in chosen.items() for i in numbers.tolist()}
            how = "all admissions, a stratified 80/10/10: put the *_50_hadm_ids.csv of caml-mimic into DIR for theirs"
        left_out: list[str] = []

        def stream(split: str) -> Iterator[Instance]:
            def read() -> Iterator[Row]:
                return (row for row in rows("notes") if part.get(row["id"]) == split)

            ordered = shuffled_rows(read, sum(name == split for name in part.values()), AT_ONCE)
            texts = (Instance(row["id"], _words(row), labels[row["id"]]) for row in ordered)
            yield from Limits(6, 4000).passing(split, texts, left_out)

        splits = {split: stream(split) for split in ("train", "dev", "test")}
        return Prepared(splits, ("no diabetes", "diabetes"), f"{WORDS}; {how}; 6 < tokens < 4000", left_out)

    def _label(self, row: Row) -> int:
        return int(any(code.startswith(self.code) for code in row["codes"]))


@dataclass(frozen=True)
class MimicAnemia(Mimic):
    """Discharge summaries of patients with anemia: chronic (285.2) or acute (285.1)?

    From the same files as `mimic_diabetes`: admissions with chronic (285.2) or with acute (285.1) anemia, and not
    both. The paper's text numbers the two classes the other way round than its code and its table do; here it is as
    in the code.
    """

    name: ClassVar[str] = "mimic_anemia"
    summary: ClassVar[str] = "Discharge summaries with chronic or with acute anemia (MIMIC-III, --from DIR)"
    expected: ClassVar[tuple[Expected, ...]] = (
        *_figures(TABLE_1, {"chronic": (1_847, 460), "acute": (3_251, 802)}, 19_743, 2_188),
        *_figures(TABLE_5, {}, 20_290, 1_927),
    )

    seed: Annotated[int, "The seed of the draw of test admissions; the default is the authors'.", SEEDS] = 12939

    def prepare(self, rows: Rows) -> Prepared:
        """Admissions with one of the two codes and not the other, drawn 80/20."""
        placed: list[tuple[int, int, int, Instance]] = []
        for row in rows("notes"):
            acute, chronic = (any(wanted in code for code in row["codes"]) for wanted in ("285.1", "285.2"))
            if acute != chronic:
                text = Instance(row["id"], _words(row), int(acute))
                placed.append((int(acute), row["subject"], row["admission"], text))
        texts = [text for *_, text in sorted(placed, key=lambda item: item[:3])]
        if len({text.label for text in texts}) < 2:
            raise InputError("The rows of 'mimic' hold no admissions of both kinds of anemia (ICD-9 285.1 and 285.2).")
        rest, test = drawn([text.label for text in texts], 0.2, self.seed)
        train = [texts[i] for i in rest]
        dev = held_out([text.id for text in train], [text.label for text in train])
        splits = {
            "train": [text for text in train if text.id not in dev],
            "dev": [text for text in train if text.id in dev],
            "test": [texts[i] for i in test],
        }
        left_out: list[str] = []
        kept = {name: Limits(None, 4000).within(name, some, left_out) for name, some in splits.items()}
        return Prepared(
            {name: sorted(some, key=lambda text: shuffled(text.id)) for name, some in kept.items()},
            ("chronic", "acute"),
            f"{WORDS}; stratified 80/20 (seed {self.seed}), a tenth of train as dev; "
            "tokens < 4000, the shortest left out",
            left_out,
        )
