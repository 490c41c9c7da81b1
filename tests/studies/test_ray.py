from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.studies.cheap_work import (
    Recorder,
    files_below,
    gone_within,
    heard_from,
    jobs_in,
    processes_in_session,
    surroundings_work,
)

from attentest.errors import InputError
from attentest.studies.engines import InProcess, RayCluster
from attentest.studies.engines import ray_cluster as engine_module
from attentest.studies.engines.ray_connection import connected, identified, identity_of

# Looked for, not imported: Ray reads its settings when it is imported, and the fixture sets them.
pytestmark = [pytest.mark.ray, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    root = tmp_path_factory.mktemp("undisturbed")
    heard_from(InProcess(), jobs_in(root, 6))
    return files_below(root)


class When(Recorder):
    """Does something once a job is heard of on a node."""

    def __init__(self, where: str, act) -> None:
        super().__init__()
        self.where, self.act, self.acted = where, act, False

    def started(self, job, where) -> None:
        super().started(job, where)
        if not self.acted and where.startswith(self.where):
            self.acted = True
            self.act(job)


def test_two_nodes_leave_the_same_files_and_failures_stop_nothing(tmp_path, expected, ray_cluster):
    handler = signal.getsignal(signal.SIGTERM)
    told = {"t1": {"refuse": "No such\nthing."}, "t2": {"die": 99}, "t3": {"die": 1}}
    told |= {f"t{i}": {"sleep": 0.6} for i in (0, 4, 5)}
    recorder = heard_from(RayCluster(ray_cluster.address, retries=1), jobs_in(tmp_path, 6, **told)[::-1])
    assert "Its worker died 2 times (WorkerCrashedError)" in recorder.errors["t2"]
    assert recorder.errors | {"t2": None} == {f"t{i}": None for i in range(6)} | {"t1": "No such thing."}
    whole = {name: data for name, data in expected.items() if name.split("/")[1] not in ("t1", "t2")}
    assert {name: data for name, data in files_below(tmp_path).items() if name in whole} == whole
    assert set(recorder.of("started")) == {"127.0.0.2", "127.0.0.3"}
    # t3 died once and is whole, so it was tried again; what a dying worker said last may be lost.
    assert len(recorder.of("started", "t3")) in (1, 2)
    assert sorted(recorder.of("said")) == [f"t{i} is done" for i in (0, 3, 4, 5)]
    assert ("Working", 3, 3) in {moved[:3] for moved in recorder.of("moved", "t5")}
    assert signal.getsignal(signal.SIGTERM) is handler


def test_cells_share_a_gpu_and_see_it_and_no_other(tmp_path, ray_cluster, monkeypatch):
    monkeypatch.setenv("ATTENTEST_DATA", "/somewhere/else")
    jobs = jobs_in(tmp_path, 2)
    with connected(ray_cluster.address) as ray:  # a connection of the caller's own is used, and left as it was
        recorder = heard_from(RayCluster(cpus=0.5, gpus=0.5), jobs, surroundings_work)
        assert ray.is_initialized()
    assert recorder.of("started") == ["127.0.0.3, GPU 0"] * 2
    for job in jobs:
        seen = json.loads((tmp_path / "runs" / job.id / "seen.json").read_text())
        assert seen["CUDA_VISIBLE_DEVICES"] == "0"
        assert seen["ATTENTEST_DATA"] == "/somewhere/else"
        assert seen["OMP_NUM_THREADS"] == "1"
        assert seen["folder"] == os.getcwd()


def test_what_no_node_can_give_is_refused_at_once(tmp_path, ray_cluster):
    with pytest.raises(InputError, match="No node of the Ray cluster has the 1 CPU and 2 GPU"):
        RayCluster(ray_cluster.address, gpus=2.0).run(jobs_in(tmp_path, 1), surroundings_work, Recorder())


def test_ctrl_c_ends_a_study_on_ray_and_its_cells(tmp_path, ray_cluster):
    def interrupt(job) -> None:
        threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()

    slow = {f"t{i}": {"sleep": 60} for i in range(3)}
    with pytest.raises(KeyboardInterrupt):
        RayCluster(ray_cluster.address).run(jobs_in(tmp_path, 3, **slow), surroundings_work, When("", interrupt))


DRIVER = """
    from pathlib import Path
    from tests.studies.cheap_work import Recorder, cheap_work, jobs_in
    from attentest.studies.engines import RayCluster

    class Loud(Recorder):
        def started(self, job, where):
            print(job.id, flush=True)

    slow = {{f"t{{i}}": {{"sleep": {sleep}}} for i in range(6)}}
    RayCluster({address!r}).run(jobs_in(Path({root!r}), 6, **slow), cheap_work, Loud())
"""


def driver(tmp_path: Path, address: str | None, sleep: float) -> subprocess.Popen[str]:
    script = textwrap.dedent(DRIVER.format(address=address, root=str(tmp_path), sleep=sleep))
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_driver_killed_on_a_shared_cluster_stops_its_cells_and_the_study_resumes(tmp_path, expected, ray_cluster):
    with driver(tmp_path, ray_cluster.address, 60) as killed:
        assert killed.stdout.readline().startswith("t")
        killed.kill()
    recorder = heard_from(RayCluster(ray_cluster.address), jobs_in(tmp_path, 6))
    assert set(recorder.errors.values()) == {None}
    assert files_below(tmp_path) == expected


def test_the_jobs_of_a_killed_node_end_on_another_with_the_same_files(tmp_path, expected, ray_cluster):
    # Long enough that a busy machine, which hears late of a start, still kills the node in the middle of a job.
    slow = {f"t{i}": {"sleep": 6} for i in range(6)}
    lost = []

    def kill(job) -> None:
        lost.append(job.id)
        time.sleep(0.5)
        ray_cluster.kill_node()

    recorder = When("127.0.0.3", kill)
    heard_from(RayCluster(ray_cluster.address), jobs_in(tmp_path, 6, **slow), watch=recorder)
    assert set(recorder.errors.values()) == {None}
    assert recorder.of("started", lost[0])[-1] == "127.0.0.2"
    assert files_below(tmp_path) == expected


def test_a_node_without_the_runs_disk_sends_its_files_in_parts(tmp_path, expected, ray_nodes, monkeypatch):
    runs = tmp_path / "mine"
    runs.mkdir()
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", str(runs)], check=False).returncode:
        pytest.skip("no right to give a process a disk of its own")
    monkeypatch.setattr(engine_module, "PART", 20)
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path / "cache"))
    ray_nodes.kill_node()
    ray_nodes.add_node(hide=runs)
    try:
        jobs = jobs_in(runs, 6, t4={"die": 1}, **{f"t{i}": {"sleep": 0.5} for i in (0, 1, 2, 3, 5)})
        recorder = heard_from(RayCluster(ray_nodes.address), jobs)
    finally:
        ray_nodes.kill_node()
    assert set(recorder.errors.values()) == {None}
    assert "127.0.0.3" in recorder.of("started")
    assert files_below(runs) == expected
    scratch = tmp_path / "cache" / "scratch" / (identity_of(runs / "runs") or "")
    assert scratch.is_dir()
    assert files_below(scratch) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")
def test_a_killed_driver_takes_its_own_cluster_along_and_the_study_resumes(tmp_path, expected, monkeypatch):
    before = set(Path("/tmp").glob("attentest-ray-*"))
    with driver(tmp_path, None, 60) as killed:
        assert killed.stdout.readline().startswith("t")
        killed.kill()
    assert gone_within(killed.pid, 20), processes_in_session(killed.pid)
    heard_from(RayCluster(workers=2), jobs_in(tmp_path, 6))
    assert files_below(tmp_path) == expected
    assert set(Path("/tmp").glob("attentest-ray-*")) <= before


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.2:1", "No Ray cluster answers at 127.0.0.2:1"),
        ("127.0.0.2:99999", "No Ray cluster answers at 127.0.0.2:99999"),
        ("ray://127.0.0.2:10001", "driven from a node of the cluster"),
        ("somewhere", "is not HOST:PORT or 'auto'"),
    ],
)
def test_an_address_without_a_cluster_is_named_at_once(tmp_path, address, said):
    began = time.monotonic()
    with pytest.raises(InputError) as raised:
        RayCluster(address).run(jobs_in(tmp_path, 1), surroundings_work, Recorder())
    assert said in str(raised.value)
    assert time.monotonic() - began < 15


def test_a_missing_ray_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"Install 'attentest\[ray\]'"):
        RayCluster().run(jobs_in(tmp_path, 1), surroundings_work, Recorder())


def test_a_device_without_a_share_of_a_gpu_is_refused(tmp_path):
    from dataclasses import replace

    job = replace(jobs_in(tmp_path, 1)[0], device="cuda")
    with pytest.raises(InputError, match=r"gpus=0\.25"):
        RayCluster().run([job], surroundings_work, Recorder())


def test_a_folder_of_runs_keeps_the_name_it_was_given(tmp_path):
    assert identity_of(tmp_path) is None
    assert identified(tmp_path / "runs") == identified(tmp_path / "runs") == identity_of(tmp_path / "runs")
