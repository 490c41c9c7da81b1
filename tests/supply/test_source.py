"""No pickles, no remote code, no evaluation of input: read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "attentest"
FILES = sorted(SOURCE.rglob("*.py"))
#: Modules that load code with data.
UNPICKLING = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "jsonpickle"}
#: Calls that run what they are given, or load pickles.
FORBIDDEN = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "pty.spawn", "torch.load", "torch.jit.load"),
    *("torch.hub.load", "pandas.read_pickle", "pd.read_pickle", "yaml.load", "yaml.unsafe_load", "numpy.fromfile"),
}
#: Where a call stands that a rule would refuse, and why it may.
ALLOWED: dict[tuple[str, str], str] = {}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def keywords(call: ast.Call) -> dict[str | None, str]:
    return {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_nothing_that_is_read_runs(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {one.split(".")[0] for one in imported} & UNPICKLING, f"{name} imports {imported}"
    for function, call in calls(path):
        given = keywords(call)
        assert function not in FORBIDDEN or (name, function) in ALLOWED, f"{name}: {function}"
        assert given.get("shell", "False") == "False", f"{name}: a shell"
        assert given.get("trust_remote_code", "False") == "False", f"{name}: remote code"
        assert given.get("allow_pickle", "False") == "False", f"{name}: pickles"
        if function in ("np.load", "numpy.load"):
            assert given.get("allow_pickle") == "False", f"{name}: np.load without allow_pickle=False"
        if function in ("np.save", "np.savez", "np.savez_compressed", "torch.save"):
            assert function != "torch.save", f"{name}: torch.save writes pickles"
        if function.endswith(".from_pretrained") and not function.startswith("nn."):
            assert {"**NO_CODE", "**about", "**how"} & {f"**{value}" for key, value in given.items() if key is None}, (
                f"{name}: {function} without trust_remote_code=False"
            )


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    import tomllib

    about = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [about["dependencies"], *about["optional-dependencies"].values()]
    for requirement in (one for group in groups for one in group):
        assert ">=" in requirement, requirement
        assert "<" in requirement, requirement
