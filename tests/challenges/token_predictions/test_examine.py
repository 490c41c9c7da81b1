from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
import torch
from tests.challenges.test_altered_weights import examined
from tests.conftest import whole
from tests.support.pairs import made_up_pairs, pair_model

from attentest.challenges.challenge import Examination
from attentest.challenges.token_predictions.examine import BINS, TokenPredictions
from attentest.challenges.token_predictions.presentation import alone_line
from attentest.errors import InputError
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import DEFAULT, THOROUGH


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("classes", [2, 4])
def test_a_token_predicts_what_the_model_does_with_all_weight_on_it(classes):
    examination = examined(classes)
    table = TokenPredictions().examine(examination)
    everything, judged = [], 0
    for i, row in enumerate(table.to_pylist()):
        predicted = int(examination.reading.predicted[i])
        if predicted != int(examination.batch.labels[i]):
            assert row["not_judged"] == "predicted wrongly"
            assert row["total"] is row["mean"] is row["histogram"] is None
            continue
        alone, decides = [], []
        for place in examination.mask[i].nonzero()[:, 0].tolist():
            weights = torch.zeros_like(examination.weights)
            weights[:, place] = 1.0
            logits = examination.reading.reread(weights[:, None])[i, 0].double()
            alone.append(float(logits.softmax(-1)[predicted]))
            decides.append(int(logits.argmax()) == predicted)
        assert row["tokens"] == len(alone)
        assert row["total"] == pytest.approx(sum(alone), abs=1e-5)
        assert row["mean"] == pytest.approx(sum(alone) / len(alone), abs=1e-5)
        assert row["deciding"] == pytest.approx(sum(decides) / len(decides))
        assert row["probability"] == pytest.approx(float(examination.probabilities[i].max()))
        assert row["histogram"] == [sum(int(p * BINS) == place for p in alone) for place in range(BINS)]
        everything += alone
        judged += 1
    assert 3 < judged < len(table)
    found = Findings("token_predictions", TokenPredictions().measures, table)
    assert estimate(found, "per_token").value == pytest.approx(sum(everything) / len(everything), abs=1e-5)
    line = alone_line(found)
    assert (line.tone, line.estimate.judged) == ("context", judged)


def test_heads_that_are_not_affine_are_asked_again_with_each_token():
    assert "token_predictions" not in (*DEFAULT, *THOROUGH)
    split = made_up_pairs()
    model, encoded = pair_model("bilstm(hidden=6)", head="joint_tanh", split=split)
    batch = whole(encoded)
    reading = model.read(batch)
    batch = replace(batch, labels=reading.predicted)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    for i, row in enumerate(TokenPredictions().examine(Examination(model, batch, reading, 0, tokens)).to_pylist()):
        places = reading.mask[i].nonzero()[:, 0].tolist()
        states = torch.stack([reading.states[i, place] for place in places])
        context = reading.states.new_zeros(len(batch), len(places), states.shape[-1])
        context[i] = states
        alone = reading.decode(context)[i].double().softmax(-1)[:, int(reading.predicted[i])]
        assert row["mean"] == pytest.approx(float(alone.mean()), abs=1e-6)


def test_the_same_texts_keep_what_every_token_predicts_whatever_the_seed():
    examination = replace(examined(3), texts=24)
    rows = TokenPredictions(shown=8).examine(examination).to_pylist()
    other = TokenPredictions(shown=8).examine(replace(examination, seed=5)).to_pylist()
    assert [row["words"] for row in rows] == [row["words"] for row in other]
    kept = [(i, row) for i, row in enumerate(rows) if row["alone"] is not None]
    assert 0 < len(kept) < len(rows)
    for i, row in kept:
        assert row["words"] == examination.tokens[i].as_py()
        predicted = int(examination.reading.predicted[i])
        if row["not_judged"] is None:
            assert row["total"] == pytest.approx(sum(every[predicted] for every in row["alone"]))
        assert [sum(every) for every in row["alone"]] == pytest.approx([1.0] * row["tokens"])
    more = TokenPredictions(shown=24).examine(examination)
    assert more["alone"].null_count == 0
    assert TokenPredictions(shown=0).examine(examination)["alone"].null_count == 24
    with pytest.raises(InputError, match="shown=-1 must be at least 0"):
        TokenPredictions(shown=-1)
