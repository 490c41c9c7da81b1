"""What a transformer's attention is examined at, and what may be said where little of it lies on words."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.adversary.presentation import adversary_line
from attentest.challenges.agreement.examine import Agreement
from attentest.challenges.agreement.presentation import tokens_line
from attentest.challenges.instances.presentation import held_line
from attentest.challenges.permutation.presentation import permutation_line
from attentest.challenges.uniform.presentation import uniform_line
from attentest.presentation.site import HALF, Said, Site, dependence, freedom, on_words, site_of
from attentest.registry import parameters_of
from attentest.store.findings import Findings, Measure
from attentest.store.summary import Estimate

LAYER = Site("layer 6", "one row of one layer")
WORDS = {"against": "It hardly matters.", "supports": "It matters.", "mixed": "Somewhat."}


def instances(share: float) -> Findings:
    table = pa.table({"id": [str(i) for i in range(40)], "on_words": np.full(40, share)})
    return Findings("instances", (Measure("on_words", "on_words", "mean", ""),), table)


def permutation(change: float) -> Findings:
    table = pa.table({"id": [str(i) for i in range(40)], "median_change": np.full(40, change), "flips": np.zeros(40)})
    names = ("median_change", "flips")
    return Findings("permutation", tuple(Measure(name, name, "mean", "") for name in names), table)


def uniform() -> Findings:
    columns = {"flipped": np.zeros(400, bool), "accuracy": np.ones(400, bool), "accuracy_uniform": np.ones(400, bool)}
    table = pa.table({"id": [str(i) for i in range(400)], **columns})
    return Findings("uniform", tuple(Measure(name, name, "fraction", "") for name in columns), table)


@pytest.mark.parametrize(
    ("fields", "site"),
    [
        ({"model": {"attention": "layer 6", "row": "first"}}, LAYER),
        ({"model": {"attention": "layer 6 head 3", "row": "last"}}, Site("layer 6 head 3", "one row of one head")),
        ({"model": {"attention": "layer 2 row all", "row": "all"}}, Site("layer 2", "all rows of one layer")),
        ({"model": {}, "site": "cross 4.1"}, Site("cross layer 4 head 1", "one head of one layer")),
        ({"model": {"structure": "hierarchical"}, "site": "word"}, None),
        ({"model": {"attention": "additive"}}, None),
    ],
)
def test_the_site_of_a_run(fields: dict, site: Site | None) -> None:
    assert site_of(fields) == site


def test_lines_name_the_site_and_say_that_the_others_stay() -> None:
    line = permutation_line(permutation(0.3), site=LAYER)
    assert line.reading.startswith("Shuffling layer 6's weights moves the prediction")
    assert line.reading.endswith("This is layer 6, one row of one layer; the others stay.")
    assert uniform_line(uniform(), site=LAYER).reading.startswith("Uniform attention at layer 6")
    assert permutation_line(permutation(0.3)).reading.startswith("Shuffling the weights moves the prediction")


def test_what_was_held_is_said_and_nothing_is_concluded_from_a_prediction_that_stays() -> None:
    line = held_line(instances(0.2))
    assert line is not None
    assert line.tone == "context"
    assert "80\u00a0% of this attention lies on no word and was held" in line.reading
    for share, tone in ((HALF - 0.01, "unsettled"), (HALF + 0.01, "against"), (None, "against")):
        given = None if share is None else on_words(instances(share))
        for made in (permutation_line(permutation(0.001), given), uniform_line(uniform(), given)):
            assert made.tone == tone
            assert ("hardly matters which word" in made.reading) <= (tone == "against")
            assert made.reading.startswith("Cannot say: only") == made.held == (tone == "unsettled")
    moved = Estimate(0.3, 0.2, 0.4, 0.1, 100, 0, "")
    assert dependence(WORDS, "change", moved, on_words(instances(0.1))) == Said("supports", "It matters.")


def test_other_models_have_no_such_line() -> None:
    without = Findings("instances", (), instances(0.5).table)
    assert on_words(without) is None
    assert on_words(None) is None
    assert held_line(without) is None


def adversary(ratio: float) -> Findings:
    measures = Adversary().measures
    columns: dict = {measure.column: np.full(40, ratio) for measure in measures}
    columns |= {measure.column: np.ones(40, bool) for measure in measures if measure.statistic == "fraction"}
    about = {"adversarial_probabilities": [[0.5, 0.5]] * 40, "not_judged": pa.nulls(40, pa.string())}
    return Findings("adversary", measures, pa.table(columns | about), parameters_of(Adversary()))


@pytest.mark.parametrize(("ratio", "usual"), [(0.95, "against"), (0.7, "mixed"), (0.2, "supports")])
def test_that_attention_could_be_otherwise_says_nothing_where_little_of_it_lies_on_words(
    ratio: float, usual: str
) -> None:
    whole = adversary_line(adversary(ratio))
    assert whole.tone == usual
    assert "shares of the words" not in whole.reading
    most = held_line(instances(HALF + 0.25))
    little = held_line(instances(HALF - 0.25))
    assert most is not None
    assert little is not None
    among = adversary_line(adversary(ratio), most.estimate)
    assert among.tone == usual
    assert (
        "The difference is between the shares of the words; what lies on no word (25\u00a0%) was held." in among.reading
    )
    small = adversary_line(adversary(ratio), little.estimate)
    assert small.held == (usual != "supports")
    assert small.tone == ("supports" if usual == "supports" else "unsettled")


def test_a_share_that_is_not_given_changes_nothing() -> None:
    assert freedom("mixed", "Some.", None, "x") == Said("mixed", "Some.")


@pytest.mark.parametrize(("captured", "no"), [(0.1, True), (0.6, False)])
def test_in_a_model_of_layers_a_state_is_one_way_of_many(captured: float, no: bool) -> None:
    measures = tuple(m for m in Agreement().measures if m.where.get("pair") == "state_erasure~leave_one_out")
    columns: dict = {m.column: np.full(40, captured) for m in measures}
    columns |= {m.column: np.ones(40, bool) for m in measures if m.statistic == "fraction"}
    about = {"pair": ["state_erasure~leave_one_out"] * 40, "not_judged": pa.nulls(40, pa.string())}
    found = Findings("agreement", measures, pa.table(columns | about))
    one, many = tokens_line(found), tokens_line(found, layered=True)
    assert one is not None
    assert many is not None
    assert one.tone == many.tone
    assert "by other paths" not in one.reading
    assert many.reading.startswith("No: erasing this state" if no else "Only in part: erasing this state")
    assert "the word also reaches the output by other paths." in many.reading
