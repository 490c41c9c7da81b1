"""Reach a Ray cluster, quietly: start one on this machine's loopback, or join one; leave nothing behind."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.store.atomic import make_folder, write_text
from attentest.studies.engines import ray_guard

__all__ = ["connected", "identified", "identity_of", "imported"]

#: Holds a random name by which a worker recognises the driver's folder of runs on a shared disk.
IDENTITY = ".identity"
#: Ray moves only small things for us: events, and files in parts of 64 MiB from nodes without the runs' disk.
OBJECT_STORE = 256 * 2**20
#: The first version that has tokens.
OLDEST = (2, 52)
#: Ray's variable that says whether there may be clusters of several machines; the name is older than what it does.
SEVERAL = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


@contextlib.contextmanager
def connected(address: str | None, cpus: float = 0) -> Iterator[Any]:
    """Ray's module, connected; a connection that was there before is used and stays.

    Without an address a cluster of ``cpus`` CPUs (0: all there are) runs on this machine until the block ends.
    """
    _quiet()
    local = address in (None, "local")
    if local:
        _with_a_token()
    with _of_one_machine() if local else contextlib.nullcontext(False) as alone:
        ray = imported()
        if ray.is_initialized():
            yield ray
            return
    common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with _signals_kept(), _guarded() if local else contextlib.nullcontext() as folder:
        try:
            if folder is not None:
                with _of_one_machine():
                    _start(ray, folder, cpus, common, alone=alone)
            else:
                _join(ray, str(address), common)
            yield ray
        finally:
            ray.shutdown()


@contextlib.contextmanager
def _guarded() -> Iterator[str]:
    """A folder for a cluster of our own; the folder and every process started inside are gone afterwards."""
    # Sockets lie in it, and their paths must be short.
    folder = tempfile.mkdtemp(prefix="attentest-ray-", dir="/tmp" if os.access("/tmp", os.W_OK) else None)
    program = [sys.executable, "-I", ray_guard.__file__, folder, str(os.getpid())]
    with subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True):  # leaving closes its input
        yield f"{folder}/r"  # Ray opens its own folder to everybody; the one around it is ours alone


def _quiet() -> None:
    """No statistics sent, and none of Ray's own words between ours; read when Ray is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")


def _with_a_token() -> None:
    """A cluster of our own lets nobody in but us. Ray reads both variables once per process, so they stay."""
    if "ray" not in sys.modules:  # where it was imported before, it is too late to choose: Ray then chooses by itself
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


@contextlib.contextmanager
def _of_one_machine() -> Iterator[bool]:
    """Ray as it is where it makes no clusters of several machines: it listens on 127.0.0.1 and nowhere else.

    Ray reads the variable when it is imported, and in each of its processes. Yields whether there was time for that.
    """
    before, early = os.environ.get(SEVERAL), "ray" not in sys.modules
    os.environ[SEVERAL] = "0"
    try:
        yield early or bool(_constants().ENABLE_RAY_CLUSTER is False)
    finally:
        if before is None:
            os.environ.pop(SEVERAL)
        else:
            os.environ[SEVERAL] = before


def _constants() -> Any:
    return importlib.import_module("ray._private.ray_constants")


def imported() -> Any:
    """Ray's module, of a version that has tokens."""
    try:
        import ray
    except ImportError as error:
        raise InputError("Engine 'ray' needs Ray. Install 'attentest[ray]', or use the engine 'processes'.") from error
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        raise InputError(
            f"Ray {ray.__version__} lets in whoever reaches its ports: tokens came with {'.'.join(map(str, OLDEST))}. "
            "Install 'attentest[ray]' again, or use the engine 'processes'."
        )
    return ray


def _start(ray: Any, folder: str, cpus: float, common: dict[str, Any], *, alone: bool) -> None:
    """Start a cluster on the loopback.

    Where it is not ``alone`` on 127.0.0.1, Ray takes that for the network's address; another loopback address it leaves
    alone, and Linux has them all. Its ports are then open on all interfaces, and the token is what keeps others out.
    """
    loopback = {"_node_ip_address": "127.0.0.2"} if sys.platform == "linux" and not alone else {}
    size = {"num_cpus": max(1, round(cpus))} if cpus else {}
    try:
        ray.init(
            "local",
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _temp_dir=folder,
            **common,
            **loopback,
            **size,
        )
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        said = " ".join(str(error).split())[:300]
        raise InputError(f"Ray does not start on this machine: {said}. Use the engine 'processes'.") from error


def _join(ray: Any, address: str, common: dict[str, Any]) -> None:
    """Join a running cluster, or say at once that there is none: Ray itself tries for many minutes."""
    if "://" in address:
        raise InputError(
            f"Ray address {address!r}: a study is driven from a node of the cluster. Start it there, with HOST:PORT."
        )
    host, colon, port = address.rpartition(":")
    if address != "auto" and not (colon and host and port.isdigit()):
        raise InputError(f"Ray address {address!r} is not HOST:PORT or 'auto'. 'ray start --head' prints it.")
    help_ = "Start one with 'ray start --head', or leave the address out for one on this machine."
    extra: dict[str, Any] = {}
    if address != "auto":
        try:
            with socket.create_connection((host, int(port)), timeout=10):
                pass
        except (OSError, OverflowError) as error:
            raise InputError(f"No Ray cluster answers at {address} ({error}). {help_}") from error
        if host.startswith("127.") and host != "127.0.0.1":
            extra["_node_ip_address"] = host
    try:
        ray.init(address, **common, **extra)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        said = " ".join(f"{error} {error.__cause__ or ''}".split())
        if "AuthToken" in said or isinstance(error, getattr(ray.exceptions, "AuthenticationError", ())):
            said, help_ = "it asks for its token", "Set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as on its nodes."
        raise InputError(f"Cannot join the Ray cluster at {address}: {said[:300]}. {help_}") from error


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    """Ray takes over SIGTERM; afterwards it is as it was."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def identity_of(root: Path) -> str | None:
    """The random name kept in a folder of runs; two machines that read the same name see the same disk."""
    with contextlib.suppress(OSError):
        return (root / IDENTITY).read_text(encoding="ascii")
    return None


def identified(root: Path) -> str:
    """The folder's name, given to it now unless it has one."""
    make_folder(root)
    if not (root / IDENTITY).is_file():
        write_text(root / IDENTITY, secrets.token_hex(16))
    return identity_of(root) or ""
