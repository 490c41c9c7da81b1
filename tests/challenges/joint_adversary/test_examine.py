"""Other weights at several sites at once, and the search for those that lie farthest."""

from __future__ import annotations

import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges import CHALLENGES
from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.challenge import Examination
from attentest.challenges.joint_adversary.examine import JointAdversary
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.models.copies import copies
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.partial_forward.several_sites import SeveralSites
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.huggingface.site import parse_site
from attentest.models.networks.classifier import Architecture
from attentest.tasks import DEFAULT

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(5, 1, 7)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))
EVERY = torch.arange(len(BATCH))
FAMILIES = ("bert", "modernbert-mean", "gpt2", "llama", "t5", "marian")


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def subject_of(family: str, *, double: bool = False) -> Pretrained:
    model = tiny(family, size=len(TOKENIZER))
    answers = ["word1", "word2"] if family in ("t5", "marian") else None
    return build_pretrained(model.double() if double else model, TOKENIZER, VOCABULARY, answers=answers)


def examined(subject: Pretrained, rows: list[int] | None = None) -> Examination:
    batch = BATCH if rows is None else copies(BATCH, torch.tensor(rows))
    return Examination(subject, batch, subject.read(batch), 0, SPLIT.table["tokens"].chunk(0))


def jointly(subject: Pretrained, *names: str) -> SeveralSites:
    every = names or tuple(place.name for place in subject.places.places if place.kind != "decoder")
    return SeveralSites.of(subject, BATCH, [parse_site(name, subject.places, subject.rows) for name in every])


def drawn(alternatives: int, sites: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.randn(len(BATCH), alternatives, sites, BATCH.mask.shape[1], generator=generator)
    return scores.masked_fill(~BATCH.mask[:, None, None], -torch.inf).softmax(-1)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_own_weights_at_all_sites_reproduce_the_logits(family: str) -> None:
    subject = subject_of(family)
    held = jointly(subject)
    assert held.own.shape[1] == len(held.held) > 1
    torch.testing.assert_close(held(held.own[:, None], EVERY)[:, 0], subject.logits(BATCH), atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(held.seen(held.own[:, None], EVERY)[:, 0], held.own.double(), atol=1e-6, rtol=1e-5)


def test_own_weights_of_heads_and_of_all_rows_reproduce_the_logits() -> None:
    subject = subject_of("bert")
    held = jointly(subject, "layer 1 row all", "layer 2 head 1", "layer 2 head 2 row all", "layer 3 head 2 row 1")
    torch.testing.assert_close(held(held.own[:, None], EVERY)[:, 0], subject.logits(BATCH), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "site"),
    [
        ("bert", "layer 1"),
        ("bert", "layer 3 head 2"),
        ("gpt2", "layer 2 row all"),
        ("llama", "layer 3"),
        ("t5", "cross layer 1"),
    ],
)
def test_at_one_site_it_is_rereading(family: str, site: str) -> None:
    subject = subject_of(family)
    weights = drawn(3, 1)
    again = subject.at(site).read(BATCH).reread(weights[:, :, 0])
    torch.testing.assert_close(jointly(subject, site)(weights, EVERY), again, atol=2e-5, rtol=1e-5)


def test_heads_of_several_layers_weight_by_weight() -> None:
    """Every site gets what was asked for, in the room that words had when the model was read, whatever is below."""
    subject = subject_of("bert")
    held, weights = jointly(subject, "layer 1 head 2", "layer 3 head 1"), drawn(1, 2)
    layout = subject.pieces.layout(BATCH)
    read: dict[int, torch.Tensor] = {}

    def keep(place):
        def edit(own, values, allowed):
            read[place] = own.clone()
            return own, values

        return edit

    subject.logits(BATCH, {place: keep(place) for place in (0, 2)})

    def literal(place, head, number):
        def edit(now, values, allowed):
            new = now.clone()
            for text in range(len(BATCH)):
                own, owner = read[place][text, head, 0], layout.owner[text].tolist()
                room = sum(float(own[slot]) for slot in range(len(owner)) if owner[slot] >= 0)
                for slot, word in enumerate(owner):
                    new[text, head, 0, slot] = own[slot]
                    if word >= 0:
                        pieces = sum(float(own[other]) for other in range(len(owner)) if owner[other] == word)
                        new[text, head, 0, slot] *= weights[text, 0, number, word] * room / pieces
            return new, values

        return edit

    wanted = subject.logits(BATCH, {0: literal(0, 1, 0), 2: literal(2, 0, 1)})
    torch.testing.assert_close(held(weights, EVERY)[:, 0], wanted, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(held.seen(weights, EVERY), weights.double(), atol=1e-6, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "llama", "t5"])
def test_what_is_found_lies_within_epsilon_and_is_as_far_as_is_said(family: str) -> None:
    """With a head for every site the weights that are shown are those that were put there."""
    subject = subject_of(family)
    names = (
        ("encoder layer 1 head 1 row 0", "cross layer 2 head 2")
        if family == "t5"
        else ("layer 1 head 1", "layer 3 head 2")
    )
    challenge = JointAdversary(names, epsilon=0.02, steps=20, k=2)
    examination, held = examined(subject), jointly(subject, *names)
    own = held(held.own[:, None], EVERY).double().softmax(-1)
    rows = challenge.examine(examination).to_pylist()
    for i, row in enumerate(rows):
        if row["not_judged"] is not None:
            assert row["lower"] is None
            continue
        weights = torch.zeros(len(BATCH), 1, 2, BATCH.mask.shape[1])
        weights[i, 0][:, BATCH.mask[i]] = torch.tensor(row["adversarial_attention"]).float().T
        change = total_variation(held(weights, EVERY).double().softmax(-1), own)[i, 0]
        assert float(change) <= 0.02 + 1e-5
        assert row["change"] == pytest.approx(float(change), abs=1e-5)
        apart = jensen_shannon(weights[i, 0].double(), held.own[i].double())
        assert row["divergences"] == pytest.approx(apart.tolist(), abs=1e-5)
        assert row["lower"] == pytest.approx(float(apart.mean()), abs=1e-5)
        assert row["least"] == pytest.approx(float(apart.min()), abs=1e-5)
        assert row["far"] == (row["least"] > 0.5)
        assert row["lower"] <= row["unconstrained"] + 1e-6
        assert row["ratio"] == pytest.approx(row["lower"] / row["unconstrained"])
        assert row["sites"] == 2
        assert 0 < row["on_words"] <= 1
        tops = weights[i, 0].argmax(-1) != held.own[i].argmax(-1)
        assert row["top_changed"] == pytest.approx(float(tops.double().mean()))
        assert row["decision_kept"] is True or row["change"] > 0
    assert any(row["lower"] is not None and row["lower"] > 0.2 for row in rows)


@pytest.mark.slow
def test_the_search_goes_farther_than_the_way_to_the_least_word() -> None:
    subject = subject_of("llama")
    reached = []
    for steps in (0, 20):
        found = JointAdversary(steps=steps, k=2).examine(examined(subject))
        reached.append([value for value in found["lower"].to_pylist() if value is not None])
        assert max(value for value in found["change"].to_pylist() if value is not None) <= 0.01
    assert all(more >= less for less, more in zip(*reached, strict=True))
    assert sum(reached[1]) > 2 * sum(reached[0])


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_findings_do_not_depend_on_the_batch(family: str, monkeypatch) -> None:
    subject, challenge = subject_of(family, double=True), JointAdversary(steps=3, k=2)
    together = challenge.examine(examined(subject)).to_pylist()
    monkeypatch.setattr("attentest.models.huggingface.partial_forward.several_sites.BYTES", {"cpu": 1})
    apart = challenge.examine(examined(subject, [4, 0])).to_pylist()
    (alone,) = challenge.examine(examined(subject, [3])).to_pylist()
    for found, beside in ((apart[0], together[4]), (apart[1], together[0]), (alone, together[3])):
        for name, value in found.items():
            if name == "adversarial_attention":
                assert [list(one) for one in value] == [pytest.approx(one, abs=1e-5) for one in beside[name]]
            else:
                assert value == (pytest.approx(beside[name], abs=1e-5) if value is not None else None), name


@pytest.mark.slow
def test_the_adversary_of_one_head_in_a_lower_layer_climbs_by_gradients() -> None:
    subject = subject_of("bert").at("layer 1 head 2")
    examination, alone = examined(subject), JointAdversary(("layer 1 head 2",), steps=60, rate=0.1)
    first, last = (
        Adversary(steps=steps, rate=0.1, k=2, penalty=20.0).examine(examination)["lower"].to_pylist()
        for steps in (1, 60)
    )
    judged = [place for place, value in enumerate(last) if value is not None]
    assert sum(last[place] for place in judged) > sum(first[place] for place in judged)
    joint = alone.examine(examination)["lower"].to_pylist()
    assert sum(joint[place] for place in judged) >= sum(last[place] for place in judged) - 1e-6


@pytest.mark.slow
def test_what_cannot_be_searched_is_said() -> None:
    model, _ = classifier(Architecture(embedding=5), SPLIT)
    assert "Transformers" in str(JointAdversary().objection(model, has_rationale=False))
    bert = subject_of("bert")
    assert JointAdversary(("layer 1 head 1", "layer 1 head 2")).objection(bert, has_rationale=False) is None
    assert "none of this model's" in str(JointAdversary(("layer 9",)).objection(bert, has_rationale=False))
    said = JointAdversary(("layer 1", "layer 1 head 2")).objection(bert, has_rationale=False)
    assert said == "sites 'layer 1' and 'layer 1 head 2' are of the same attention: name each head once"
    for wrong in ({"epsilon": 0.0}, {"k": 0}, {"steps": -1}):
        with pytest.raises(InputError, match="joint_adversary: "):
            JointAdversary(**wrong)
    assert "joint_adversary" not in DEFAULT
    assert CHALLENGES.parse("joint_adversary(sites=('layer 1', 'layer 3'))").sites == ("layer 1", "layer 3")
    found = JointAdversary(steps=1, k=1, per_token=False).examine(examined(bert))
    assert "adversarial_attention" not in found.column_names


@pytest.mark.slow
def test_an_audit_shows_its_measures(tmp_path) -> None:
    import attentest

    texts = ["word1 word2 word3", "word4 word5", "word7 word8 word9 word1"]
    with torch.enable_grad():
        done = attentest.audit(
            tiny("bert", size=len(TOKENIZER)),
            TOKENIZER,
            texts,
            [0, 1, 0],
            challenges=["joint_adversary(steps=5)"],
            runs=tmp_path,
        )
    assert "share where every site is farther than 0.5: at least" in done.report.read_text("utf-8")
