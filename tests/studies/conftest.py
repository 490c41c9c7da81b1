"""A Ray cluster of two nodes on this machine's loopback, for tests that kill one of them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.studies.cheap_work import gone_within, processes_in_session

HEAD, SECOND = "127.0.0.2", "127.0.0.3"


class RayNodes:
    """A head with one CPU, and a second node with one CPU and what passes for a GPU, each in a session of its own."""

    def __init__(self) -> None:
        # Ray reads the token once per process: all clusters that this process meets must share it.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.folder = Path(tempfile.mkdtemp(prefix="rt-", dir="/tmp"))  # sockets need short paths
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as probe:
            probe.bind((HEAD, 0))
            self.address = f"{HEAD}:{probe.getsockname()[1]}"

    def start(self) -> None:
        """Start both nodes and wait for them."""
        self._start(HEAD, "--head", f"--port={self.address.partition(':')[2]}", "--include-dashboard=false")
        self.add_node()

    def add_node(self, hide: Path | None = None) -> None:
        """Start the second node unless it runs; ``hide`` gives it an empty disk of its own in place of that folder."""
        if SECOND not in self.nodes:
            self._start(SECOND, f"--address={self.address}", "--num-gpus=1", hide=hide)

    def kill_node(self) -> None:
        """kill -9 of every process of the second node, as when its machine loses power."""
        if SECOND in self.nodes:
            self._kill(SECOND)

    def stop(self) -> None:
        """Leave no process and no file."""
        for ip in list(self.nodes):
            self._kill(ip)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, ip: str, *options: str, hide: Path | None = None) -> None:
        ray = Path(sys.executable).with_name("ray")
        log = self.folder / f"{ip}.log"
        command = [str(ray), "start", *options, f"--node-ip-address={ip}", "--num-cpus=1", "--block"]
        command += [f"--temp-dir={self.folder / ip[-1]}", "--object-store-memory=100000000", "--disable-usage-stats"]
        if hide is not None:
            command = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hide), *command]
        with log.open("wb") as out:
            self.nodes[ip] = subprocess.Popen(
                command,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        until = time.monotonic() + 60
        while b"Ray runtime started" not in log.read_bytes():
            if time.monotonic() > until or self.nodes[ip].poll() is not None:
                said = log.read_text()
                self.stop()
                pytest.fail(f"The Ray node {ip} does not start: {said[-2000:]}")
            time.sleep(0.1)

    def _kill(self, ip: str) -> None:
        node = self.nodes.pop(ip)
        while left := processes_in_session(node.pid):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            gone_within(node.pid, 1)
        node.wait()


@pytest.fixture(scope="session")
def ray_nodes() -> Iterator[RayNodes]:
    """The cluster as the last test left it."""
    if find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    if sys.platform != "linux":
        pytest.skip("two nodes on one machine need Linux's loopback addresses")
    nodes = RayNodes()
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture
def ray_cluster(ray_nodes: RayNodes) -> RayNodes:
    """Two live nodes at ``address``; ``kill_node()`` takes the second away, the next test has it again."""
    ray_nodes.add_node()
    return ray_nodes
