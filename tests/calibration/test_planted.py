"""Members over real texts: which there are, and that a model which looks at planted words is known to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from attentest.calibration.families.planted import HandBuiltOverReal, TrainedOnPlanted, members
from attentest.calibration.truth import truth_of
from attentest.errors import InputError
from attentest.runs.execute import execute

ALL = list(members(quick=False))


def test_there_are_members_of_every_corpus_and_shortcut():
    worlds = Counter(one.world for one in ALL if isinstance(one, TrainedOnPlanted))
    assert len(worlds) == 12
    assert min(worlds.values()) >= 2
    assert 36 <= len(ALL) <= 60
    assert len({one.name for one in ALL}) == len(ALL)
    assert not list(members(quick=True))


@pytest.mark.parametrize(
    ("mechanism", "low", "high"),
    [("own / deciding", 0.9, 1.0), ("own / others", -1.0, 0.1), ("gather / last", -1, 0.2)],
)
@pytest.mark.parametrize("kind", ["token", "context", "pair"])
def test_what_a_model_written_by_hand_uses_in_real_texts_is_known(mechanism, low, high, kind, tmp_path):
    found = next(one for one in ALL if one.mechanism == mechanism)
    member = HandBuiltOverReal(mechanism, f"planted-sst(kind='{kind}')", found.dial, found.value)
    try:
        folder = execute(member.run(["rationale"], 40), tmp_path)
    except InputError as error:
        pytest.skip(str(error))
    known = member.known(folder, 40)
    assert np.mean(folder.findings("instances").table["correct"].to_numpy(zero_copy_only=False)) >= 0.9
    assert low <= truth_of(known.subject, known.texts[:8], known.vocabulary).means()["words"] <= high + 1e-9
