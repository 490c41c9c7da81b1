"""A cluster of our own: on the loopback alone, behind a token, in a folder of its user; and what its loss means."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.studies.cheap_work import gone_within, processes_in_session

from attentest.errors import InputError, StorageError
from attentest.studies.engines import ray_cluster, ray_connection

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc"),
]

CLUSTER = """
    import json, os, sys
    from attentest.studies.engines.ray_connection import connected
    with connected(None, 1) as ray:
        @ray.remote
        def work():
            return 1
        ray.get(work.remote())
        print(json.dumps({"address": ray.get_runtime_context().gcs_address}), flush=True)
        sys.stdin.read()
"""
#: Ray's own variables are read once a process, so each client is a process.
CLIENT = """
    import sys, ray
    try:
        ray.init(sys.argv[1], log_to_driver=False)
    except Exception as error:
        print("refused", type(error).__name__, error)
    else:
        print("let in")
"""


def python(script: str, *arguments: str, **how: object) -> subprocess.Popen[str]:
    program = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(program, stdout=subprocess.PIPE, text=True, start_new_session=True, **how)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[int, str, dict[str, str]]]:
    """The driver of a cluster of its own: its process, the cluster's address, and the variables that it was given."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["RAY_AUTH_TOKEN"] = "a" * 64
    with python(CLUSTER, stdin=subprocess.PIPE, env=environment) as driver:
        assert driver.stdout is not None
        about = json.loads(driver.stdout.readline())
        yield driver.pid, about["address"], environment
        driver.kill()
    assert gone_within(driver.pid, 20), processes_in_session(driver.pid)


def listening(session: int) -> dict[tuple[int, int], str]:
    """The addresses on which processes of a session listen, by process and port."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                address, port = fields[1].rsplit(":", 1)
                sockets[f"socket:[{fields[9]}]"] = (int(port, 16), address)
    found = {}
    for process in processes_in_session(session):
        for opened in Path(f"/proc/{process}/fd").iterdir():
            link = os.readlink(opened) if opened.is_symlink() else ""
            if link in sockets:
                port, address = sockets[link]
                found[process, port] = address
    return found


def test_it_listens_on_the_loopback_alone(cluster):
    found = listening(cluster[0])
    assert len(found) >= 3
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert set(found.values()) <= loopback


def test_its_folder_is_its_users_alone(cluster):
    folders = list(Path("/tmp").glob("attentest-ray-*"))
    assert folders
    assert {folder.stat().st_mode & 0o777 for folder in folders} == {0o700}


@pytest.mark.parametrize(
    ("mode", "token", "said"),
    [("token", "a" * 64, "let in"), ("token", "b" * 64, "refused"), ("disabled", "", "refused")],
)
def test_nobody_is_let_in_without_its_token(cluster, mode, token, said):
    _, address, environment = cluster
    theirs = {**environment, "RAY_AUTH_MODE": mode, "RAY_AUTH_TOKEN": token, ray_connection.SEVERAL: "0"}
    if not token:
        theirs.pop("RAY_AUTH_TOKEN")
    with python(CLIENT, address, env=theirs, stderr=subprocess.DEVNULL) as client:
        out, _ = client.communicate(timeout=120)
    assert out.startswith(said), out


def test_a_version_without_tokens_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(__version__="2.51.2"))
    with pytest.raises(InputError, match=r"Ray 2\.51\.2 lets in whoever reaches its ports"):
        ray_connection.imported()


LOST = """
    import os, sys, threading
    from pathlib import Path
    from tests.studies.cheap_work import Recorder, cheap_work, jobs_in, processes_in_session
    from attentest.studies.engines import RayCluster

    def kill():
        for process in processes_in_session(os.getpid()):
            if "/raylet/raylet" in os.readlink(f"/proc/{process}/exe"):
                os.kill(process, 9)

    class Watch(Recorder):
        def started(self, job, where):
            threading.Timer(0.2, kill).start()

    watch = Watch()
    try:
        RayCluster(workers=1).run(jobs_in(Path(sys.argv[1]), 3, t0={"sleep": 5}, t1={"sleep": 5}), cheap_work, watch)
    finally:
        print([error for error in watch.errors.values() if error is not None], flush=True)
"""


def test_the_loss_of_the_cluster_is_no_cells_failure(tmp_path):
    with python(LOST, str(tmp_path), stderr=subprocess.PIPE) as driver:
        out, err = driver.communicate(timeout=180)
    assert driver.returncode not in (0, -signal.SIGKILL)
    assert "The Ray cluster is gone" in err
    assert out.splitlines()[-1] == "[]"
    assert gone_within(driver.pid, 20), processes_in_session(driver.pid)


@pytest.mark.parametrize("name", ["../../evil", "/etc/evil", "a/../../evil"])
def test_a_node_writes_no_file_outside_of_the_runs(tmp_path, name):
    outcome = ray_cluster.Outcome(None, "node", "scratch", ((name, 0, ""),))
    job = SimpleNamespace(root=str(tmp_path / "runs"))
    with pytest.raises(StorageError, match="which is no file of a run"):
        ray_cluster.Conductor.fetch(SimpleNamespace(elsewhere={}), job, outcome)
