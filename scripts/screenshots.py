"""Pictures of a run's report, as a person sees it: ``python scripts/screenshots.py RUN OUT_DIR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from attentest.store.folder import find_run

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Name of the picture, width and height of the window, its colours, and whether the whole page is shown.
SHOTS: Mapping[str, tuple[int, int, Any, bool]] = {
    "report": (1280, 1360, "light", False),
    "page": (1280, 900, "light", True),
    "phone": (390, 844, "light", True),
    "dark": (1280, 900, "dark", True),
}


def shoot(report: Path, target: Path) -> list[Path]:
    """Render the report in every setting; the pictures' paths."""
    target.mkdir(parents=True, exist_ok=True)
    written = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for name, (width, height, colours, whole) in SHOTS.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
            page.goto(report.resolve().as_uri())
            written.append(target / f"{name}.png")
            page.screenshot(path=written[-1], full_page=whole)
            page.close()
        browser.close()
    return written


def main() -> None:
    """Read the two folders from the command line."""
    if len(sys.argv) != 3:
        raise SystemExit("Usage: python scripts/screenshots.py RUN OUT_DIR")
    report = find_run(sys.argv[1], Path("runs")).path / "report.html"
    if not report.is_file():
        raise SystemExit(f"{report} is not there. Run 'attentest audit' to write it.")
    for path in shoot(report, Path(sys.argv[2])):
        print(path)


if __name__ == "__main__":
    main()
