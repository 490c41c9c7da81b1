"""Corpus archives, as a server might send them, and official files, as a person might keep them."""

from __future__ import annotations

import gzip
import io
import json
import stat
import tarfile
import zipfile
from pathlib import Path
from random import Random
from typing import ClassVar

from tests.campaigns.made.kind import Case, Kind
from tests.campaigns.made.mutation import damaged, hostile_text, strange

__all__ = ["Archives", "OfficialFiles"]

MEMBERS = (
    *(
        "a.txt",
        "a/b.txt",
        ".",
        "..",
        "./.",
        "",
        "/",
        "/etc/x",
        "../x",
        "a/../../x",
        "a\\..\\x",
        "C:\\x",
        "C:x",
        "a//b",
        "a/./b",
    ),
    *(
        "a\0b",
        "\n",
        "x" * 300,
        "a/" * 200 + "x",
        "con",
        "~",
        "a ",
        "-rf",
        "\u202ex",
        "\udcff",
        "a.txt/b",
        ".hidden",
        "__MACOSX/a",
    ),
)


class Archives(Kind):
    """Zip, tar, gzip and none of them: unpacked as after a download."""

    name: ClassVar[str] = "archives"
    share: ClassVar[int] = 8

    def case(self, draw: Random, folder: Path) -> Case:
        ending = draw.choice((".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".gz", ".csv"))
        content = _packed(draw, ending)
        if draw.random() < 0.4:
            content = damaged(draw, content)
        target = folder / "cache"
        target.mkdir()
        (target / f"made{ending}").write_bytes(content)
        members = draw.choice(((), (), ("*.txt",), ("*/b.txt", "a*")))
        command = _Unpack(f"https://example.org/made{ending}", target, members)
        return Case(f"{ending} {members}", command, ("cache/SHA256",))


class _Unpack:
    """What 'corpora get' does with an archive that is here."""

    def __init__(self, url: str, target: Path, members: tuple[str, ...]) -> None:
        self.url, self.target, self.members = url, target, members

    def __call__(self) -> None:
        from attentest.data.sources.archive import Archive

        unpacked = Archive(self.url, members=self.members).fetch(self.target)
        inside = self.target.resolve()
        for path in unpacked.rglob("*"):
            assert path.resolve().is_relative_to(inside), f"{path} lies outside"
            assert not path.is_symlink(), f"{path} is a link"


def _packed(draw: Random, ending: str) -> bytes:
    if ending == ".csv":
        return draw.randbytes(draw.randrange(50))
    if ending == ".gz":
        return gzip.compress(bytes(draw.choice((0, 10, 50_000_000))), 9, mtime=0)
    held, names = io.BytesIO(), [draw.choice(MEMBERS) for _ in range(draw.choice((0, 1, 2, 4)))]
    if ending == ".zip":
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
            for name in names:
                info = zipfile.ZipInfo(name.replace("\udcff", "\xff"))
                if draw.random() < 0.2:
                    info.external_attr = draw.choice((stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR)) << 16
                info.compress_type = draw.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))
                file.writestr(info, _body(draw))
        return held.getvalue()
    mode = {".tar": "w", ".tar.bz2": "w:bz2", ".tar.xz": "w:xz"}.get(ending, "w:gz")
    with tarfile.open(fileobj=held, mode=mode) as tar:  # type: ignore[call-overload]
        for name in names:
            entry, body = tarfile.TarInfo(name), _body(draw)
            if draw.random() < 0.25:
                kinds = (
                    tarfile.SYMTYPE,
                    tarfile.LNKTYPE,
                    tarfile.FIFOTYPE,
                    tarfile.CHRTYPE,
                    tarfile.DIRTYPE,
                    tarfile.CONTTYPE,
                )
                entry.type, entry.linkname, body = draw.choice(kinds), draw.choice(("/etc/passwd", "..", "a.txt")), b""
            entry.size = len(body)
            entry.mtime = draw.choice((0, -1, 2**33))
            tar.addfile(entry, io.BytesIO(body))
    return held.getvalue()


def _body(draw: Random) -> bytes:
    return draw.choice((b"", b"text", draw.randbytes(100), b"text", bytes(draw.choice((1000, 20_000_000)))))


class OfficialFiles(Kind):
    """A folder that somebody says is a corpus."""

    name: ClassVar[str] = "official files"
    share: ClassVar[int] = 4

    #: A corpus and a file that it reads.
    FILES: ClassVar = (
        ("sst", "trees/train.txt"),
        ("snli", "snli_1.0/snli_1.0_train.jsonl"),
        ("ag_news", "train.csv"),
        ("yelp", "train.csv"),
        ("babi-1", "en-10k/qa1_single-supporting-fact_train.txt"),
        ("imdb", "aclImdb/train/pos/1_7.txt"),
        ("hatexplain", "dataset.json"),
        ("eraser_movies", "train.jsonl"),
        ("esnli", "esnli_dev.csv"),
        ("cad_imdb", "train_paired.tsv"),
        ("adr", "adr_dataset.csv"),
        ("multi30k", "train.en"),
        ("20news", "20news-bydate-train/rec.sport.baseball/1"),
    )

    def case(self, draw: Random, folder: Path) -> Case:
        name, first = draw.choice(self.FILES)
        place = folder / "official"
        for split in ("train", "dev", "test"):
            for file in {first.replace("train", split), first}:
                path = place / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._content(draw))
        command = ("corpora", "get", name, "--from", "official")
        return Case(
            f"{name} {first}", command, ("data", "cache"), {"ATTENTEST_DATA": "data", "ATTENTEST_CACHE": "cache"}
        )

    @staticmethod
    def _content(draw: Random) -> bytes:  # noqa: PLR0911 - one for each kind
        match draw.randrange(7):
            case 0:
                return draw.randbytes(draw.randrange(300))
            case 1:
                return b"(" * draw.choice((10, 5000)) + b"3 good" + b")" * draw.choice((10, 5000))
            case 2:
                return damaged(draw, b"(3 (2 It) (4 (2 's) (3 good)))\n" * 4)
            case 3:
                try:
                    return "\n".join(
                        json.dumps({"sentence1": strange(draw), "gold_label": strange(draw)}) for _ in range(3)
                    ).encode("utf-8", "replace")
                except RecursionError:
                    return b"[" * 9000
            case 4:
                return damaged(draw, b'"3","Title","Some text, of it"\n' * 5)
            case 5:
                return damaged(draw, b"1 Mary went to the hall.\n2 Where is Mary?\thall\t1\n" * 5)
            case _:
                return hostile_text(draw).encode("utf-8", "replace")
