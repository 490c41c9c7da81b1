"""Where corpora that are not shipped with the package lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = ["data_folder"]


def data_folder() -> Path:
    """The folder named by ATTENTEST_DATA, else the user's cache folder for attentest."""
    named = os.environ.get("ATTENTEST_DATA")
    if named:
        return Path(named).expanduser()
    return Path(platformdirs.user_cache_dir("attentest")) / "data"
