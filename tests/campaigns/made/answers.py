"""Questions for a language model, answers of people from elsewhere, and what an annotator's page may be sent."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from random import Random
from typing import Any, ClassVar
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import TEXTS, altered, damaged, hostile_text, strange

__all__ = ["AnnotatorRequests", "AnswerFiles", "QuestionFiles", "check_answer", "made_study"]


def dumped(value: Any) -> bytes:
    """As JSON; what is too deep for it as brackets."""
    try:
        return json.dumps(value).encode("utf-8", "replace")
    except (RecursionError, ValueError):
        return b"[" * 9000


class QuestionFiles(Kind):
    """Files and options for ``sources``."""

    name: ClassVar[str] = "questions"
    share: ClassVar[int] = 30

    def prepare(self, shared: Path) -> None:
        from attentest.models.huggingface.checkpoint import quietly
        from tests.support.chat import chat_model, chat_tokenizer

        self.model = shared / "chat"
        with quietly():
            chat_model().save_pretrained(self.model)
            chat_tokenizer().save_pretrained(self.model)

    def case(self, draw: Random, folder: Path) -> Case:
        path = folder / "questions.jsonl"
        rows: list[Any] = [
            {"question": "In which city?", "contexts": ["Anna is in Oslo.", "Green."], "answer": "Oslo", "id": f"q{n}"}
            for n in range(draw.choice((1, 2, 3)))
        ]
        for _ in range(draw.choice((0, 1, 1, 2))):
            at = draw.randrange(len(rows))
            if draw.random() < 0.5:
                rows[at] = altered(draw, rows[at])
            elif isinstance(rows[at], dict):
                key = draw.choice(("question", "contexts", "answer", "span", "id"))
                rows[at][key] = strange(draw) if draw.random() < 0.5 else hostile_text(draw)
        content = b"\n".join(map(dumped, rows))
        if draw.random() < 0.2:
            content = damaged(draw, content)
        path.write_bytes(content)
        if draw.random() < 0.05:
            path.unlink()
            odd_place(draw, path)
        command = ["sources", "--model", str(self.model), "--data", path.name, "--to", "out", "--quiet"]
        command += ["--method", "attention", "--held-out", "2", "--longest", "3", "--limit", "2"]
        for flag, values in (
            ("--sources-column", ("contexts", "passages", "", "question", "a\tb")),
            ("--method", ("shared_words", "nothing", "attention(", "attention(x=1)", "")),
            ("--unit", ("word", "letter", "")),
            ("--prompt", ("{context} {query}", "{context}", "{query}{query}{context}", "{x}", "{", "%s", "x" * 5000)),
            ("--held-out", ("0", "-1", "99999999999", "x")),
            ("--longest", ("1", "0", "99999999999")),
            ("--limit", ("0", "1", "-1", "99999999999999999999")),
            ("--seed", ("4294967295", "4294967296", "-1")),
            ("--dtype", ("float64", "int8", "bfloat16")),
            ("--device", ("cuda", "mps", "nothing", "cpu")),
        ):
            if draw.random() < 0.04:
                command += [flag, draw.choice(values)]
        return Case(" ".join(command[4:])[:300] + f" {content[:300]!r}", tuple(command), ("out",), whole=True)


class AnswerFiles(Kind):
    """Files for ``people import``."""

    name: ClassVar[str] = "answers of people"
    share: ClassVar[int] = 40

    def prepare(self, shared: Path) -> None:
        self.people, self.items = made_study(shared)

    def case(self, draw: Random, folder: Path) -> Case:
        ending = draw.choice((".csv", ".tsv", ".jsonl", ".json", ".parquet", ".xlsx"))
        path = folder / f"answers{ending}"
        rows: list[dict[str, Any]] = [
            {"annotator": f"p{n}", "item": draw.choice(self.items), "choice": draw.choice(("yes", "no")), "seconds": n}
            for n in range(draw.choice((0, 1, 3, 10)))
        ]
        for row in rows:
            if draw.random() < 0.1:
                row[draw.choice((*row, "at"))] = strange(draw)
        content = self._content(draw, ending, rows)
        path.write_bytes(damaged(draw, content) if draw.random() < 0.3 else content)
        if draw.random() < 0.05:
            path.unlink()
            odd_place(draw, path)
        _copy(self.people, folder / "people")  # what may be imported is; cases stay apart
        command = ["people", "import", "asked", path.name, "--people", "people"]
        if draw.random() < 0.2:
            columns = ("annotator=item", "x=y", "=", "choice", "choice=choice,", "\n", "a=b=c")
            command += ["--columns", draw.choice(columns)]
        return Case(f"{ending} {content[:300]!r}", tuple(command), ("people",))

    def _content(self, draw: Random, ending: str, rows: list[dict[str, Any]]) -> bytes:
        if ending == ".json":
            return self._label_studio(draw, rows)
        if ending == ".jsonl":
            return b"\n".join(dumped(altered(draw, row) if draw.random() < 0.1 else row) for row in rows)
        if ending == ".parquet":
            held = io.BytesIO()
            texts = [{key: _short(row[key]) for key in row if key != "at"} for row in rows if _flat(row)]
            table = pa.Table.from_pylist(texts or [{"item": "x"}])
            if draw.random() < 0.1:
                table = pa.table({"item": pa.DictionaryArray.from_arrays(pa.array([0] * 11_000_000, pa.int8()), ["x"])})
            pq.write_table(table, held)
            return held.getvalue()
        between = "\t" if ending == ".tsv" else ","
        lines = [between.join(("annotator", "item", "choice", "seconds"))]
        for row in rows:
            lines.append(between.join(str(value)[:200] if _flat(row) else "[" for value in list(row.values())[:4]))
        return "\n".join(lines).encode("utf-8", "replace")

    def _label_studio(self, draw: Random, rows: list[dict[str, Any]]) -> bytes:
        tasks: Any = [
            {
                "id": number,
                "data": {"item": row["item"]},
                "annotations": [
                    {
                        "id": 1,
                        "completed_by": {"email": row["annotator"]},
                        "result": [{"value": {"choices": [row["choice"]]}}],
                        "lead_time": 3.5,
                    }
                ],
            }
            for number, row in enumerate(rows)
        ]
        for _ in range(draw.choice((0, 1, 2))):
            tasks = altered(draw, tasks)
        return dumped(tasks)


class AnnotatorRequests(Kind):
    """What is sent to an annotator's page, with a link and without."""

    name: ClassVar[str] = "annotators' requests"
    share: ClassVar[int] = 30

    def prepare(self, shared: Path) -> None:
        self.people, self.items = made_study(shared)

    def case(self, draw: Random, folder: Path) -> Case:
        from attentest.people import PeopleStudy

        _copy(self.people, folder / "people")
        with PeopleStudy(folder / "people" / "asked") as study:
            link = study.invite("anna")
            if draw.random() < 0.8:
                study.consent(study.annotator(link), study.documents().version)
        who = draw.choice((link,) * 8 + ("A" * 32, "..", quote(hostile_text(draw)[:60], errors="replace")))
        kind = draw.choice(("consent", "answer", "undo", "withdraw", "read", "nothing"))
        asked: Any = {
            "item": draw.choice((*self.items[:3], "x")),
            "choice": "yes",
            "nonce": "n" * draw.choice((8, 9, 3, 101)),
            "version": 1,
            "seconds": 3,
        }
        asked = altered(draw, asked) if draw.random() < 0.6 else strange(draw) if draw.random() < 0.2 else asked
        body = dumped(asked)
        if draw.random() < 0.2:
            body = damaged(draw, body)
        if draw.random() < 0.05:
            body = b'{"nonce": "' + b"a" * 100_000 + b'"}'
        item = quote(draw.choice((*TEXTS, *self.items))[:200], errors="replace")
        path, method = draw.choice(
            (
                (f"/people/asked/{who}/{kind}.json", "POST"),
                (f"/people/asked/{who}/{kind}.json", "POST"),
                (f"/people/asked/{who}/{kind}.json", "POST"),
                (f"/people/asked/{who}/items/{item}.json", "GET"),
                (f"/people/asked/{who}.json", "GET"),
                (f"/people/{item}/{who}", "GET"),
            )
        )
        return Case(f"{method} {path[:150]} {body[:200]!r}", _Sent(folder / "people", method, path, body), ("people",))


class _Sent:
    """One request to the server of studies of people."""

    def __init__(self, people: Path, method: str, path: str, body: bytes) -> None:
        self.people, self.asked = people, (method, path, body)

    def __call__(self) -> None:
        import logging

        import httpx
        from starlette.testclient import TestClient

        from attentest.explorer.people.server import people_server
        from attentest.explorer.people.studies import PeopleStudies

        logging.disable(logging.CRITICAL)
        method, path, body = self.asked
        server = people_server(PeopleStudies(self.people))
        with TestClient(server, base_url="http://127.0.0.1:8474", raise_server_exceptions=False) as client:
            try:
                headers = {"content-type": "application/json"}
                answer = client.request(method, path, headers=headers, content=body, follow_redirects=False)
            except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeEncodeError, ValueError):
                return  # no client sends it
        check_answer(answer.status_code, answer.headers, answer.text)


def check_answer(status: int, headers: Any, text: str) -> None:
    """An answer is a page, or a refusal in one line, always under the policy."""
    assert status < 500 or status == 503, f"status {status}: {text[:500]}"
    assert "Traceback" not in text, text[:500]
    assert "content-security-policy" in headers, f"status {status} without a policy"
    if text and status >= 400 and headers.get("content-type", "").startswith("application/json"):
        assert "\n" not in json.loads(text)["error"], text[:500]


def made_study(shared: Path) -> tuple[Path, list[str]]:
    """A study of people, made once; its folder's folder and its items."""
    from attentest.people import DESIGNS, PeopleStudy, Plan, new_study
    from tests.people.made_up_runs import write_planted_run

    people = shared / "people"
    if not people.exists():
        run = write_planted_run(shared / "planted" / "planted-1", 60)
        new_study(people, "asked", (run,), DESIGNS.parse("meaningful"), Plan(items=10, checks=0, gold=0))
    with PeopleStudy(people / "asked") as study:
        return people, sorted(study.items)


def odd_place(draw: Random, path: Path) -> None:
    """A folder, a pipe, a device or a link to nowhere in a file's place."""
    match draw.randrange(5):
        case 0:
            path.mkdir()
        case 1:
            os.mkfifo(path)
        case 2:
            path.symlink_to("/dev/zero")
        case 3:
            path.symlink_to("nowhere")
        case _:
            path.write_bytes(b"")


def _copy(people: Path, to: Path) -> None:
    import shutil

    shutil.copytree(people, to)


def _flat(row: dict[str, Any]) -> bool:
    return all(isinstance(value, str | int | float | None) and len(repr(value)) < 4000 for value in row.values())


def _short(value: Any) -> str:
    return str(value)[:200].encode("utf-8", "replace").decode()
