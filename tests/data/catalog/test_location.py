from __future__ import annotations

from pathlib import Path

import pytest

from attentest.data.catalog.location import data_folder


def test_the_data_folder_is_the_one_the_environment_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    assert data_folder() == tmp_path


def test_without_the_environment_it_is_in_the_user_s_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTENTEST_DATA", raising=False)
    assert data_folder().name == "data"
    assert "attentest" in str(data_folder())
