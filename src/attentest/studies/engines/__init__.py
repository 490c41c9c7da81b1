"""Engines: who computes the cells of a study. Reading this table is reading what there is."""

from __future__ import annotations

from typing import Protocol

from attentest.errors import InputError
from attentest.registry import Named, Registry
from attentest.studies.engine import Engine
from attentest.studies.engines.in_process import InProcess
from attentest.studies.engines.processes import Processes
from attentest.studies.engines.ray_cluster import RayCluster

__all__ = ["ENGINES", "InProcess", "NamedEngine", "Processes", "RayCluster", "engine"]


class NamedEngine(Engine, Named, Protocol):
    """An engine with a name."""


ENGINES: Registry[NamedEngine] = Registry(
    "engine",
    {
        "in_process": InProcess,
        "processes": Processes,
        "ray": RayCluster,
    },
)


def engine(name: str = "auto", *, workers: int = 1, address: str | None = None, gpus: float = 0.0) -> NamedEngine:
    """The engine that a few options describe; ``auto`` is Ray for an address, processes for several workers.

    With Ray, one worker means no limit but the cluster's: as many cells at a time as fit.
    """
    if name == "auto":
        name = "ray" if address is not None else "processes" if workers > 1 else "in_process"
    made = ENGINES[name]
    if made is RayCluster:
        return RayCluster(address, workers=workers if workers > 1 else 0, gpus=gpus)
    for option, given in (("an address", address is not None), ("a share of a GPU", gpus > 0)):
        if given:
            raise InputError(f"Engine {name!r} takes no {option.partition(' ')[2]}. Use the engine 'ray' for {option}.")
    if made is InProcess and workers > 1:
        raise InputError(f"Engine {name!r} computes one cell at a time, not {workers}. Use the engine 'processes'.")
    return Processes(workers) if made is Processes else made()
