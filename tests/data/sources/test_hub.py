"""The hub's library on a cache folder made here, in its own format; nothing is asked of the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from attentest.data.sources.hub import Hub
from attentest.errors import InputError

REVISION = "0123456789abcdef0123456789abcdef01234567"
OFFLINE = """
import sys
from pathlib import Path
from attentest.data.sources.hub import Hub
from attentest.errors import InputError
try:
    folder = Hub(sys.argv[1], sys.argv[2], ("*.txt",)).fetch(Path("."))
    print(sorted(path.name for path in folder.rglob("*.txt")), (folder / "train.txt").read_text())
except InputError as error:
    print("InputError", error)
"""


def cached(home: Path) -> Path:
    """A data set as the library keeps it: blobs, and a snapshot of links to them."""
    repository = home / "hub" / "datasets--someone--toy"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / "abc").write_text("0\\tfine", encoding="utf-8")
    snapshot = repository / "snapshots" / REVISION
    snapshot.mkdir(parents=True)
    (snapshot / "train.txt").symlink_to(Path("../../blobs/abc"))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(REVISION, encoding="utf-8")
    return home


def offline(home: Path, name: str, revision: str = REVISION) -> str:
    """What a fresh process says that may not use the network (the library reads its settings once)."""
    environment = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, name, revision], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_a_data_set_in_the_local_cache_is_found_offline(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    assert offline(cached(tmp_path), "someone/toy") == "['train.txt'] 0\\tfine\n"


@pytest.mark.slow
def test_one_that_is_not_there_says_what_to_do(tmp_path: Path) -> None:
    pytest.importorskip("huggingface_hub")
    said = offline(cached(tmp_path), "someone/other")
    assert said.startswith("InputError Hugging Face hub someone/other @ 0123456789 is not in the local cache")
    assert "--source archive" in said
    assert said.count("\n") == 1
    assert offline(tmp_path, "someone/toy", "f" * 40).startswith("InputError")


@pytest.mark.parametrize("revision", ["main", "v1.0", "", REVISION[:10], REVISION.upper()])
def test_a_revision_that_is_not_pinned_is_refused(revision: str) -> None:
    with pytest.raises(InputError, match=r"is not pinned. Give a commit's 40 digits"):
        Hub("someone/toy", revision)


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"pip install 'attentest\[hub\]'.*--from DIR"):
        Hub("someone/toy", REVISION).fetch(tmp_path)
