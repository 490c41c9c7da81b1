"""attentest sources: which source did an answer come from?"""

from __future__ import annotations

from attentest.cli.sources.command import sources

__all__ = ["sources"]
