from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import made_up_corpus

import attentest
from attentest.challenges import CHALLENGES
from attentest.models.networks.classifier import Classifier
from attentest.runs.run import code_of, definitions_of
from attentest.runs.trained import TrainedRun
from attentest.runs.version import forget, version_of

UPPER = "from made_up_package.base import RATE\n\n\ndef twice():\n    return 2 * RATE\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "made_up_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "base.py").write_text('"""Words."""\nRATE = 1\nOTHER = 1\n')
    (folder / "upper.py").write_text(UPPER)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()

    def now(name: str = "upper:twice") -> str:
        forget()
        return version_of(f"made_up_package.{name}")

    yield folder, now
    forget()
    sys.modules.pop("made_up_package", None)


def test_comments_docstrings_and_layout_are_not_code(package):
    folder, now = package
    before = now()
    (folder / "base.py").write_text('"""Other words."""\n\n# a remark\nRATE = (\n    1\n)\n')
    assert now() == before


def test_the_words_of_a_parameter_are_not_code(package):
    folder, now = package
    text = "from typing import Annotated\n{}\n\nclass Thing:\n    size: {} = 1\n"
    (folder / "upper.py").write_text(text.format("", "int"))
    before = now("upper:Thing")
    for words in ('"how large"', '"how " "small"', '"how large", "and more"'):
        (folder / "upper.py").write_text(text.format("", f"Annotated[int, {words}]"))
        assert now("upper:Thing") == before
    (folder / "upper.py").write_text(text.format("", 'Annotated[float, "how large"]'))
    assert now("upper:Thing") != before


def test_a_change_in_what_is_used_is_a_change(package):
    folder, now = package
    before = now()
    (folder / "base.py").write_text("RATE = 2\nOTHER = 1\n")
    assert now() != before


def test_a_change_in_what_is_imported_and_not_used_is_none(package):
    folder, now = package
    before = now()
    (folder / "base.py").write_text("RATE = 1\nOTHER = 2\n")
    assert now() == before
    assert now("base") != before


def test_a_moved_definition_is_the_same_code(package):
    folder, now = package
    before = now()
    (folder / "deep").mkdir()
    (folder / "deep" / "__init__.py").write_text("")
    (folder / "base.py").rename(folder / "deep" / "moved.py")
    (folder / "upper.py").write_text(UPPER.replace("made_up_package.base", "made_up_package.deep.moved"))
    assert now() == before
    (folder / "upper.py").write_text(UPPER.replace("from made_up_package.base", "from .deep.moved"))
    assert now() == before
    (folder / "upper.py").write_text(
        "import made_up_package.deep.moved as base\n\n\ndef twice():\n    return 2 * base.RATE\n"
    )
    other = now()
    (folder / "deep" / "moved.py").write_text("RATE = 2\n")
    assert now() != other


def test_another_definition_of_the_same_name_is_another_version(package):
    folder, now = package
    (folder / "other.py").write_text("RATE = 5\n")
    both = "from made_up_package.{} import RATE\n\n\ndef {}():\n    return 2 * RATE\n"
    versions = set()
    for first, second in (("base", "other"), ("other", "base")):
        (folder / "one.py").write_text(both.format(first, "one"))
        (folder / "two.py").write_text(both.format(second, "two"))
        (folder / "upper.py").write_text(
            "from made_up_package.one import one\nfrom made_up_package.two import two\n\n\n"
            "def twice():\n    return one() + two()\n"
        )
        versions.add(now())
    assert len(versions) == 2


def test_what_a_package_passes_on_counts_and_its_tables_do_not(package):
    folder, now = package
    (folder / "__init__.py").write_text("from made_up_package.base import RATE\n\nTABLE = {'rate': RATE}\n")
    (folder / "upper.py").write_text(
        "from made_up_package import RATE, TABLE\n\n\ndef twice():\n    return 2 * RATE + len(TABLE)\n"
    )
    before = now()
    (folder / "__init__.py").write_text("from made_up_package.base import RATE\n\nTABLE = {'rate': RATE, 'more': 2}\n")
    assert now() == before
    (folder / "base.py").write_text("RATE = 7\n")
    assert now() != before


def test_a_registry_is_a_table(package):
    folder, now = package
    text = "from attentest.registry import Registry\n\nRATES = Registry('rate', {{{}}})\n"
    text += "\n\ndef twice():\n    return RATES\n"
    (folder / "upper.py").write_text(text.format(""))
    before = now()
    (folder / "upper.py").write_text(text.format("'one': int"))
    assert now() == before


def test_imports_for_type_checkers_do_not_count(package):
    folder, now = package
    (folder / "upper.py").write_text(
        f"from __future__ import annotations\nfrom typing import TYPE_CHECKING\n{UPPER}\n"
        "\nif TYPE_CHECKING:\n    from made_up_package.other import A\n\n\ndef use(a: A) -> int:\n    return twice()\n"
    )
    (folder / "other.py").write_text("A = 1\n")
    before = now("upper:use")
    (folder / "other.py").write_text("A = 2\n")
    assert now("upper:use") == before


def test_what_a_module_does_on_import_counts_for_all_it_defines(package):
    folder, now = package
    before = now()
    (folder / "upper.py").write_text(f"import warnings\n{UPPER}\n\nwarnings.simplefilter('error')\n")
    assert now() != before


@pytest.mark.slow
def test_the_explainers_a_challenge_names_are_part_of_its_version():
    one = CHALLENGES.parse("agreement(pairs=('attention~gradient',))")
    two = CHALLENGES.parse("agreement(pairs=('attention~occlusion',))")
    assert code_of(one, (), Classifier) != code_of(two, (), Classifier)


@pytest.fixture
def copied(tmp_path):
    """A copy of attentest, to change, and the versions that it gives an LSTM's run there."""
    source = Path(attentest.__file__).parent
    folder = tmp_path / "attentest"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", "*.csv", "templates"))
    run = TrainedRun(made_up_corpus())
    about = run.model_record
    asked = [definitions_of(challenge, about.definitions, about.subject_class)[0] for challenge in run.asked]
    command = "import sys, attentest.runs.version as v; print([v.version_of(*a.split()) for a in sys.argv[1:]])"

    def versions(moved: tuple[str, str] = ("", "")) -> str:
        names = [" ".join(roots).replace(*moved) if moved[0] else " ".join(roots) for roots in asked]
        made = subprocess.run(
            [sys.executable, "-c", command, *names],
            env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return made.stdout

    return folder, versions


@pytest.mark.slow
def test_a_touch_of_transformers_code_leaves_the_findings_of_an_lstm_valid(copied):
    folder, versions = copied
    before = versions()
    for path in (folder / "models" / "huggingface").rglob("*.py"):
        path.write_text(path.read_text() + "\n\nprint('touched')\n")
    assert versions() == before
    lstm = folder / "models" / "parts" / "bidirectional.py"
    lstm.write_text(lstm.read_text() + "\n\nprint('touched')\n")
    assert versions() != before


@pytest.mark.slow
def test_code_that_only_says_how_long_it_takes_decides_no_finding(copied):
    folder, versions = copied
    before = versions()
    for name in ("runs/examination/pace.py", "runs/examination/examine.py", "store/parts.py"):
        (folder / name).write_text((folder / name).read_text() + "\n\nprint('touched')\n")
    assert versions() == before
    examiner = folder / "runs" / "examination" / "examiner.py"
    examiner.write_text(examiner.read_text() + "\n\nprint('touched')\n")
    assert versions() != before


def test_a_moved_module_leaves_all_findings_valid(copied):
    folder, versions = copied
    before = versions()
    moves = {
        "attentest.measures.rank": "attentest.measures.order",
        "attentest.models.parts.encoders": "attentest.models.readers",
    }
    for old, new in moves.items():
        path = folder.joinpath(*old.split(".")[1:]).with_suffix(".py")
        path.rename(folder.joinpath(*new.split(".")[1:]).with_suffix(".py"))
    for path in folder.rglob("*.py"):
        text = path.read_text()
        for old, new in moves.items():
            text = text.replace(f"{old} import", f"{new} import")
        path.write_text(text)
    assert versions(("attentest.models.parts.encoders", "attentest.models.readers")) == before
