from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attentest.catalogue.entries import REGISTRIES, catalogue
from attentest.catalogue.remembered import KINDS, extended, listed
from attentest.cli import main
from attentest.report.tables.answer import LINES

FAST = ["--encoder", "bilstm(hidden=6)", "--embedding", "8", "--epochs", "1", "--tokenizer", "whitespace"]
QUICK = [*FAST, "--challenge", "adversary(steps=10)", "--challenge", "agreement", "--challenge", "uniform"]


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run the command line in this process: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attentest", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return int(stopped.value.code or 0), out, err

    return call


def write_csv(path: Path, rows: list[tuple[str, str]], header: tuple[str, ...] = ("text", "label")) -> Path:
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([header, *rows])
    return path


def reviews(count: int = 60, classes: tuple[str, ...] = ("bad", "fine", "good")) -> list[tuple[str, str]]:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(count):
        label = classes[i % len(classes)]
        filler = " ".join(f"w{j}" for j in rng.integers(0, 30, rng.integers(2, 8)))
        rows.append((f"{filler} it was {label} indeed", label))
    return rows


def fails_in_one_line(outcome: tuple[int, str, str], *said: str) -> None:
    code, _, err = outcome
    lines = [line for line in err.splitlines() if line.startswith("attentest:")]
    assert code == 2, err
    assert len(lines) == 1, err
    assert "Traceback" not in err
    for words in said:
        assert words in lines[0], lines[0]


@pytest.mark.slow
def test_a_three_class_file_audits_with_no_flags_but_data(run, tmp_path):
    data = write_csv(tmp_path / "three.csv", reviews())
    code, out, err = run("audit", "--data", data, *QUICK)
    assert code == 0, err
    assert "Report" in out
    assert len(out.splitlines()) <= LINES
    again, full, _ = run("audit", "--data", data, "--details", *QUICK)
    assert again == 0
    assert "What it says" in full
    assert full.splitlines()[-1] == out.splitlines()[-1]
    report = next(tmp_path.glob("runs/*/report.html")).read_text(encoding="utf-8")
    assert "fine" in report


@pytest.mark.slow
def test_a_thorough_audit_says_what_it_will_cost_and_asks_the_four_tests(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    few = ["seed_variance(seeds=2)", "guide(hidden=4)", "adversarial_training(weights=(0.0, 0.01))"]
    code, out, err = run("audit", "--data", data, "--thorough", *FAST, *(w for c in few for w in ("--challenge", c)))
    assert code == 0, err
    assert "other models are trained" in out + err
    assert "Four tests" in next(tmp_path.glob("runs/*/report.html")).read_text("utf-8")


@pytest.mark.slow
def test_the_outcome_as_json_is_json_and_nothing_else(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    code, out, _ = run("audit", "--data", data, "--json", *QUICK)
    record = json.loads(out)
    assert code == 0
    assert {line["key"] for line in record["verdict"]["lines"]} >= {"accuracy", "adversary", "deletion"}
    assert all(m["judged"] + m["not_judged"] > 0 for m in record["measures"])


@pytest.mark.slow
def test_quiet_prints_the_headline_and_where_things_are(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    code, out, err = run("audit", "--data", data, "--quiet", *QUICK)
    assert code == 0
    assert err == ""
    assert len(out.strip().splitlines()) == 3


@pytest.mark.slow
def test_train_then_audit_the_model_on_new_texts(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    code, out, err = run("train", "--data", data, *FAST)
    assert code == 0, err
    folder = next(line.split()[-1] for line in out.splitlines() if line.startswith("Run"))
    fresh = write_csv(tmp_path / "new.csv", reviews(20, classes=("no", "yes")))
    code, out, err = run("audit", "--model", folder, "--data", fresh, "--challenge", "uniform", "--json")
    assert code == 0, err
    measure = next(m for m in json.loads(out)["measures"] if m["measure"] == "accuracy")
    assert measure["judged"] == 20


@pytest.mark.slow
def test_show_prints_the_verdict_every_measure_and_answers_queries(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    assert run("audit", "--data", data, "--quiet", *QUICK)[0] == 0
    code, out, _ = run("show", "latest")
    assert code == 0
    assert "τ" in out
    code, out, _ = run("show", "latest", "--json")
    assert json.loads(out)["verdict"]["headline"]
    code, out, _ = run("show", "--sql", "SELECT count(*) AS n FROM uniform", "--json")
    (record,) = (tmp_path / "runs").glob("*/run.json")
    assert json.loads(out) == [{"n": json.loads(record.read_text("utf-8"))["fields"]["corpus"]["sizes"]["test"]}]
    fails_in_one_line(run("show", "--sql", "SELECT * FROM unifrm"), "uniform")
    fails_in_one_line(run("show", "nothing"), "nothing")


@pytest.mark.parametrize("kind", ["", "models", *KINDS])
def test_list_lists(run, kind):
    code, out, _ = run("list", *([kind] if kind else []))
    assert code == 0
    assert out.strip()
    assert run("list", *([kind] if kind else []), "--json")[0] == 0


def test_list_says_what_one_entry_does_and_what_its_parameters_mean(run):
    code, out, _ = run("list", "challenges", "adversary")
    assert code == 0
    for words in ("it is computed and proved for two classes", "epsilon = 0.01", "How far the prediction may move"):
        assert words in " ".join(out.split())
    (entry,) = json.loads(run("list", "models", "bilstm", "--json")[1])["encoders"]
    assert entry["words"]["hidden"].startswith("Numbers in a state")
    fails_in_one_line(run("list", "challenges", "adversari"), "adversary")


@pytest.mark.slow
def test_rows_that_cannot_be_used_are_counted_and_named(run, tmp_path):
    rows = reviews(classes=("no", "yes"))
    rows[3], rows[5], rows[8] = ("", "no"), ("word", "yes"), ("x " * 50_000, "no")
    data = write_csv(tmp_path / "d.csv", rows)
    code, _, err = run("audit", "--data", data, *QUICK)
    assert code == 0, err
    assert "1 row left out: empty text" in err
    assert "50000 tokens" in err


BAD_FILES = [
    ("empty.csv", b"", ["empty"]),
    ("header.csv", b"text,label\n", ["header.csv"]),
    ("one.csv", b"text,label\n" + b"a b c,yes\n" * 9, ["one class", "yes"]),
    ("bytes.csv", b"text,label\n\xff\xfe\x00bad,yes\n", ["UTF-8"]),
    ("columns.csv", b"a,b,c\n1,2,3\n", ["--text-column"]),
    ("broken.jsonl", b'{"text": "a", "label": 1}\n{"text": \n', ["line 2"]),
    ("foreign.parquet", b"PAR1 not really", ["foreign.parquet"]),
    ("image.png", b"\x89PNG", [".csv"]),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD_FILES, ids=[b[0] for b in BAD_FILES])
def test_bad_files_give_one_clear_line_and_exit_code_two(run, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    fails_in_one_line(run("audit", "--data", tmp_path / name, *QUICK), *said)
    assert not list(tmp_path.glob("runs/*"))


def test_labels_in_test_that_training_lacks_are_named(run, tmp_path):
    train_ = write_csv(tmp_path / "train.csv", reviews(classes=("no", "yes")))
    test = write_csv(tmp_path / "test.csv", [*reviews(10, classes=("no", "yes")), ("what is this", "perhaps")])
    fails_in_one_line(run("audit", "--data", train_, "--test", test, *QUICK), "perhaps")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "--corpus", "revews"], ["Did you mean 'reviews'"]),
        (["audit", "--encoder", "bilstn"], ["Did you mean 'bilstm'"]),
        (["audit", "--encoder", "bilstm(hiden=3)"], ["Did you mean 'hidden'"]),
        (["audit", "--attention", "adaptive"], ["additive"]),
        (["audit", "--head", "softmin"], ["softmax"]),
        (["audit", "--structure", "hierachical"], ["hierachical", "flat, hierarchical"]),
        (["audit", "--site", "sentence"], ["sentence", "word"]),
        (["audit", "--challenge", "permutaton"], ["permutation"]),
        (["audit", "--preset", "papers"], ["paper"]),
        (["audit", "--device", "abacus"], ["abacus"]),
        (["audit", "--data", "nowhere.csv"], ["nowhere.csv"]),
        (["audit", "--model", "nowhere"], ["nowhere", "no folder or run here", "attentest train", "the hub", "--data"]),
        (["audit", "--model", "/no/where"], ["/no/where", "Transformers checkpoint", "OWNER/NAME"]),
        (["audit", "--vectors", "nowhere.txt"], ["nowhere.txt"]),
        (["audit", "--data", "a.csv", "--corpus", "reviews"], ["not both"]),
        (["audit", "--test", "a.csv"], ["--data"]),
        (["audit", "--epochs", "0"], ["--epochs"]),
        (["audit", "--seed", "x"], ["--seed"]),
        (["audit", "--nonsense"], ["--nonsense", "--help"]),
        (["audit", "stray"], ["stray"]),
        (["adit"], ["adit"]),
        (["list", "corpus"], ["corpora"]),
        (["show", "nothing-here"], ["nothing-here"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and value[0].islower() else "",
)
def test_wrong_words_give_one_clear_line_and_exit_code_two(run, arguments, said):
    fails_in_one_line(run(*arguments), *said)


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_named_before_any_work(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    fails_in_one_line(run("audit", "--runs", tmp_path / "file" / "runs", *FAST), "Cannot create the folder")


@pytest.mark.parametrize("damage", ["truncate", "foreign", "no vocabulary", "no run.json"])
def test_a_damaged_model_is_named(run, tmp_path, damage):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    _, out, _ = run("train", "--data", data, *FAST)
    folder = Path(next(line.split()[-1] for line in out.splitlines() if line.startswith("Run")))
    model = folder / "model.safetensors"
    if damage == "truncate":
        model.write_bytes(model.read_bytes()[:500])
    elif damage == "foreign":
        model.write_bytes((0).to_bytes(8, "little") + b"{}")
    elif damage == "no vocabulary":
        (folder / "vocabulary.json").unlink()
    else:
        (folder / "run.json").unlink()
    fails_in_one_line(run("audit", "--model", folder, "--data", data), str(folder))


def test_a_model_meets_texts_of_other_classes_with_a_clear_line(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(classes=("no", "yes")))
    _, out, _ = run("train", "--data", data, *FAST)
    folder = next(line.split()[-1] for line in out.splitlines() if line.startswith("Run"))
    other = write_csv(tmp_path / "other.csv", reviews(20, classes=("maybe", "yes")))
    fails_in_one_line(run("audit", "--model", folder, "--data", other), "maybe")


def imports_nothing_heavy(*arguments: str) -> str:
    code = (
        f"import sys; sys.argv = ['attentest', *{arguments}]\n"
        "from attentest.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'duckdb', 'pyarrow', 'numpy', 'altair', 'spacy'} & set(sys.modules)\n"
        "print(heavy, file=sys.stderr); sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_is_quick_because_it_imports_nothing_heavy():
    assert "--data" in imports_nothing_heavy("audit", "--help")


def test_a_list_is_quick_once_it_was_made(tmp_path, monkeypatch, run):
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path))
    made = run("list", "--json")[1]
    assert [path.suffix for path in (tmp_path / "lists").iterdir()] == [".json"]
    assert run("list", "--json")[1] == made
    assert {entry["name"] for entry in json.loads(made)["challenges"]} == set(REGISTRIES["challenges"])
    if not extended():
        assert imports_nothing_heavy("list", "--json") == made
    assert listed(["challenges"], tmp_path) == {"challenges": catalogue("challenges")}


@pytest.mark.parametrize("damage", ["", "{}", "[1]", '{"corpora": 1', "a pipe"])
def test_a_damaged_list_is_made_again(tmp_path, monkeypatch, run, damage):
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path))
    made = run("list", "heads")[1]
    kept = next((tmp_path / "lists").iterdir())
    kept.write_text(damage, encoding="utf-8")
    if damage == "a pipe":
        kept.unlink()
        os.mkfifo(kept)
    assert run("list", "heads")[1] == made
    assert len(kept.read_text(encoding="utf-8")) > 1000


@pytest.mark.slow
def test_an_interrupt_ends_with_130_and_nothing_half_written(tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(600, classes=("no", "yes")))
    arguments = [sys.executable, "-m", "attentest", "audit", "--data", str(data), "--epochs", "200", "--patience", "0"]
    child = subprocess.Popen(
        arguments, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/*/run.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(4)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "Traceback" not in err
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("*.safetensors"))


def test_an_interrupt_that_falls_into_a_destructor_is_not_lost():
    code = (
        "import importlib, signal, time\n"
        "entry = importlib.import_module('attentest.cli.main')\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Gone:\n"
        "    def __del__(self): signal.raise_signal(signal.SIGINT)\n"
        "def work(standalone_mode):\n"
        "    Gone()\n"
        "    time.sleep(20)\n"
        "entry.app = work\n"
        "entry.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 130
    assert done.stderr.startswith("attentest: Interrupted")
    assert "Traceback" not in done.stderr
