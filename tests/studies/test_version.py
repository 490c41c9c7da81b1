from __future__ import annotations

import importlib
import sys

import pytest

from attentest.challenges import CHALLENGES
from attentest.studies import version
from attentest.studies.run import code_of
from attentest.studies.version import version_of


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "made_up_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text('"""Words."""\nRATE = 1\n')
    (folder / "upper.py").write_text("from made_up_package.base import RATE\n\n\ndef twice():\n    return 2 * RATE\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()

    def now(name: str = "upper") -> str:
        for cached in (version_of, version._source, version._tree, version._imported, version._meaning):
            cached.cache_clear()
        return version_of(f"made_up_package.{name}")

    yield folder, now
    sys.modules.pop("made_up_package", None)


def test_comments_docstrings_and_layout_are_not_code(package):
    folder, now = package
    before = now()
    (folder / "base.py").write_text('"""Other words."""\n\n# a remark\nRATE = (\n    1\n)\n')
    assert now() == before


def test_a_change_in_what_is_imported_is_a_change(package):
    folder, now = package
    before = now()
    (folder / "base.py").write_text("RATE = 2\n")
    assert now() != before


def test_a_module_that_is_not_imported_does_not_count(package):
    folder, now = package
    before = now()
    (folder / "other.py").write_text("RATE = 3\n")
    (folder / "__init__.py").write_text("from made_up_package import other\n")
    assert now() == before


def test_imports_for_type_checkers_do_not_count(package):
    folder, now = package
    text = (folder / "base.py").read_text()
    (folder / "base.py").write_text(
        f"from typing import TYPE_CHECKING\n{text}if TYPE_CHECKING:\n    import made_up_package.other\n"
    )
    (folder / "other.py").write_text("A = 1\n")
    before = now()
    (folder / "other.py").write_text("A = 2\n")
    assert now() == before


def test_the_explainers_a_challenge_names_are_part_of_its_version():
    one = CHALLENGES.parse("agreement(pairs=('attention~gradient',))")
    two = CHALLENGES.parse("agreement(pairs=('attention~occlusion',))")
    assert code_of(one) != code_of(two)
