from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
import torch
from tests.studies.cheap_work import (
    chatty_work,
    files_below,
    gone_within,
    heard_from,
    jobs_in,
    processes_in_session,
)

from attentest.errors import InputError, UnknownName
from attentest.studies.engines import ENGINES, InProcess, Processes, RayCluster, engine

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    """What six jobs leave when nothing disturbs them."""
    root = tmp_path_factory.mktemp("undisturbed")
    heard_from(InProcess(), jobs_in(root, 6))
    files = files_below(root)
    assert len(files) == 24
    return files


def driver(tmp_path: Path, body: str) -> subprocess.Popen[str]:
    """A driver in a session of its own, so that what it leaves behind can be found."""
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(body))
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


DRIVER = """
    import sys
    from pathlib import Path
    from tests.studies.cheap_work import Recorder, cheap_work, jobs_in
    from attentest.studies.engines import Processes

    class Loud(Recorder):
        def started(self, job, where):
            print(job.id, flush=True)

    if __name__ == "__main__":
        slow = {{f"t{{i}}": {{"sleep": {sleep}}} for i in range(6)}}
        Processes(2).run(jobs_in(Path({root!r}), 6, **slow), cheap_work, Loud())
"""


@pytest.mark.slow
def test_processes_leave_the_same_files_whatever_their_number_and_the_order(tmp_path, expected):
    recorder = heard_from(Processes(3), jobs_in(tmp_path, 6)[::-1])
    assert files_below(tmp_path) == expected
    assert set(recorder.errors.values()) == {None}
    assert set(recorder.of("started")) <= {f"worker {i + 1}" for i in range(3)}


def test_every_cell_computes_on_one_thread_and_the_driver_keeps_its_own(tmp_path, expected):
    torch.set_num_threads(2)
    try:
        heard_from(InProcess(), jobs_in(tmp_path, 6))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    assert files_below(tmp_path) == expected
    assert b'"threads": 1' in expected["runs/t0/run.json"]


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [InProcess(), Processes(1)], ids=["in_process", "processes"])
def test_a_failed_job_gives_one_line_and_stops_nothing(tmp_path, expected, chosen):
    jobs = jobs_in(tmp_path, 6, t1={"refuse": "No such\nthing."}, t3={"fail": "told\nto"})
    recorder = heard_from(chosen, jobs)
    assert recorder.errors == {f"t{i}": None for i in range(6)} | {"t1": "No such thing.", "t3": "ValueError: told to"}
    whole = {name: data for name, data in expected.items() if name.split("/")[1] not in ("t1", "t3")}
    assert {name: data for name, data in files_below(tmp_path).items() if name in whole} == whole


def test_a_job_that_leaves_the_process_fails_and_the_study_goes_on(tmp_path):
    assert heard_from(InProcess(), jobs_in(tmp_path, 3, t1={"exit": 3})).errors == {
        "t0": None,
        "t1": "SystemExit: 3",
        "t2": None,
    }


@pytest.mark.slow
def test_the_job_of_a_killed_worker_is_tried_again_and_ends_the_same(tmp_path, expected):
    recorder = heard_from(Processes(2), jobs_in(tmp_path, 6, t3={"die": 1}))
    assert set(recorder.errors.values()) == {None}
    assert [len(recorder.of("started", f"t{i}")) for i in range(6)] == [1, 1, 1, 2, 1, 1]
    assert files_below(tmp_path) == expected


@pytest.mark.slow
def test_a_job_that_kills_every_worker_ends_with_their_exit_code_and_the_others_end_well(tmp_path):
    recorder = heard_from(Processes(2, retries=1), jobs_in(tmp_path, 4, t1={"die": 99}, t2={"exit": 7}))
    assert recorder.errors["t0"] is recorder.errors["t3"] is None
    assert "died 2 times, last with exit code -9 (SIGKILL)" in recorder.errors["t1"]
    assert "exit code 7" in recorder.errors["t2"]
    assert len(recorder.of("started", "t1")) == 2


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [InProcess(), Processes(1)], ids=["in_process", "processes"])
def test_progress_comes_ten_times_a_second_and_every_line_of_it_in_order(tmp_path, chosen):
    recorder = heard_from(chosen, jobs_in(tmp_path, 1), chatty_work)
    counted = [done for _, done, _, _ in recorder.of("moved")]
    assert 2 <= len(counted) <= 6
    assert counted == sorted(counted)
    assert recorder.of("said") == [f"line {i}" for i in range(20)]


def test_a_stage_keeps_its_latest_figures(tmp_path):
    recorder = heard_from(InProcess(), jobs_in(tmp_path, 1, t0={"sleep": 0.6}))
    assert recorder.of("moved")[0] == ("Working", 0, 3, {})
    assert recorder.of("moved")[-1] == ("Working", 3, 3, {"step": 2, "loss": 1 / 3})


def test_ctrl_c_passes_through_in_process(tmp_path):
    def interrupted(job, progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InProcess().run(jobs_in(tmp_path, 2), interrupted, heard_from(InProcess(), []))


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_a_killed_driver_leaves_no_process_and_the_study_resumes(tmp_path, expected, delay):
    body = DRIVER.format(sleep=1, root=str(tmp_path))
    with driver(tmp_path, body) as killed:
        if delay:
            killed.stdout.readline()
        time.sleep(delay)
        killed.kill()
    assert gone_within(killed.pid, 20), processes_in_session(killed.pid)
    heard_from(InProcess(), jobs_in(tmp_path, 6))
    assert {n: d for n, d in files_below(tmp_path).items() if n != "driver.py"} == expected


@pytest.mark.slow
@LINUX
def test_ctrl_c_stops_the_workers_and_reaches_the_caller_alone(tmp_path):
    with driver(tmp_path, DRIVER.format(sleep=60, root=str(tmp_path))) as interrupted:
        interrupted.stdout.readline()
        began = time.monotonic()
        os.killpg(interrupted.pid, signal.SIGINT)  # as a terminal does: to the driver and its workers alike
        _, said = interrupted.communicate(timeout=20)
    assert time.monotonic() - began < 19
    assert interrupted.returncode == -signal.SIGINT
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1
    assert gone_within(interrupted.pid, 5), processes_in_session(interrupted.pid)


@pytest.mark.slow
@LINUX
@pytest.mark.parametrize("delay", [0.1, 0.8])
def test_ctrl_c_while_workers_import_is_answered_by_the_caller_alone(tmp_path, delay):
    body = DRIVER.format(sleep=60, root=str(tmp_path)).replace(
        "Processes(2)", 'print("up", flush=True)\n        Processes(2)'
    )
    with driver(tmp_path, body) as interrupted:
        assert interrupted.stdout.readline() == "up\n"
        time.sleep(delay)
        os.killpg(interrupted.pid, signal.SIGINT)
        _, said = interrupted.communicate(timeout=20)
    assert interrupted.returncode == -signal.SIGINT
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1
    assert gone_within(interrupted.pid, 5), processes_in_session(interrupted.pid)


@pytest.mark.slow
@LINUX
def test_no_worker_outlives_a_study(tmp_path):
    with driver(tmp_path, DRIVER.format(sleep=0, root=str(tmp_path)) + "        sys.stdin.read()\n") as idle:
        for _ in range(6):
            idle.stdout.readline()
        until = time.monotonic() + 10
        # Beside the driver, Python's own tracker of shared resources stays until the driver ends.
        while len(processes_in_session(idle.pid)) > 2 and time.monotonic() < until:
            time.sleep(0.05)
        left = processes_in_session(idle.pid)
        idle.kill()
    assert len(left) <= 2


@pytest.mark.slow
def test_a_script_without_a_guard_is_told_to_have_one(tmp_path):
    body = f"""
        from pathlib import Path
        from tests.studies.cheap_work import Recorder, cheap_work, jobs_in
        from attentest.studies.engines import Processes
        Processes(1).run(jobs_in(Path({str(tmp_path)!r}), 1), cheap_work, Recorder())
    """
    with driver(tmp_path, body) as failing:
        _, said = failing.communicate(timeout=60)
    assert failing.returncode == 1
    assert "InputError: Worker processes cannot start here" in said
    assert '__name__ == "__main__"' in said


def test_no_jobs_is_no_work(tmp_path):
    for chosen in (InProcess(), Processes(2), RayCluster()):
        assert heard_from(chosen, []).heard == []


def test_options_choose_the_engine():
    assert engine() == InProcess()
    assert engine(workers=3) == Processes(3)
    assert engine("processes") == Processes(1)
    assert engine(address="127.0.0.2:6379", gpus=0.25) == RayCluster("127.0.0.2:6379", gpus=0.25)
    assert engine("ray", workers=2) == RayCluster(workers=2)
    assert ENGINES.parse("processes(workers=4)") == Processes(4)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("rya", {}, "No engine is called 'rya'. Did you mean 'ray'?"),
        ("processes", {"address": "10.0.0.1:6379"}, "Engine 'processes' takes no address"),
        ("in_process", {"gpus": 0.5}, "Engine 'in_process' takes no share of a GPU"),
        ("in_process", {"workers": 2}, "one cell at a time, not 2"),
        ("processes", {"workers": -1}, "-1 workers"),
        ("ray", {"gpus": 1.5}, "gpus=1.5: above one"),
        ("ray", {"gpus": -1.0}, "gpus=-1.0"),
    ],
)
def test_options_that_do_not_fit_are_named(name, options, said):
    with pytest.raises((InputError, UnknownName)) as raised:
        engine(name, **options)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
