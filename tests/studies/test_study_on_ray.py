"""A real study on a real cluster of two nodes: the same bytes as one process, also when a node dies in its midst."""

from __future__ import annotations

import time
from importlib.util import find_spec

import pytest
from tests.studies.made_up_study import Silence, bytes_of_all, made_up_study

from attentest.runs import model as stages
from attentest.studies.conduct import conduct
from attentest.studies.engines import InProcess, RayCluster

pytestmark = [pytest.mark.ray, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    conduct(made_up_study(folder), folder / "runs", InProcess(), Silence())
    return bytes_of_all(folder / "runs")


class Watching(Silence):
    """Notes where cells run, and does something once one of them has come some way on a node."""

    def __init__(self, node: str = "", act=None) -> None:
        super().__init__()
        self.places: dict[str, list[str]] = {}
        self.node, self.act = node, act

    def started(self, job, where) -> None:
        self.places.setdefault(job.label, []).append(where)

    def moved(self, job, stage, done, total, figures) -> None:
        super().moved(job, stage, done, total, figures)
        if self.act is not None and self.places[job.label][-1].startswith(self.node):
            act, self.act = self.act, None
            act()


def test_two_nodes_give_the_same_bytes_as_one_process(undisturbed, tmp_path, ray_cluster):
    watch = Watching()
    done = conduct(made_up_study(tmp_path), tmp_path / "runs", RayCluster(ray_cluster.address), watch)
    assert done.done == 4
    assert set(watch.errors.values()) == {None}
    assert {where for places in watch.places.values() for where in places} == {"127.0.0.2", "127.0.0.3"}
    assert watch.stages >= {"Training", "Examining"}
    assert bytes_of_all(tmp_path / "runs") == undisturbed


def test_a_node_killed_in_mid_study_changes_no_byte(undisturbed, tmp_path, ray_cluster, monkeypatch):
    monkeypatch.setattr(stages, "CHECKPOINT_SECONDS", 0.0)

    def kill() -> None:
        time.sleep(0.2)
        ray_cluster.kill_node()

    watch = Watching("127.0.0.3", kill)
    done = conduct(made_up_study(tmp_path), tmp_path / "runs", RayCluster(ray_cluster.address), watch)
    assert watch.act is None, "the node was never killed"
    assert done.done == 4
    assert set(watch.errors.values()) == {None}
    assert bytes_of_all(tmp_path / "runs") == undisturbed
