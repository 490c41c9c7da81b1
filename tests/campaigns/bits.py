"""Flipped bits: one bit of one file that a run keeps. Noticed, named, and recomputed or refused."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pyarrow as pa
import torch

import attentest
from attentest.challenges import CHALLENGES
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import AttentestError, StorageError
from attentest.models.huggingface.checkpoint import quietly
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.models.parts.encoders import ENCODERS
from attentest.papers.archive import archived, write_archive
from attentest.people.design import DESIGNS
from attentest.people.making import Plan, new_study
from attentest.people.study import PeopleStudy
from attentest.report.pages.run import write_report
from attentest.report.verdict.judge import judge
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.sources.unfinished import appending, unfinished
from attentest.store.folder import REPORT, RunFolder
from attentest.store.parts import Parts
from attentest.store.verifying import verify_run
from attentest.studies.plan import plan
from attentest.studies.record import STUDIES, recorded, write_record
from attentest.training.loop import Training, fit
from attentest.training.resume import Resume
from tests.campaigns.campaign import Campaign, Fault
from tests.conftest import Heard, made_up_corpus
from tests.explorer.sources.made_up_audit import made_up_record, write_audit
from tests.papers.made_up_cells import cell
from tests.people.made_up_runs import write_planted_run
from tests.runs.test_run import small
from tests.studies.made_up_study import made_up_study
from tests.support.pretrained import tiny, tokenizer_of

#: Every so many cases what was altered is computed again, and compared byte by byte.
RECOMPUTED = 20
PAPER = "jain_wallace_2019"
TEXT = "word1 telling1 word2"


class Bits(Campaign):
    """Runs of three kinds and an audit of sources; what was cut short of each; studies, of people too; an archive."""

    name = "bits"
    promise = "a flipped bit in any file of a run is noticed, named, and recomputed or refused"
    quick, full = 42, 1500

    def __init__(self) -> None:
        self.recomputed = self.refused = 0
        self.by_file: Counter[str] = Counter()

    def prepare(self, folder: Path) -> None:
        torch.set_num_threads(1)
        asked = tuple(CHALLENGES.parse(text) for text in ("permutation(draws=5)", "uniform"))
        self.run = small(challenges=asked)
        self.trained = execute(self.run, folder / "runs")
        write_report(self.trained, judge(self.trained), self.trained.path / REPORT)
        tokenizer = tokenizer_of()
        with quietly():
            tiny("bert", size=len(tokenizer)).save_pretrained(folder / "base")
            tokenizer.save_pretrained(folder / "base")
        self.corpus = made_up_corpus(count=40)
        about = {"corpus": self.corpus, "fine_tune": str(folder / "base"), "epochs": 1, "challenges": ["uniform"]}
        self.tuned = execute(describe_run(**about), folder / "tuned")
        self.expected = self._resumed(folder / "state", Heard())
        self.state = (folder / "state").read_bytes()
        table = pa.table({"id": [f"t{i}" for i in range(50)], "value": [i / 7 for i in range(50)]})
        parts = Parts(folder / "parts", "layout")
        parts.add(0, 0, table, 50)
        parts.keep()
        self.parts, self.table = folder / "parts", table
        self.records = [made_up_record(number) for number in range(3)]
        with appending(folder / "records", keep=False) as write:
            for record in self.records:
                write(record)
        write_archive(folder / "kept.zip", PAPER, [cell(folder / "claimed", instances=40)])
        self.asked, self.kept = (folder / "records").read_bytes(), folder / "kept.zip"
        self.held = read_archive(self.kept)
        audit = RunFolder(write_audit(folder / "sources", questions=4))
        planted = write_planted_run(folder / "planted", texts=60)
        self.people = new_study(folder / "people", "films", [planted], DESIGNS.parse("meaningful"), Plan(items=20))
        (folder / "conducted").mkdir()
        study = made_up_study(folder / "conducted")
        self.conducted = write_record(study, plan(study, folder / "conducted"), folder / "conducted")
        self.targets = [
            *((audit, name) for name in ("run.json", *audit.record["finished"])),
            *((self.trained, name) for name in ("run.json", *self.trained.record["finished"])),
            *((self.tuned, name) for name in ("run.json", *self.tuned.record["finished"])),
        ]

    def case(self, draw: Random, number: int, folder: Path) -> str:
        others = (self._state, self._part, self._asked, self._archive, self._items, self._study)
        if (kind := number % 8) >= 2:
            return others[kind - 2](draw, folder)
        run, name = self.targets[draw.randrange(len(self.targets))]
        path = run.path / name
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, draw))
        self.by_file[name] += 1
        try:
            self._noticed(run, name)
            if run is self.trained and number % RECOMPUTED == 0 and name != REPORT:
                self._again(name, whole)
        finally:
            path.write_bytes(whole)
        return "a finished file"

    def _noticed(self, run: RunFolder, name: str) -> None:
        found = {file.name: file.state for file in verify_run(run).files}
        if found.get(name) != "altered":
            raise Fault(f"verify says that {name} is {found.get(name)}")
        for reader in self._readers(run, name):
            try:
                reader()
            except StorageError as error:
                if Path(name).name not in str(error):
                    raise Fault(f"{name}: not named in {error}") from error
            except AttentestError as error:
                raise Fault(f"{name}: {error}") from error
            else:
                raise Fault(f"{name} was read as if it were whole")

    def _readers(self, run: RunFolder, name: str) -> list[Callable[[], object]]:
        """Whoever reads this file: from Python, as the commands do."""
        if name == "run.json":
            return [lambda: RunFolder(run.path).record]
        if name.startswith("findings/"):
            challenge = name.removeprefix("findings/").removesuffix(".parquet")
            return [lambda: RunFolder(run.path).findings(challenge)]
        data = {"texts": ["word1 word2", "word3"], "labels": ["class0", "class1"], "challenges": ["uniform"]}
        audited = [lambda: describe_run(run.path, **data).seen_in_training()]
        if run is self.trained and name in ("model.safetensors", "vocabulary.json"):
            return [*audited, lambda: attentest.explain(TEXT, run.path)]
        if name == "training-texts.u64":
            return audited if run is self.trained else []
        if name.startswith("checkpoint/") or (run is self.tuned and name == "model.safetensors"):
            return [*audited, lambda: attentest.explain(TEXT, run.path)]
        return [lambda: RunFolder(run.path).verify(name)]

    def _again(self, name: str, whole: bytes) -> None:
        """The same command once more: named, and computed to the same bytes."""
        heard = Heard()
        execute(self.run, self.trained.path.parent, progress=heard)
        self.recomputed += 1
        if not any(Path(name).name in line for line in heard.lines):
            raise Fault(f"{name}: nothing was said: {heard.lines}")
        if name != "run.json" and (self.trained.path / name).read_bytes() != whole:
            raise Fault(f"{name}: computed again, and other bytes")
        (self.trained.path / "run.json.damaged").unlink(missing_ok=True)
        if REPORT not in self.trained.record["finished"]:
            write_report(self.trained, judge(self.trained), self.trained.path / REPORT)
        if name == "run.json":  # seconds stand in it
            raise_unless(verify_run(self.trained).whole, "the run is not whole after it was computed again")

    def _state(self, draw: Random, folder: Path) -> str:
        """A training goes on from a state that was altered: it must not end in other weights."""
        (folder / "state").write_bytes(flipped(self.state, draw))
        heard = Heard()
        found = self._resumed(folder / "state", heard)
        raise_unless(
            all(torch.equal(value, found[name]) for name, value in self.expected.items()), "other weights, in silence"
        )
        raise_unless(bool(heard.lines), "nothing was said")
        return "the state of a training"

    def _resumed(self, path: Path, heard: Heard) -> dict[str, torch.Tensor]:
        corpus = made_up_corpus()
        vocabulary = Vocabulary.from_split(corpus["train"])
        model = Classifier(
            Architecture(ENCODERS.parse("average(hidden=6)"), embedding=8),
            len(vocabulary),
            2,
            torch.Generator().manual_seed(0),
        )
        train, dev = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev"))
        fit(model, train, dev, Training(epochs=2, patience=0), seed=0, resume=Resume(path, "key", 0.0, heard.say))
        return model.state_dict()

    def _part(self, draw: Random, folder: Path) -> str:
        """An examination goes on from parts that were altered: their texts are examined again."""
        (source,) = self.parts.glob("*.arrow")
        copy = folder / source.name
        copy.write_bytes(flipped(source.read_bytes(), draw))
        heard = Heard()
        parts = Parts(folder, "layout", heard.say)
        raise_unless(parts.texts == 0 and not copy.exists(), "an altered part was taken up")
        raise_unless(any("altered" in line for line in heard.lines), "nothing was said")
        return "a part of an examination"

    def _asked(self, draw: Random, folder: Path) -> str:
        """An audit of sources goes on from records that were altered: their questions are asked again."""
        path = folder / "records"
        path.write_bytes(flipped(self.asked, draw))
        found = unfinished(path)
        raise_unless(len(found) < len(self.records), "an altered record was taken up")
        raise_unless(all(found[one.id] == one for one in self.records if one.id in found), "another record, in silence")
        return "a part of an audit of sources"

    def _archive(self, draw: Random, folder: Path) -> str:
        """What is kept of runs is refused, or nothing in it is altered: dates and the like may be."""
        path = folder / "kept.zip"
        path.write_bytes(flipped(self.kept.read_bytes(), draw))
        try:
            found = read_archive(path)
        except AttentestError as error:
            raise_unless("kept.zip" in str(error), f"not named in {error}")
            self.refused += 1
        else:
            raise_unless(found == self.held, "an altered archive was read")
        return "an archive of claims"

    def _items(self, draw: Random, folder: Path) -> str:
        """What people were asked is refused where it was altered."""
        copy = Path(shutil.copytree(self.people.path, folder / "films"))
        name = draw.choice(["items.jsonl", "people.json"])
        (copy / name).write_bytes(flipped((copy / name).read_bytes(), draw))
        try:
            PeopleStudy(copy)
        except StorageError as error:
            raise_unless(name in str(error), f"not named in {error}")
        else:
            raise Fault(f"an altered {name} was read")
        return "a study of people"

    def _study(self, draw: Random, folder: Path) -> str:
        """The record of a study is left out where what it says was altered."""
        (folder / STUDIES).mkdir()
        (folder / STUDIES / "made.json").write_bytes(flipped(self.conducted.read_bytes(), draw))
        (whole,) = recorded(self.conducted.parent.parent)
        raise_unless(all(found == whole for found in recorded(folder)), "an altered record was read")
        return "the record of a study"

    def notes(self) -> list[str]:
        files = ", ".join(f"{name} {count}" for name, count in sorted(self.by_file.items()))
        return [
            f"{self.recomputed} computed again, the same bytes",
            f"files: {files}",
            f"archives refused: {self.refused}",
        ]


def raise_unless(holds: bool, words: str) -> None:
    if not holds:
        raise Fault(words)


def read_archive(path: Path) -> dict[str, bytes]:
    """Every file of every run that an archive's claims may read."""
    with archived(path, PAPER) as cells:
        return {
            f"{one.folder.path.name}/{name}": one.folder.verify(name).read_bytes()
            for one in cells
            for name in one.folder.record["finished"]
        } | {one.folder.path.name: json.dumps(dict(one.choices)).encode() for one in cells}


def flipped(data: bytes, draw: Random) -> bytes:
    """With one bit the other way round."""
    out, bit = bytearray(data), draw.randrange(8 * len(data))
    out[bit // 8] ^= 1 << bit % 8
    return bytes(out)


__all__ = ["Bits", "flipped"]
