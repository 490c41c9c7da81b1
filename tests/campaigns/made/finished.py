"""What is asked of what is there already: finished runs, studies of people; and where its outcome is to go."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random
from typing import ClassVar

from tests.campaigns.made.answers import made_study
from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import NUMBERS, TEXTS, hostile_text, literal
from tests.campaigns.made.names import said, shown
from tests.campaigns.made.run_files import small_run

__all__ = ["FinishedRuns"]

PAPER = "jain_wallace_2019"
REQUIRED = ("reason", "check", "one", "", "nothing")
ANSWERS = ("yes", "with-care", "no", "", "cannot-say")
ENDINGS = (".csv", ".html", ".json", ".jsonl", ".parquet", ".svg", ".png", ".npz", ".zip", ".txt", "")
#: Screens that show little.
SCREENS = (
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "latin-1:strict"},
    {"COLUMNS": "0"},
    {"COLUMNS": "-5", "LINES": "x"},
    {"COLUMNS": "1", "TERM": "dumb"},
    {"FORCE_COLOR": "1", "COLUMNS": "99999999999"},
    {"NO_COLOR": "", "TERM": "", "HOME": "/nowhere"},
)


class FinishedRuns(Kind):
    """A run, and a study of people, asked by odd names and numbers, for outcomes in odd places, before odd screens."""

    name: ClassVar[str] = "finished runs"
    share: ClassVar[int] = 2
    fresh: ClassVar[int] = 40

    def prepare(self, shared: Path) -> None:
        from attentest.models.huggingface.checkpoint import quietly
        from tests.support.chat import chat_model, chat_tokenizer

        self.run = small_run(shared)
        self.people, _ = made_study(shared)
        self.model = shared / "chat"
        if not self.model.exists():
            with quietly():
                chat_model().save_pretrained(self.model)
                chat_tokenizer().save_pretrained(self.model)

    def case(self, draw: Random, folder: Path) -> Case:
        shutil.copytree(self.run, folder / "runs" / self.run.name)
        shutil.copytree(self.people, folder / "people")
        command = draw.choice((self._looked_at, self._looked_at, self._asked, self._written, self._written))(
            draw, folder
        )
        screen = draw.choice(SCREENS) if draw.random() < 0.15 else {}
        return Case(
            f"{' '.join(command)[:300]} {screen or ''}",
            tuple(map(shown, command)),
            ("people/asked/answers.sqlite",),
            {"ATTENTEST_RUNS": "runs", "HF_HUB_OFFLINE": "1", **screen},
            codes=(0, 1, 2) if command[0] in ("check", "verify") else (0, 2),
            kept="runs",
            alone=bool(screen),
            unread=draw.random() < 0.04,
        )

    def _named(self, draw: Random) -> str:
        """The run, by one of its names; or none."""
        name = self.run.name
        places = (f"runs/{name}", "runs", "runs/../runs", f"runs/{name}/run.json", "people/asked", "")
        return draw.choice((name, name, name[:3], "latest", *places, hostile_text(draw)))

    def _looked_at(self, draw: Random, folder: Path) -> tuple[str, ...]:
        run = self._named(draw)
        needed = f"{draw.choice(REQUIRED)}={draw.choice(ANSWERS)}"
        asked = draw.choice((needed, needed, hostile_text(draw), needed * 2))
        if draw.random() < 0.15:  # damaged, or of another version
            record = folder / "runs" / self.run.name / "run.json"
            record.write_bytes(draw.choice((b"", b"[]", b"{}", b"[" * 50_000, b'{"fields": 3}', draw.randbytes(90))))
        return draw.choice(
            (
                ("verify", run),
                ("verify", run, self._named(draw), "--json"),
                ("verify",),
                ("check", run, "--require", asked),
                ("check", run, "--require", asked, "--require", needed, "--json"),
                ("check", run),
                ("show", run),
                ("tokens", run, "--to", "drawn.svg", "--text", draw.choice(TEXTS), "--class", draw.choice(TEXTS)),
                ("tokens", f"a={run}", f"{draw.choice(('a', 'b', ''))}={self.run.name}", "--to", "drawn.png"),
                (
                    *("explain", "word1 word2 word3", "--model", run),
                    *("--methods", draw.choice(("attention", said(draw, "explainers")[:300]))),
                ),
            )
        )

    def _asked(self, draw: Random, folder: Path) -> tuple[str, ...]:
        number = str(draw.choice(NUMBERS))[:300]
        study = draw.choice(("asked", "asked", "asked", "people/asked", "people", "", hostile_text(draw)))
        name = draw.choice((*TEXTS, "anna", "ben", "x" * 300))
        design = draw.choice((f"{said(draw, 'designs')[:500]}", f"meaningful(top={literal(draw)[:300]})", "compare"))
        flag = draw.choice(("--items", "--overlap", "--annotators", "--checks", "--gold", "--longest", "--seed"))
        sources = [part for _ in range(draw.randrange(4)) for part in ("--source", draw.choice((*TEXTS, "In Oslo.")))]
        answer = ("--answer", draw.choice((*TEXTS, "Oslo"))) if draw.random() < 0.4 else ()
        made = ("people", "new", self._named(draw), "--name")
        return draw.choice(
            (
                (*made, name, "--items", "3"),
                (*made, "other", "--design", design, "--items", "3"),
                (*made, "other", flag, number),
                ("people", "invite", study, name),
                (
                    "people",
                    "invite",
                    study,
                    "anna",
                    draw.choice(("anna", "ben")),
                    *(["--new-link"] * draw.randrange(2)),
                ),
                ("people", "invite", study, "anna", "--at", draw.choice((*TEXTS, "https://[", "http://x:99999999"))),
                ("people", "simulate", study, draw.choice(("--annotators", "--slip", "--careless", "--seed")), number),
                ("people", "results", study, *(["--simulated"] * draw.randrange(2)), *(["--json"] * draw.randrange(2))),
                ("people", "forget", study, name),
                ("people", "power", draw.choice(("--share", "--annotators", "--half-width", "--agreement")), number),
                ("explain", draw.choice((*TEXTS, "In which city?")), "--model", str(self.model), *sources, *answer),
                ("explain", "In which city?", "--model", self._named(draw), *sources, *answer),
            )
        )

    def _written(self, draw: Random, folder: Path) -> tuple[str, ...]:
        to, run = self._place(draw, folder), self.run.name
        (folder / "small.toml").write_text('run = {corpus = "reviews(train=20, dev=5, test=5)"}\ngrid = {seed = [0]}\n')
        return draw.choice(
            (
                ("claims", PAPER, draw.choice(("--csv", "--page", "--keep")), to),
                ("study", "run", "small.toml", "--dry-run", "--csv", to),
                ("corpora", "vectors", "reviews", "--out", to),
                ("scores", "export", run, "--out", to, "--format", draw.choice(("captum", "eraser", "inseq"))),
                ("explain", "word1 word2", "--model", run, "--methods", "attention", "--html", to),
                ("explain", "word1 word2", "--model", run, "--methods", "attention", "--html", to),
                ("tokens", run, "--to", to),
                ("export", run, "--to", to),
                ("people", "export", "asked", "--to", to, *(["--items"] * draw.randrange(2))),
                ("people", "export", "asked", "--to", to, *(["--simulated"] * draw.randrange(2))),
            )
        )

    def _place(self, draw: Random, folder: Path) -> str:
        """A file of the run or study, a folder, device, pipe or link, a place that is not there; or a good one."""
        ending = draw.choice(ENDINGS)
        held = [path for path in sorted((folder / "runs").rglob("*")) if path.is_file()]
        held += sorted((folder / "people" / "asked").iterdir())
        (folder / f"null{ending}").symlink_to("/dev/null")
        (folder / f"full{ending}").symlink_to("/dev/full")
        (folder / f"link{ending}").symlink_to(draw.choice(held))
        (folder / f"lost{ending}").symlink_to("nowhere/at/all")
        (folder / f"folder{ending}").mkdir()
        (folder / f"there{ending}").write_text("an earlier outcome", encoding="utf-8")
        os.mkfifo(folder / f"pipe{ending}")
        odd = draw.choice(("null", "full", "link", "lost", "folder", "there", "pipe", "none/x", "new", "runs/new"))
        own = str(draw.choice(held).relative_to(folder))
        return draw.choice((f"{odd}{ending}",) * 6 + (own, own, "people", "runs", ".", f"{hostile_text(draw)}{ending}"))
