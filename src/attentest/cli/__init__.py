"""The command line; heavy libraries are imported by the commands that need them, not by ``--help``."""

from __future__ import annotations

from attentest.cli.main import main

__all__ = ["main"]
