"""Kills: audits of sources, of one model and of several, ended at any moment, and taken up until they are done."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from attentest.sources.auditing import CASES, UNFINISHED
from attentest.store.folder import runs_in
from attentest.store.verifying import verify_run
from tests.campaigns.campaign import Fault
from tests.campaigns.kills import Kills, Piece
from tests.campaigns.processes import Started, started

ASKED = ("--planted", "6", "--method", "attention", "--method", "leave_one_out", "--held-out", "4", "--longest", "6")


class SourceKills(Kills):
    """As the kills of runs are, for questions over sources."""

    name = "source-kills"
    promise = "an audit of sources that is killed, however often, ends in the same records and leaves nothing behind"
    quick, full = 1, 20
    minutes = 6
    pieces: ClassVar[tuple[Piece, ...]] = (
        Piece("sources", ("sources", "--model", "a", *ASKED, "--quiet")),
        Piece("sources of several models", ("sources", "--model", "a", "--model", "b", *ASKED, "--quiet")),
    )

    def prepare(self, folder: Path) -> None:
        from attentest.models.huggingface.checkpoint import quietly
        from tests.support.chat import chat_model, chat_tokenizer

        super().prepare(folder)
        for family, name in (("llama", "a"), ("gpt2", "b")):
            with quietly():
                chat_model(family).save_pretrained(folder / name)
                chat_tokenizer().save_pretrained(folder / name)

    def place(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        for name in ("a", "b"):
            if not (folder / name).exists():
                shutil.copytree(self.ground / name, folder / name)
        return folder

    def start(self, piece: Piece, place: Path, *more: str, first: Callable[[], None] = lambda: None) -> Started:
        return started([*piece.command, "--device", "cpu", *more], place, first=first)

    def found_in(self, place: Path) -> dict[str, Any]:
        """Every record but what it took; the files of every audit."""
        found: dict[str, Any] = {}
        for run in runs_in(place / "sources"):
            if not verify_run(run).whole:
                raise Fault(f"{run.path.name} is not whole")
        for path in sorted((place / "sources").rglob("*")):
            name = path.relative_to(place).as_posix()
            if path.name == UNFINISHED:
                raise Fault(f"left behind: {name}")
            if path.name == CASES:
                records = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
                for record in records:
                    for given in record["given"].values():
                        given.pop("seconds")
                found[name] = records
            elif path.is_file() and path.name != ".lock":
                found[name] = ""
        return found
