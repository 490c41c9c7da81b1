"""Texts that name things: challenges, explainers, encoders, corpora; study files; and every other argument."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from attentest.catalogue.entries import REGISTRIES
from attentest.parameters import Within, rules_of
from attentest.runs.options import OPTIONS
from tests.campaigns.made.data_files import good_rows
from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import NUMBERS, TEXTS, altered, damaged, hostile_text, literal

__all__ = ["Arguments", "MarkedWords", "Names", "Studies", "WholeAudits", "said", "shown"]

FLAGS = {
    "challenges": "--challenge",
    "encoders": "--encoder",
    "attentions": "--attention",
    "heads": "--head",
    "terms": "--term",
    "decoders": "--decoder",
    "corpora": "--corpus",
    "selectors": "--selector",
}


def said(draw: Random, kind: str) -> str:
    """A name of a registry with parameters, right or wrong."""
    table = REGISTRIES[kind]
    name = draw.choice(sorted(table)) if draw.random() < 0.93 else hostile_text(draw)[:3000]
    if draw.random() < 0.1:
        return name
    fields = [field.name for field in dataclasses.fields(table[name])] if name in table else []
    given = [draw.choice((*fields * 5, "nothing", "")) for _ in range(draw.choice((1, 1, 1, 2, 3)))]
    text = f"{name}({', '.join(f'{field}={literal(draw)}' for field in given)})"
    if draw.random() < 0.08:
        text = damaged(draw, text.encode()).decode("utf-8", "replace")
    return text


def shown(text: str) -> str:
    """As much of a text as a command line can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:60_000]


class Names(Kind):
    """``--challenge TEXT`` and its like."""

    name: ClassVar[str] = "names"
    share: ClassVar[int] = 20

    def prepare(self, shared: Path) -> None:
        self.data = shared / "names.csv"
        rows = good_rows(Random(0), 40)
        self.data.write_text(
            "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows), encoding="utf-8"
        )

    def case(self, draw: Random, folder: Path) -> Case:
        if draw.random() < 0.2:
            methods = ",".join(said(draw, "explainers") for _ in range(draw.choice((1, 1, 2))))
            return Case(
                f"--methods {methods[:300]}",
                ("explain", "good film", "--methods", shown(methods), "--model", "none", "--runs", "runs"),
            )
        kind = draw.choice(("challenges",) * 6 + tuple(FLAGS))
        text = said(draw, kind)
        if kind == "challenges" and draw.random() < 0.4:
            asking = draw.choice(("faithfulness", "certificates", "randomisation", "instances"))
            text = f"{asking}(explainers=({said(draw, 'explainers')!r},))"
        data = () if kind == "corpora" else ("--data", str(self.data), "--tokenizer", "whitespace")
        return Case(f"{FLAGS[kind]} {text[:300]}", ("audit", *data, FLAGS[kind], shown(text), "--runs", "runs"))


class MarkedWords(Names):
    """Words that ``--mark`` names, to be hidden, exchanged or selected; in ``audit`` and in ``deceive``."""

    name: ClassVar[str] = "marked words"
    share: ClassVar[int] = 3

    def case(self, draw: Random, folder: Path) -> Case:
        options = [part for _ in range(draw.choice((1, 1, 2))) for part in ("--mark", self._mark(draw, folder))]
        deceives = draw.random() < 0.35
        for kind, asks in (("selectors", 0.3), ("terms", 0.0 if deceives else 0.3), ("encoders", 0.1)):
            if draw.random() < asks:
                right = draw.choice(sorted(REGISTRIES[kind]))
                options += [FLAGS[kind], shown(said(draw, kind)) if draw.random() < 0.5 else right]
        number = str(draw.choice(NUMBERS))[:300]
        command = "deceive" if deceives else "audit"
        if deceives:
            options += draw.choice(
                (("--weight", number), ("--seeds", number), ("--heads", draw.choice(("max", number))))
            )
        data = ("--data", str(self.data)) if draw.random() < 0.9 else ("--corpus", "reviews(train=20, dev=5, test=5)")
        what = f"{command} {' '.join(options)[:300]}"
        return Case(what, (command, *data, "--tokenizer", "whitespace", *options, "--runs", "runs"))

    @staticmethod
    def _mark(draw: Random, folder: Path) -> str:
        word = draw.choice(("good", "film", "x", *TEXTS))
        match draw.randrange(6):
            case 0:
                return shown(word)
            case 1:
                return "good"
            case 2:
                pattern = draw.choice(("go+d", "(", "[a", "a{1000}{1000}", "(a|b)*" * 200, "(?=x)", ".*", "\\1", word))
                return shown(f"/{pattern}/")[:2000]
            case 3:
                return f"@{draw.choice(('none.txt', '', '.', '/dev/zero', '@', 'x' * 5000))}"
            case _:
                content = "\n".join(draw.choices(("good", "film", "\u2028", "", *TEXTS), k=draw.randrange(1, 9)))
                kept = content.encode("utf-8", "surrogatepass")
                (folder / "words.txt").write_bytes(damaged(draw, kept) if draw.random() < 0.4 else kept)
                return "@words.txt"


class WholeAudits(Kind):
    """Small audits with parameters at the edge of what is allowed, to the end."""

    name: ClassVar[str] = "whole audits"
    share: ClassVar[int] = 1

    def prepare(self, shared: Path) -> None:
        self.data = shared / "whole.csv"
        rows = good_rows(Random(1), 60)
        self.data.write_text(
            "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows), encoding="utf-8"
        )

    def case(self, draw: Random, folder: Path) -> Case:
        kind = draw.choice(("challenges", "challenges", "encoders", "terms", "explainers"))
        text = self._edge(draw, kind)
        flag = FLAGS.get(kind, "--challenge")
        text = f"instances(explainers=({text!r},))" if kind == "explainers" else text
        asked = () if flag == "--challenge" else ("--challenge", "uniform")
        small = ("--epochs", "1", "--embedding", "6", "--limit", "2", "--runs", "runs", "--data", str(self.data))
        parts = small if kind == "encoders" else (*small, "--encoder", "bilstm(hidden=3)")
        return Case(f"{flag} {text}", ("audit", *parts, *asked, flag, text), ("runs",), whole=True)

    @staticmethod
    def _edge(draw: Random, kind: str) -> str:
        """A value all of whose numbers are allowed, some of them as small, or rather large, as they may be."""
        name = draw.choice(sorted(REGISTRIES[kind]))
        given = {}
        for field, (_, rules) in rules_of(REGISTRIES[kind][name]).items():
            ends = next((rule for rule in rules if isinstance(rule, Within)), None)
            default = getattr(REGISTRIES[kind][name], field, None)
            if ends is None or isinstance(default, tuple) or draw.random() < 0.5:
                continue
            whole = isinstance(default, int)
            near = [
                ends.least,
                min(ends.most, ends.least + (3 if whole else 0.1)),
                min(ends.most, 30 if whole else 1e3),
            ]
            given[field] = draw.choice([int(end) if whole else float(end) for end in near])
        return f"{name}({', '.join(f'{field}={value!r}' for field, value in given.items())})"


class Studies(Kind):
    """Study files."""

    name: ClassVar[str] = "study files"
    share: ClassVar[int] = 10

    def case(self, draw: Random, folder: Path) -> Case:
        keys = sorted(OPTIONS)
        run = {draw.choice(keys): self._value(draw) for _ in range(draw.randrange(4))}
        grid = {
            draw.choice((*keys, "seed", "seed")): [self._value(draw) for _ in range(draw.choice((0, 1, 2, 3)))]
            for _ in range(draw.choice((0, 1, 1, 2)))
        }
        record: dict[str, Any] = {"name": "made", "run": run, "grid": grid or {"seed": [0]}}
        if draw.random() < 0.3:
            record["adjust"] = [{"where": {"seed": 0}, "set": {draw.choice(keys): self._value(draw)}}]
        if draw.random() < 0.3:
            record["leave_out"] = [{"where": {draw.choice(keys): self._value(draw)}, "because": "x"}]
        if draw.random() < 0.3:
            record = altered(draw, record)
        text = toml(record) if isinstance(record, dict) else "x"
        content = text.encode("utf-8", "replace")
        if draw.random() < 0.3:
            content = damaged(draw, content)
        if draw.random() < 0.03:
            content = draw.choice(
                (
                    b"a=" + b"[" * 20_000,
                    b"a=" + b"{a=" * 5000,
                    b"[" + b"a." * 20_000 + b"a]",
                    b"a=" + b"9" * 5000,
                    b'[grid]\nseed=[0]\n[run]\ndata="\\u0000"\n',
                    b"[grid]\n"
                    + b"\n".join(
                        b"%s=%s" % (key, str([*range(1, 900)]).encode())
                        for key in (b"seed", b"epochs", b"batch_size", b"patience")
                    ),
                )
            )
        (folder / "made.toml").write_bytes(content)
        return Case(
            content[:300].decode("utf-8", "replace"),
            ("study", "run", "made.toml", "--dry-run", "--runs", "runs"),
            ("runs",),
        )

    @staticmethod
    def _value(draw: Random) -> Any:
        match draw.randrange(5):
            case 0:
                return draw.choice(TEXTS)
            case 1:
                return draw.choice(NUMBERS)
            case 2:
                return said(draw, draw.choice(sorted(REGISTRIES)))
            case 3:
                return draw.choice((True, False, [], [1], ["a", "b"], {}, {"a": 1}, "reviews(train=20, dev=5, test=5)"))
            case _:
                return draw.choice((0, 1, 2, "bilstm", "additive", "uniform", ["uniform"], "english"))


def toml(value: Any, depth: int = 0) -> str:  # noqa: PLR0911 - one for each kind
    """A value as TOML, as well as it can be said."""
    if depth > 100:
        return "[" * 5000
    if isinstance(value, dict) and depth == 0:
        return "\n".join(f"{key(name)} = {toml(one, 1)}" for name, one in value.items())
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)} = {toml(one, depth + 1)}" for name, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(one, depth + 1) for one in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return hex(value) if abs(value) > 10**300 else str(value)
    return repr(value) if isinstance(value, float) else key(str(value))


def key(text: str) -> str:
    """A quoted text."""
    return (
        '"'
        + "".join(sign if sign.isprintable() and sign not in '"\\' else f"\\u{ord(sign) & 0xFFFF:04x}" for sign in text)
        + '"'
    )


class Arguments(Kind):
    """Commands that take names of runs, files and numbers."""

    name: ClassVar[str] = "arguments"
    share: ClassVar[int] = 6
    fresh: ClassVar[int] = 20

    def case(self, draw: Random, folder: Path) -> Case:
        odd = shown(hostile_text(draw))[:3000] or "x"
        number = draw.choice(("0", "-1", "1e3", "nan", "inf", "99999999999999999999", "x", "", "1.5", "0x1"))
        command = draw.choice(
            (
                ("show", odd),
                ("show", odd, "--json"),
                ("export", odd, "--to", odd),
                ("check", odd, "--require", odd),
                ("claims", odd),
                ("list", odd),
                ("list", "challenges", odd),
                ("tokens", odd, "--to", odd),
                ("tokens", f"a={odd}", "--to", "x.svg"),
                ("explain", odd, "--model", odd),
                ("explain", odd, "--model", "latest"),
                ("explain", "x", "--html", odd),
                ("study", "status", odd),
                ("study", "run", odd),
                ("study", "pack", "jain_wallace_2019", "--to", odd, "--corpus", odd),
                ("corpora", "get", odd),
                ("corpora", "get", "sst", "--from", odd),
                ("corpora", "prepare", odd),
                ("corpora", "check", odd),
                ("audit", "--time", draw.choice((odd, "1" * 5000 + "x", "1h" * 2000, "-5m", "1.2.3s", number))),
                ("audit", "--learning-rate", number, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--embedding", number),
                ("audit", "--epochs", number),
                ("audit", "--clip", number, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--smoothing", number, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--preset", odd),
                ("audit", "--device", odd),
                ("audit", "--site", odd, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--query", odd, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--vectors", odd, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--model", odd, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("audit", "--fine-tune", odd, "--corpus", "reviews(train=20, dev=5, test=5)"),
                ("scores", "import", odd, "--run", odd, "--name", odd),
                ("scores", "export", odd, "--out", odd),
                (odd,),
                ("audit", odd),
            )
        )
        return Case(" ".join(command)[:300], command, ("export",), {"ATTENTEST_RUNS": "runs", "HF_HUB_OFFLINE": "1"})
