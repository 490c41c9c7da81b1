from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.made_up_corpus import rows_file, toy_rows


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache folder of the test's own."""
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def toy(places: Path) -> Path:
    """The toy corpus on this machine: the folder of its rows."""
    for split in ("train", "test"):
        rows_file(places / "data" / "toy" / f"{split}.jsonl.gz", toy_rows(split))
    return places / "data" / "toy"
