"""What an examination has found is kept as it comes: a kill loses little, a failing challenge only itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.conftest import Heard
from tests.runs.test_run import bytes_of
from tests.studies.slow import LOG, Failing, Noted, in_small_batches, noted_rows, run_of

from attentest.report.pages.run import page
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute, is_complete
from attentest.runs.model import train
from attentest.store.folder import RunFolder
from attentest.studies.cell import failure_of, perform
from attentest.studies.engine import Job

ASKED = ("permutation(draws=5)", "uniform")


@pytest.fixture
def log(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv(LOG, str(tmp_path / "log"))
    (tmp_path / "log").touch()
    return tmp_path / "log"


def child(script: str) -> subprocess.Popen[bytes]:
    """A Python process of its own, which does not ignore Ctrl-C."""
    begin = "import signal, torch\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ntorch.set_num_threads(1)\n"
    return subprocess.Popen(
        [sys.executable, "-c", begin + textwrap.dedent(script)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])},
    )


def wait_for(log: Path, lines: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while len(log.read_text().splitlines()) < lines:
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.slow
def test_an_examination_killed_again_and_again_loses_at_most_the_batches_it_was_at(tmp_path, log, monkeypatch):
    run = run_of(*ASKED, Noted(0.1))
    in_small_batches(monkeypatch)
    expected = bytes_of(execute(run, tmp_path / "whole"))
    batches = len(log.read_text().splitlines())
    log.write_text("")
    root = tmp_path / "killed"
    train(run, root)
    seen = 0
    for examined in (3, 4):
        process = child(f"""
            from pathlib import Path
            from tests.studies.slow import Noted, in_small_batches, run_of
            from attentest.runs.execute import execute
            in_small_batches()
            execute(run_of(*{ASKED!r}, Noted(0.1)), Path({str(root)!r}))
        """)
        wait_for(log, seen + examined, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
        seen = len(log.read_text().splitlines())
    heard = Heard()
    folder = execute(run, root, progress=heard)
    assert bytes_of(folder) == expected
    assert not (folder.path / "findings" / "unfinished").exists()
    # One batch in each of the two that were killed, two where the kill came after the next had begun.
    assert len(log.read_text().splitlines()) <= batches + 4
    assert set(noted_rows()) == set(range(30))
    said = next(line for line in heard.lines if line.startswith("Resuming"))
    assert int(said.split()[1]) >= 5, said


@pytest.mark.slow
def test_what_was_kept_of_an_examination_and_altered_since_is_examined_again(tmp_path, log, monkeypatch):
    run = run_of("uniform", Noted(), Failing(row=29))
    in_small_batches(monkeypatch)
    folder = execute(run, tmp_path / "runs")
    kept = sorted((folder.path / "findings" / "unfinished").rglob("*.arrow"))
    assert len(kept) > 3
    data = bytearray(kept[0].read_bytes())
    data[len(data) // 2] ^= 4
    kept[0].write_bytes(data)
    monkeypatch.setenv("ATTENTEST_TEST_MENDED", "1")
    heard = Heard()
    again = execute(run, tmp_path / "runs", progress=heard)
    assert any(kept[0].name in line and "altered" in line for line in heard.lines)
    assert bytes_of(again) == bytes_of(execute(run, tmp_path / "mended"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("by_user", [False, True])
def test_a_challenge_that_fails_loses_only_itself_and_is_named(tmp_path, monkeypatch, by_user, workers):
    failing = Failing(row=7, by_user=by_user)
    run = run_of(*ASKED, failing)
    in_small_batches(monkeypatch)
    heard = Heard()
    folder = execute(run, tmp_path / "a", workers=workers, progress=heard)
    assert folder.challenges == ["instances", "permutation-draws=5-" + folder.challenges[1][-6:], "uniform"]
    alone = execute(run_of(*ASKED), tmp_path / "b")
    assert bytes_of(alone).items() <= {**bytes_of(alone), "unfinished": ""}.items()
    for name in alone.challenges:
        assert folder.findings(name).table.equals(alone.findings(name).table)
    reason = "there is nothing to divide by" if by_user else "ZeroDivisionError: there is nothing to divide by"
    (text,) = folder.record["failed"]
    assert text.startswith("failing(row=7")
    assert folder.record["failed"][text] == reason
    assert sum("failed" in line and reason in line for line in heard.lines) == 1
    verdict = judge(folder)
    assert any(text in limit and reason in limit for limit in verdict.limits)
    shown = page(folder, verdict)
    assert shown.index("there is nothing to divide by") < shown.index("</header>")
    assert not is_complete(run, folder)
    # Mended, the same command asks only what is missing, and nothing is said to have failed.
    monkeypatch.setenv("ATTENTEST_TEST_MENDED", "1")
    mended = execute(run, tmp_path / "a", workers=workers)
    assert "failed" not in mended.record
    assert is_complete(run, mended)
    assert mended.findings(mended.challenges[-1]).table.num_rows == 30


def test_a_cell_whose_challenge_fails_is_failed_and_keeps_the_others_findings(tmp_path, monkeypatch):
    run = run_of("uniform", Failing(row=7))
    monkeypatch.setattr("attentest.studies.cell.describe_cell", lambda choices: run)
    job = Job(run.id, "the cell", {}, str(tmp_path))
    with pytest.raises(Exception, match=r"challenge 'failing\(row=7\)': ZeroDivisionError"):
        perform(job, Heard())
    assert RunFolder(tmp_path / run.id).challenges == ["instances", "uniform"]
    assert "failing" in str(failure_of(tmp_path / run.id))


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_batch_answers_at_once_and_keeps_what_was_done(tmp_path, log):
    root = tmp_path / "runs"
    train(run_of("uniform", Noted(0.1, forever_after=4)), root)
    process = child(f"""
        from importlib import import_module
        from pathlib import Path
        from tests.studies.slow import Noted, in_small_batches, run_of
        from attentest.runs.execute import execute
        in_small_batches()
        command = import_module("attentest.cli.main")
        asked = run_of("uniform", Noted(0.1, forever_after=4))
        command.app = lambda **_: execute(asked, Path({str(root)!r}), workers=2)
        command.main()
    """)
    wait_for(log, 6, process)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    said = process.communicate(timeout=60)[1].decode()
    assert time.monotonic() - sent < 20
    assert process.returncode == 130
    assert said.splitlines() == ["attentest: Interrupted; what was done is kept, and the same command resumes there."]
    assert not list(root.rglob("*.part"))
    kept = [Path(path).name for path in root.rglob("*.arrow")]
    assert len(kept) >= 2 * 3, kept
