"""Every lower bound that is declared was tried: the lowest set has that very version."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
#: No build for CPUs was at hand of the lowest PyTorch; what only builds, checks or carries weights is not in the set.
UNTRIED, BESIDE = {"torch"}, {"weights", "docs", "dev"}


def pinned() -> dict[str, Version]:
    lines = (ROOT / "constraints-lowest.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {canonicalize_name(name): Version(version.split()[0]) for name, version in pairs}


def test_the_lowest_set_holds_the_lowest_versions_that_are_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = {name: some for name, some in project["optional-dependencies"].items() if name not in BESIDE}
    lowest, compared = pinned(), 0
    for requirement in map(Requirement, [*project["dependencies"], *(one for some in groups.values() for one in some)]):
        (least,) = (Version(one.version) for one in requirement.specifier if one.operator == ">=")
        assert any(one.operator == "<" for one in requirement.specifier), requirement
        if requirement.name not in UNTRIED:
            assert lowest[canonicalize_name(requirement.name)] == least, requirement
            compared += 1
    assert compared > 40
