"""The adversary of answers, six classes at ε = .05: bracketed where the head is affine, searched where it is not."""

from __future__ import annotations

import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, whole

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.corpora import CORPORA
from attentest.data.vocabulary import Vocabulary
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.models.architecture import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.heads import HEADS
from attentest.store.findings import Findings
from attentest.store.summary import estimate

EPSILON = 0.05


@pytest.fixture(scope="module")
def stories():
    return CORPORA.parse("stories-1(train=60, dev=1, test=12)").load()


def examined(stories, head: str) -> Examination:
    made = Architecture(ENCODERS.parse("bilstm(hidden=6)"), head=HEADS.parse(head), embedding=10, query="separate")
    model, _ = classifier(made, stories["train"], len(stories.classes))
    batch = whole(Encoded.of(stories["test"], Vocabulary.from_split(stories["train"])))
    with torch.no_grad():
        return Examination(model, batch, model.read(batch), 0, pa.concat_arrays(stories["test"].table["tokens"].chunks))


def found(examination: Examination, head: str) -> Findings:
    challenge = CHALLENGES.parse(f"adversary(epsilon={EPSILON}, steps=60)")
    with torch.no_grad():
        table = challenge.examine(examination)
    table = table.append_column("predicted", pa.array(examination.reading.predicted.numpy()))
    return Findings(f"adversary of {head}", challenge.measures, table)


@pytest.mark.parametrize("head", ["joint", "joint_tanh"])
@torch.no_grad()
def test_what_is_found_lies_within_epsilon_and_is_as_far_as_is_said(stories, head):
    examination = examined(stories, head)
    for i, row in enumerate(found(examination, head).table.to_pylist()):
        mask = examination.mask[i]
        weights = torch.zeros(len(mask), dtype=torch.float64)
        weights[mask] = torch.tensor(row["adversarial_attention"], dtype=torch.float64)
        logits = examination.reading.reread(weights.expand(len(examination.mask), 1, -1))[i, 0].double()
        change = float(total_variation(logits.softmax(-1), examination.probabilities[i]))
        assert change <= EPSILON + 1e-5
        assert row["adversarial_change"] == pytest.approx(change, abs=1e-5)
        assert row["lower"] == pytest.approx(float(jensen_shannon(weights, examination.weights[i])), abs=1e-5)
        assert row["lower"] <= row["unconstrained"] + 1e-9


def test_an_affine_head_is_bracketed_and_findings_say_where_the_bounds_meet(stories):
    findings = found(examined(stories, "joint"), "joint")
    for row in findings.table.to_pylist():
        assert row["lower"] <= row["upper"] + 1e-9
        assert row["upper"] <= row["unconstrained"] + 1e-6
        assert row["upper"] - row["lower"] < 0.1
        assert row["certified"] == (row["upper"] - row["lower"] < 0.01)
        assert row["searched_divergence"] is None or row["searched_divergence"] <= row["upper"] + 1e-6
    met = estimate(findings, "certified")
    assert met.judged == len(findings.table)
    assert met.value == sum(findings.table["certified"].to_pylist()) / len(findings.table)
    assert estimate(findings, "upper").judged == len(findings.table)


def test_a_head_that_is_not_affine_is_searched_and_nothing_is_said_to_be_proved(stories):
    findings = found(examined(stories, "joint_tanh"), "joint_tanh")
    assert findings.table["upper"].null_count == len(findings.table)
    assert not any(findings.table["certified"].to_pylist())
    assert estimate(findings, "upper").judged == 0
    assert estimate(findings, "lower").judged == len(findings.table)
