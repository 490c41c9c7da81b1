"""Ray: a worker, a node, the head or the driver is lost at some moment; the study goes on to the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path
from random import Random

import pytest

from attentest.studies.engines import InProcess
from tests.campaigns.campaign import Campaign, Fault, Unavailable
from tests.studies.cheap_work import files_below, gone_within, heard_from, jobs_in, processes_in_session

#: A study of jobs that take a while, which says when the first begins, and then which cells failed.
DRIVER = """
    import sys
    from pathlib import Path
    from tests.studies.cheap_work import Recorder, cheap_work, jobs_in
    from attentest.errors import AttentestError
    from attentest.studies.engines import RayCluster

    class Loud(Recorder):
        def started(self, job, where):
            print("started", flush=True)

    watch, slow = Loud(), {f"t{i}": {"sleep": 1.5} for i in range(6)}
    try:
        RayCluster(workers=2).run(jobs_in(Path(sys.argv[1]), 6, **slow), cheap_work, watch)
    except AttentestError as error:
        print("ended", error, flush=True)
    print("failed", sorted(job for job, error in watch.errors.items() if error is not None), flush=True)
"""
#: What is lost, and how its processes are known: by what they run, or what they call themselves.
LOST = {"a worker": "ray::_compute", "the node": "/raylet/raylet", "the head": "/gcs/gcs_server", "the driver": ""}
#: Seconds in which the loss comes after the first job began.
WITHIN = 4.0


class RayLoss(Campaign):
    """A cluster of this machine, started for every case."""

    name = "ray"
    promise = "whatever of Ray is lost, no cell counts as failed, the bytes are the same, nothing is left running"
    quick, full = 1, 12
    marks = (pytest.mark.ray, pytest.mark.slow)

    def prepare(self, folder: Path) -> None:
        if find_spec("ray") is None or sys.platform != "linux":
            raise Unavailable("Ray is not installed here, or this is not Linux")
        heard_from(InProcess(), jobs_in(folder, 6))
        self.expected = files_below(folder)

    def case(self, draw: Random, number: int, folder: Path) -> str:
        lost = list(LOST)[number % len(LOST)]
        before = set(Path("/tmp").glob("attentest-ray-*"))
        self._driven(folder, lost, draw.uniform(0, WITHIN))
        out, _ = self._driven(folder, None, 0)
        if "failed []" not in out:
            raise Fault(f"after the loss of {lost}: {out[-600:]}")
        if files_below(folder) != self.expected:
            raise Fault(f"after the loss of {lost}: other bytes")
        until = time.monotonic() + 20
        while (left := set(Path("/tmp").glob("attentest-ray-*")) - before) and time.monotonic() < until:
            time.sleep(0.2)
        if left:
            raise Fault(f"after the loss of {lost}: {left} stay")
        return lost

    def _driven(self, folder: Path, lost: str | None, after: float) -> tuple[str, int]:
        program = [sys.executable, "-c", textwrap.dedent(DRIVER), str(folder)]
        here = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": here, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            program,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env=environment,
        ) as driver:
            assert driver.stdout is not None
            first = driver.stdout.readline()
            if lost is not None:
                time.sleep(after)
                _kill(driver.pid, lost)
            try:
                out, _ = driver.communicate(timeout=240)
            except subprocess.TimeoutExpired as error:
                os.killpg(driver.pid, signal.SIGKILL)
                raise Fault(f"no end after the loss of {lost}") from error
        if lost not in (None, "the driver") and "failed [" in out and "failed []" not in out:
            raise Fault(f"the loss of {lost} counts as the failure of cells: {out[-600:]}")
        if not gone_within(driver.pid, 20):
            raise Fault(f"left running after the loss of {lost}: {processes_in_session(driver.pid)}")
        return first + out, driver.returncode


def _kill(session: int, lost: str) -> None:
    """kill -9 of what is lost."""
    if not LOST[lost]:
        os.kill(session, signal.SIGKILL)
        return
    for process in processes_in_session(session):
        try:
            known = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0].decode()
        except OSError:
            continue
        if LOST[lost] in known:
            os.kill(process, signal.SIGKILL)
            if lost == "a worker":
                return
