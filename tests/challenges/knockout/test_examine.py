"""Words whose keys are knocked out, one at a time."""

from __future__ import annotations

import math

import pytest
import torch
from scipy.stats import kendalltau
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.knockout.examine import Knockout
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.copies import copies
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.partial_forward import from_layer
from attentest.models.huggingface.partial_forward.edits import KnockedOut
from attentest.models.huggingface.partial_forward.from_layer import FromLayer
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.networks.classifier import Architecture
from attentest.tasks import DEFAULT

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(5, 1, 6)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def subject_of(family: str, tokenizer=TOKENIZER, vocabulary=VOCABULARY) -> Pretrained:
    language = family in ("t5", "marian", "gpt2-lm")
    more = {"prompt": "x {text} x x"} if family == "gpt2-lm" else {}
    model = tiny(family, size=len(tokenizer))
    return build_pretrained(model, tokenizer, vocabulary, answers=["word1", "word2"] if language else None, **more)


def examined(subject: Pretrained, rows: list[int] | None = None, batch=BATCH) -> Examination:
    some = batch if rows is None else copies(batch, torch.tensor(rows))
    return Examination(subject, some, subject.read(some), 0, SPLIT.table["tokens"].chunk(0))


def literal(subject: Pretrained, row: int, word: int, challenge: Knockout, numbers: list[int]) -> torch.Tensor:
    """The logits of one text without one word's keys, weight by weight."""
    alone = copies(BATCH, torch.tensor([row]))
    owner = subject.pieces.layout(alone).owner[0].tolist()

    def knocking(kind: str):
        def edit(weights, values, allowed):
            new = weights.clone()
            for head in range(weights.shape[1]):
                for query in range(weights.shape[2]):
                    if challenge.own and kind != "cross" and owner[query] == word:
                        continue
                    kept = [key for key in range(weights.shape[3]) if owner[key] != word]
                    left = sum(float(weights[0, head, query, key]) for key in kept)
                    if left <= 1e-15:
                        continue
                    total = float(weights[0, head, query].sum()) if challenge.renormalise else left
                    for key in range(weights.shape[3]):
                        new[0, head, query, key] = weights[0, head, query, key] * total / left if key in kept else 0.0
            return new, values

        return edit

    edits = {
        number: knocking(place.kind)
        for number, place in enumerate(subject.places.places)
        if place.kind != "decoder" and place.number in numbers and challenge.kind in ("all", place.kind or "self")
    }
    return subject.logits(alone, edits)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "challenge", "numbers"),
    [
        ("bert", Knockout(), [1, 2, 3]),
        ("bert", Knockout(layers="last 2", own=True, renormalise=False), [2, 3]),
        ("modernbert-mean", Knockout(layers="first 1"), [1]),
        ("gpt2", Knockout(renormalise=False), [1, 2, 3]),
        ("gpt2-lm", Knockout(layers="2", own=True), [2]),
        ("llama", Knockout(layers="2-3"), [2, 3]),
        ("t5", Knockout(), [1, 2]),
        ("t5", Knockout(kind="cross", layers="last 1"), [2]),
        ("marian", Knockout(kind="encoder", own=True), [1, 2]),
    ],
)
def test_every_word_by_itself_weight_by_weight(family: str, challenge: Knockout, numbers: list[int]) -> None:
    subject = subject_of(family)
    assert challenge.objection(subject, has_rationale=False) is None
    examination = examined(subject)
    for i, row in enumerate(challenge.examine(examination).to_pylist()):
        places = BATCH.mask[i].nonzero()[:, 0].tolist()
        assert len(row["changes"]) == row["tokens"] == len(places)
        own = examination.reading.logits[i].double().softmax(-1)
        after = [literal(subject, i, word, challenge, numbers).double().softmax(-1) for word in places]
        change = [float((one - own).abs().sum() / 2) for one in after]
        assert row["changes"] == pytest.approx(change, abs=2e-6)
        if len(places) < 2:
            assert row["not_judged"] == "fewer than two tokens"
            assert row["tau"] is None
            continue
        weights = examination.weights[i, places].tolist()
        top = max(range(len(places)), key=weights.__getitem__)
        turned = [int(one.argmax()) != int(own.argmax()) for one in after]
        others = [place for place in range(len(places)) if place != top]
        assert row["top_is_most"] == (row["changes"][top] == max(row["changes"]))
        assert row["tau"] == pytest.approx(float(kendalltau(weights, row["changes"]).statistic))
        assert row["change"] == pytest.approx(sum(change) / len(change), abs=2e-6)
        assert row["change_top"] == pytest.approx(change[top], abs=2e-6)
        assert row["change_other"] == pytest.approx(sum(change[o] for o in others) / len(others), abs=2e-6)
        assert row["largest_change"] == max(row["changes"])
        assert row["top_flips"] == turned[top]
        assert row["other_flips"] == pytest.approx(sum(turned[o] for o in others) / len(others))
        assert row["any_flips"] == any(turned)
        assert row["chance"] == 1 / len(places)
        assert row["rows_stayed"] == 0


@pytest.mark.parametrize(
    ("family", "silent"), [("bert", True), ("gpt2", True), ("t5", True), ("modernbert-mean", False)]
)
def test_a_word_without_keys_in_any_layer_speaks_through_its_own_rows_alone(family: str, silent: bool) -> None:
    """It may be any other word of as many pieces; a mean over all rows still has its own."""
    subject = subject_of(family)
    counts = subject.pieces.counts
    text = int(BATCH.text.lengths.argmax())
    alone = copies(BATCH, torch.tensor([text]))
    places = BATCH.mask[text].nonzero()[:, 0]
    for place in places:
        word = alone.text.tokens[0, place]
        alike = [w for w in range(5, len(counts)) if counts[w] == counts[word] and w != int(word)]
        other = copies(BATCH, torch.tensor([text]))
        other.text.tokens[0, place] = alike[int(place) % len(alike)]
        logits = []
        for batch in (alone, other):
            rest = FromLayer.of(subject, batch, 0)
            without = KnockedOut(rest.layout, place[None])
            edits = {
                number: without.edit(crosses=p.kind == "cross")
                for number, p in enumerate(subject.places.places)
                if p.kind != "decoder"
            }
            logits.append(rest(torch.tensor([0]), edits))
        apart = float((logits[0] - logits[1]).abs().max())
        assert (apart < 1e-5) == silent
        assert float((subject.logits(alone) - subject.logits(other)).abs().max()) > 1e-5


@pytest.mark.parametrize("renormalise", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_rows_keep_their_sums_where_they_are_scaled(renormalise: bool, own: bool) -> None:
    subject = subject_of("bert")
    layout = subject.pieces.layout(BATCH)
    word = BATCH.mask.byte().argmax(-1)
    gone = layout.owner == word[:, None]
    width = layout.ids.shape[1]
    weights = torch.rand(len(BATCH), 2, width, width).where(layout.mask[:, None, None], 0.0)
    knocked = KnockedOut(layout, word, own, renormalise)
    new, _ = knocked.edit(crosses=False)(weights, weights, layout.mask[:, None])
    seen = gone[:, None, None] & (gone[:, None, :, None] if own else False)
    assert (new[(gone[:, None, None] & ~seen).expand_as(new)] == 0).all()
    kept = (~gone[:, None, None] | seen).expand_as(new)
    if renormalise:
        torch.testing.assert_close(new.sum(-1), weights.sum(-1))
        ratio = (new / weights).where(kept & (weights > 0), math.nan)
        torch.testing.assert_close(
            ratio.nan_to_num(0).amax(-1), ratio.nan_to_num(math.inf).amin(-1), rtol=1e-5, atol=1e-6
        )
    else:
        assert torch.equal(new[kept], weights[kept])
    assert int(knocked.stayed.sum()) == 0
    assert torch.equal(knocked.rows, 2 * layout.lengths)


def test_a_row_that_sees_nothing_else_stays_and_is_counted() -> None:
    """Without a first symbol the first word of a decoder sees itself alone."""
    tokenizer = tokenizer_of(ends=False)
    subject = subject_of("gpt2", tokenizer)
    layout = subject.pieces.layout(BATCH)
    rows = Knockout().examine(examined(subject)).to_pylist()
    for i, row in enumerate(rows):
        if row["not_judged"] is None:
            first = int((layout.owner[i] == BATCH.mask[i].byte().argmax()).sum())
            assert row["rows_stayed"] == pytest.approx(first / int(layout.lengths[i]) / row["tokens"])
            assert all(math.isfinite(change) for change in row["changes"])
    kept = [row["rows_stayed"] for row in Knockout(own=True).examine(examined(subject)).to_pylist()]
    assert set(kept) <= {0.0, None}


@pytest.mark.parametrize("challenge", [Knockout(), Knockout(layers="last 2", renormalise=False, own=True)])
@pytest.mark.parametrize("family", ["bert", "t5"])
def test_findings_do_not_depend_on_the_batch(challenge: Knockout, family: str, monkeypatch) -> None:
    subject = subject_of(family)
    together = challenge.examine(examined(subject)).to_pylist()
    monkeypatch.setattr(from_layer, "SLOTS", {"cpu": 30})
    for row in (1, 3):
        (alone,) = challenge.examine(examined(subject, [row])).to_pylist()
        beside = together[row]
        assert alone.keys() == beside.keys()
        for name, value in alone.items():
            # A ratio of small differences, so that rounding counts for more.
            near = 1e-4 if name == "captured" else 1e-6
            assert value == (pytest.approx(beside[name], abs=near) if value is not None else None), name


def test_layers_below_the_first_chosen_one_are_not_computed_again() -> None:
    subject = subject_of("t5")
    places = subject.places.places
    cross = [place.layer for place in places if place.kind == "cross"]
    rest = FromLayer.of(subject, BATCH, max(cross))
    assert set(rest.below.extras) == {place.layer for place in places} - {max(cross)}
    logits = rest(torch.arange(len(BATCH)), {})
    torch.testing.assert_close(logits, subject.logits(BATCH))


def test_a_language_model_has_room_for_its_vocabulary(monkeypatch) -> None:
    monkeypatch.setattr(
        "attentest.models.huggingface.partial_forward.from_layer.OUTPUTS", {"cpu": 4 * len(TOKENIZER) * 20}
    )
    width = subject_of("bert").pieces.layout(BATCH).ids.shape[1]
    assert FromLayer.of(subject_of("bert"), BATCH, 0).room == 2048 // width
    spoken = FromLayer.of(subject_of("gpt2-lm"), BATCH, 0)
    assert spoken.outputs == len(TOKENIZER)
    assert spoken.room == 80 // spoken.layout.ids.shape[1]


def test_the_second_text_is_never_knocked_out() -> None:
    tokens = SPLIT.table["tokens"].to_pylist()
    split = Split.of(SPLIT.ids, tokens, [0] * len(SPLIT), second=[text[:3] for text in tokens[::-1]])
    batch = whole(Encoded.of(split, VOCABULARY))
    subject = build_pretrained(tiny("bert", size=len(TOKENIZER)), TOKENIZER, VOCABULARY, pair=True)
    layout = subject.pieces.layout(batch)
    for word in range(int(BATCH.mask.sum(-1).max())):
        gone = KnockedOut(layout, torch.full((len(batch),), word)).gone
        assert not (gone & (layout.other | layout.special)).any()
    found = Knockout().examine(examined(subject, batch=batch))
    assert found["tokens"].to_pylist() == [len(text) for text in tokens]


def test_what_cannot_be_knocked_out_is_said() -> None:
    model, _ = classifier(Architecture(embedding=5), SPLIT)
    assert "Transformers" in str(Knockout().objection(model, has_rationale=False))
    bert, t5 = subject_of("bert"), subject_of("t5")
    assert Knockout(kind="cross").objection(bert, has_rationale=False) == "kind='cross': this model has self attention"
    said = Knockout(kind="self").objection(t5, has_rationale=False)
    assert said == "kind='self': this model has encoder and cross attention"
    for layers in ("4", "first 4", "last 4", "2-4"):
        said = Knockout(layers=layers).objection(bert, has_rationale=False)
        assert said == f"layers={layers!r}: this model has 3 layers"
    assert "2 layers of encoder attention" in str(Knockout(layers="3").objection(t5, has_rationale=False))
    for layers in ("none", "0", "first 0", "3-2", "first", "-1"):
        with pytest.raises(InputError, match="knockout: layers="):
            Knockout(layers=layers)
    with pytest.raises(InputError, match="kind='decoder'"):
        Knockout(kind="decoder")
    with pytest.raises(InputError, match="k=0"):
        Knockout(k=0)
    assert "knockout" not in DEFAULT
    assert CHALLENGES.parse("knockout(layers='first 2', renormalise=False)").layers == "first 2"
    assert "changes" not in Knockout(per_token=False).examine(examined(bert)).column_names


@pytest.mark.slow
def test_an_audit_shows_its_measures(tmp_path) -> None:
    import attentest

    texts = ["word1 word2 word3", "word4 word5", "word7 word8 word9 word1"]
    with torch.enable_grad():
        done = attentest.audit(
            tiny("bert", size=len(TOKENIZER)), TOKENIZER, texts, [0, 1, 0], challenges=["knockout"], runs=tmp_path
        )
    assert "share of decisions that flip without the top word" in done.report.read_text("utf-8")
