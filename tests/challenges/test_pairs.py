"""Every challenge works on pairs through the one seam, or says why not."""

from __future__ import annotations

import pyarrow as pa
import pytest
import torch
from tests.conftest import whole
from tests.support.pairs import made_up_pairs, pair_model

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.parts_of_speech.tagger import MISSING, missing
from attentest.errors import InputError
from attentest.explainers import EXPLAINERS
from attentest.measures.chance import uniforms
from attentest.measures.divergence import total_variation
from attentest.models.capabilities import Layered, Selects
from attentest.models.huggingface.pretrained import Pretrained
from attentest.tasks import DEFAULT

#: What is not asked of classifiers trained here, and why.
WHY_NOT = (
    dict.fromkeys(("bleu", "layers_bleu", "alignment"), "this is for models that write texts")
    | {"layers": f"this is for {Layered.called}", "selection": f"this is for {Selects.called}"}
    | dict.fromkeys(("heads", "knockout", "joint_adversary"), f"this is for {Pretrained.called}")
    | ({"parts_of_speech": MISSING} if missing() else {})
)

#: The searches, as short as still goes from step to step: each has tests of its own at length.
SHORT = {"adversary": "adversary(steps=20)", "fragility": "fragility(sizes=(0.1,), steps=2)"}


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examination(head: str, query: str, attention: str = "additive", classes: int = 3) -> Examination:
    split = made_up_pairs(7, high=6)
    model, encoded = pair_model("bilstm(hidden=6)", attention, head, query, split=split, classes=classes)
    batch = whole(encoded)
    marks = torch.zeros_like(batch.mask)
    marks[batch.mask] = torch.tensor([m for row in split.table["rationale"].to_pylist() for m in row])
    tokens, second = (pa.concat_arrays(split.table[name].chunks) for name in ("tokens", "second"))
    return Examination(model, batch, model.read(batch), 0, tokens, marks, second=second)


@pytest.mark.slow
@pytest.mark.parametrize(("head", "query", "attention", "classes"), [
    ("softmax", "separate", "additive", 3),
    ("joint", "separate", "dot", 2),
    ("joint_tanh", "shared", "additive", 3),
    ("joint", "separate", "random", 3),
    ("sigmoid", "conditional", "additive", 2),
    ("softmax", "aspect", "additive", 3),
])  # fmt: skip
@pytest.mark.parametrize("name", list(CHALLENGES))
def test_every_challenge_answers_for_every_pair_or_says_why_not(name, head, query, attention, classes):
    examined = examination(head, query, attention, classes)
    challenge = CHALLENGES.parse(SHORT.get(name, name))
    why_not = challenge.objection(examined.subject, has_rationale=True)
    assert why_not == WHY_NOT.get(name)
    if why_not is not None:
        return
    examined.companions = dict.fromkeys(challenge.companions, examined.subject)
    table = challenge.examine(examined)
    assert set(table["row"].to_pylist()) == set(range(7))
    missing = {measure.column for measure in challenge.measures} - set(table.column_names)
    # Of people's marks, and of attention on others than words: there are none.
    assert all(column.startswith(("single_", "ceiling_", "on_words")) for column in missing)


def test_the_adversary_is_certified_where_the_head_is_affine_and_searched_where_it_is_not():
    for head, certain in (("softmax", True), ("joint", True), ("joint_tanh", False)):
        found = CHALLENGES.parse("adversary(steps=20)").examine(examination(head, "separate", classes=2))
        judged = [row for row in found.to_pylist() if row["not_judged"] is None]
        assert judged
        assert all((row["upper"] is not None) == certain for row in judged)


@pytest.mark.parametrize("head", ["softmax", "joint_tanh"])
def test_random_weights_equal_a_loop_and_do_not_depend_on_the_batch_around_a_text(head):
    examined = examination(head, "separate")
    challenge = CHALLENGES.parse("random_weights(draws=3)")
    rows = challenge.examine(examined).to_pylist()
    reading, batch, mask = examined.reading, examined.batch, examined.mask
    drawn = 1 - uniforms(batch.keys, 3, mask.shape[1], 0, "random_weights", mask)
    for i, row in enumerate(rows):
        if row["not_judged"] is not None:
            assert int(mask[i].sum()) == 1
            continue
        changes = []
        for k in range(3):
            weights = torch.where(mask, drawn[:, k], 0.0)
            logits = reading.reread((weights / weights.sum(-1, keepdim=True))[:, None])[i, 0].double()
            changes.append(float(total_variation(logits.softmax(-1), examined.probabilities[i])))
        assert row["change"] == pytest.approx(sum(changes) / 3, abs=1e-5)
        alone = batch[torch.tensor([i])]
        part = Examination(examined.subject, alone, examined.subject.read(alone), 0, examined.tokens.slice(i, 1))
        assert challenge.examine(part).to_pylist()[0]["change"] == pytest.approx(row["change"], abs=1e-5)
    with pytest.raises(InputError, match="draws=0"):
        CHALLENGES.parse("random_weights(draws=0)")


def test_instances_keep_the_second_text_and_on_request_its_scores():
    examined = examination("joint", "separate")
    plain = CHALLENGES.parse("instances").examine(examined)
    assert plain["second"].to_pylist() == examined.second.to_pylist()
    table = CHALLENGES.parse("instances(second_explainers=('gradient', 'leave_one_out'))").examine(examined)
    subject, batch = examined.subject.second_text(), examined.batch.swapped()
    literal = EXPLAINERS.parse("leave_one_out").scores(subject, batch, subject.read(batch))
    for i, row in enumerate(table.to_pylist()):
        assert len(row["second_gradient"]) == len(row["second"])
        assert row["second_leave_one_out"] == pytest.approx(literal[i][batch.mask[i]].tolist())


def test_scores_of_a_second_text_need_one():
    from tests.conftest import classifier, made_up_split

    from attentest.models.networks.classifier import Architecture

    single, _ = classifier(Architecture(), made_up_split())
    challenge = CHALLENGES.parse("instances(second_explainers=('gradient',))")
    assert challenge.objection(single, has_rationale=False) == "there is no second text to explain"
    assert set(DEFAULT) <= set(CHALLENGES)
