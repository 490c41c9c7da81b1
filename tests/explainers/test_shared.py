"""Work that explainers share is done once, and changes no score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.explainers.small_models import OF_ANY_MODEL

from attentest.challenges.challenge import Examination
from attentest.explainers import EXPLAINERS, Attribution, Explainer, shared
from attentest.explainers.gradient.gradient import OfSlope
from attentest.explainers.shared import Shared
from attentest.models.architecture import Architecture
from attentest.models.parts.encoders import ENCODERS

SHARING = [name for name in OF_ANY_MODEL if name != "captum"]


def made():
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), made_up_split())
    batch = whole(encoded)
    with torch.no_grad():
        return model, batch, model.read(batch)


@pytest.mark.parametrize("name", SHARING)
def test_what_others_found_out_before_changes_nothing(name):
    model, batch, reading = made()
    method, other = EXPLAINERS.parse(name), 1 - reading.predicted
    for target in (None, other):
        common = Shared(model, batch, reading, target)
        for before in ("gradient_norm", "gradient", "leave_one_out"):
            EXPLAINERS.parse(before).explain_sharing(common)
        assert torch.equal(method.explain_sharing(common).scores, method.scores(model, batch, reading, target))


@dataclass(frozen=True)
class Largest(OfSlope):
    """A method that a user wrote: the largest component of the slope."""

    name: ClassVar[str] = "largest"
    path: str = "full"

    def of_slope(self, slope, embeddings):
        return slope.abs().amax(-1)


@dataclass(frozen=True)
class Ones(Explainer):
    """A method that a user wrote: it knows nothing of sharing."""

    name: ClassVar[str] = "ones"

    def explain(self, subject, batch, reading, target=None):
        return Attribution(batch.mask.float(), {"length": batch.mask.float().sum(-1)})


def test_a_method_that_a_user_adds_takes_part_in_the_sharing_if_it_wants(monkeypatch):
    for method in (Largest, Ones):
        monkeypatch.setitem(EXPLAINERS.own, method.name, method)
    paths, slopes = [], shared.slopes
    monkeypatch.setattr(shared, "slopes", lambda *given: paths.append(given[-1]) or slopes(*given))
    model, batch, reading = made()
    examined = Examination(model, batch, reading, 0, pa.array([[]] * len(batch), pa.list_(pa.string())))
    found = {name: examined.scores(name) for name in ("gradient_norm", "largest", "gradient_x_input", "ones")}
    assert paths == ["full"]
    assert torch.all(found["largest"] <= found["gradient_norm"])
    assert torch.equal(found["largest"], Largest().scores(model, batch, reading).double())
    assert torch.equal(found["ones"], batch.mask.double())
    assert torch.equal(examined.certificate("ones")["length"], batch.mask.sum(-1).double())


def test_two_paths_are_two_slopes():
    common = Shared(*made())
    (full, embeddings), (detached, same) = common.slope("full"), common.slope("detached")
    assert torch.equal(embeddings, same)
    assert not torch.equal(full, detached)
    assert common.slope("full")[0] is full
