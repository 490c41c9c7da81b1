from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.challenges.faithfulness.test_examine import examination

from attentest.challenges.soft_faithfulness.examine import NARROW, SoftFaithfulness
from attentest.errors import InputError
from attentest.measures.chance import uniforms


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("classes", [2, 3])
def test_soft_erasure_equals_a_loop_over_tokens_and_draws(classes):
    examined = examination(classes, low=2)
    model, batch, draws = examined.subject, examined.batch, 2
    judged = 0
    for row in SoftFaithfulness(("gradient",), draws=draws).examine(examined).to_pylist():
        i = row["row"]
        one, real = batch[i : i + 1], examined.mask[i].nonzero()[:, 0].tolist()
        scores = examined.scores("gradient")[i]
        predicted = int(examined.reading.predicted[i])
        own = examined.probabilities[i, predicted].item()

        def lost(embeddings, one=one, own=own, predicted=predicted):
            p = model.read(one, embeddings=embeddings).logits[0].double().softmax(-1)[predicted].item()
            return max(0.0, own - p)

        nothing = model.embed(one).clone()
        nothing[0, real] = 0.0
        most = lost(nothing)
        assert row["lost_without_any"] == pytest.approx(most, abs=1e-5)
        if most < NARROW:
            assert row["not_judged"] == "the prediction holds without any word"
            continue
        removed, kept = [], []
        for draw in range(draws):
            without, only = model.embed(one).clone(), model.embed(one).clone()
            size = without.shape[-1]
            stream = f"soft_faithfulness/{draw}"
            noise = uniforms(one.keys, 1, len(real) * size, 0, stream)[0, 0].view(len(real), size)
            for t, place in enumerate(real):
                zeroed = noise[t] < scores[place] / scores.max()
                without[0, place, zeroed] = 0.0
                only[0, place, ~zeroed] = 0.0
            removed.append(lost(without))
            kept.append(lost(only))
        assert row["soft_comprehensiveness"] == pytest.approx(np.mean(removed) / most, abs=1e-3)
        assert row["soft_sufficiency"] == pytest.approx(1 - np.mean(kept) / most, abs=1e-3)
        assert row["erased"] == pytest.approx(float(scores.sum() / scores.max()) / len(real), abs=1e-6)
        judged += 1
    assert judged > 3


def test_scores_of_one_erase_every_number_and_scores_of_zero_none():
    examined = examination(low=3, marks=False)
    first = torch.zeros_like(examined.mask).double()
    first[:, 1] = 1.0
    examined._scores["attention"] = examined.mask.double()
    examined._scores["gradient"] = -first
    rows = SoftFaithfulness(("attention", "gradient")).examine(examined).to_pylist()
    for row in rows:
        if row["explainer"] == "gradient":
            assert row["not_judged"] == "no score above zero"
        elif row["not_judged"] is None:
            assert row["soft_comprehensiveness"] == pytest.approx(1.0)
            assert row["soft_sufficiency"] == pytest.approx(1.0)
            assert row["erased"] == pytest.approx(1.0)


def test_shuffled_scores_erase_as_much_elsewhere():
    """A word that alone decides: its own score finds it, the same score on another word does not."""
    examined = examination(low=6, high=9, marks=False)
    effect = examined.scores("leave_one_out")
    best = torch.zeros_like(effect).scatter(-1, effect.argmax(-1, keepdim=True), 1.0)
    examined._scores["attention"] = best
    rows = [r for r in SoftFaithfulness(("attention",)).examine(examined).to_pylist() if r["not_judged"] is None]
    ours, chance = (np.mean([row[f"{kind}soft_comprehensiveness"] for row in rows]) for kind in ("", "random_"))
    assert ours > chance


def test_what_is_found_does_not_depend_on_the_batch_around_an_instance():
    challenge = SoftFaithfulness(("attention", "gradient"))
    together = {(r["row"], r["explainer"]): r for r in challenge.examine(examination(low=2)).to_pylist()}
    for i in (1, 5):
        for row in challenge.examine(examination(low=2, rows=[i])).to_pylist():
            other = together[row["row"], row["explainer"]]
            for name, value in row.items():
                if isinstance(value, float):
                    assert value == pytest.approx(other[name], abs=2e-3), name


@pytest.mark.parametrize(("given", "said"), [({"draws": 0}, "at least 1"), ({"explainers": ()}, "at least one")])
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(InputError, match=said):
        SoftFaithfulness(**given)
