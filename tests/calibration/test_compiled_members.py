"""Compiled members: what is audited is what the truth is asked of."""

from __future__ import annotations

import numpy as np
import torch

from attentest.calibration.families.compiled import members
from attentest.data.batches import Encoded
from attentest.store.folder import RunFolder


def test_there_are_members_of_many_mechanisms_each_known_by_its_name():
    every = list(members(quick=False))
    assert len({one.name for one in every}) == len(every) > 40
    assert len({one.mechanism for one in every}) > 15
    assert {one.mechanism for one in members(quick=True)} == {one.mechanism for one in every}


def test_the_model_that_is_audited_is_the_one_that_is_known(tmp_path):
    for name in ("leak", "induction"):
        member = next(one for one in members(quick=False) if one.mechanism == name)
        run, known = member.run(["importance"], 10), member.known(RunFolder(tmp_path), 10)
        split = run.examined()
        with torch.no_grad():
            audited, asked = (
                subject.read(Encoded.of(split, words).batch(np.arange(len(split))))
                for subject, words in ((run.subject.at(run.site), run.vocabulary), (known.subject, known.vocabulary))
            )
        torch.testing.assert_close(audited.logits, asked.logits)
        torch.testing.assert_close(audited.weights, asked.weights)
        assert [list(text.words) for text in known.texts] == split.table["tokens"].to_pylist()
