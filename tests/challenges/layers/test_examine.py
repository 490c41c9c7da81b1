"""Layers and heads of transformers replaced."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.heads.examine import Heads
from attentest.challenges.layers.examine import Layers
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.copies import copies
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.partial_forward.edits import replacing
from attentest.models.networks.classifier import Architecture
from attentest.models.replaced import REPLACEMENTS, Replacement

TOKENIZER = tokenizer_of()
SPLIT = made_up_split(6, 1, 7)
VOCABULARY = Vocabulary.from_split(SPLIT)
BATCH = whole(Encoded.of(SPLIT, VOCABULARY))


def examined(family: str, rows: list[int] | None = None) -> Examination:
    answers = ["word1", "word2"] if family in ("t5", "marian", "gpt2-lm") else None
    subject = build_pretrained(tiny(family, size=len(TOKENIZER)), TOKENIZER, VOCABULARY, answers=answers)
    batch = BATCH if rows is None else copies(BATCH, torch.tensor(rows))
    with torch.no_grad():
        reading = subject.read(batch)
    return Examination(subject, batch, reading, 0, SPLIT.table["tokens"].chunk(0))


@pytest.mark.parametrize("how", REPLACEMENTS)
@pytest.mark.parametrize("causal", [False, True])
def test_replaced_weights_are_weights_within_what_is_seen(how: str, causal: bool) -> None:
    keys, size = torch.arange(3), 5
    allowed = torch.ones(3, size, size, dtype=torch.bool)
    allowed[1, :, 3:] = False
    if causal:
        allowed &= torch.ones(size, size, dtype=torch.bool).tril()
    scores = torch.randn(3, 2, size, size).masked_fill(~allowed[:, None], -torch.inf)
    weights = scores.softmax(-1)
    new, _ = replacing(Replacement(how, 0, "x"), 0, keys)(weights, weights, allowed)
    torch.testing.assert_close(new.sum(-1), torch.ones(3, 2, size))
    assert (new.masked_fill(allowed[:, None], 0.0) == 0).all()
    if how == "permutation":
        torch.testing.assert_close(new.sort(-1).values, weights.sort(-1).values)
        assert (new != weights).any()


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_more_and_more_layers(family: str) -> None:
    examination = examined(family)
    found = Layers(draws=2).examine(examination)
    subject = examination.subject
    for kind in subject.places.kinds:
        count = sum(place.kind == kind for place in subject.places.places)
        rows = [row for row in found.to_pylist() if row["attention"] == (kind or "self")]
        assert {row["replaced"] for row in rows} == {
            "all",
            *(f"{end} {n}" for end in ("first", "last") for n in range(1, count)),
        }
    assert found.num_rows == len(BATCH) * sum(
        2 * sum(p.kind == kind for p in subject.places.places) - 1 for kind in subject.places.kinds
    )
    by_decoder = [row for row in found.to_pylist() if row["attention"] == "decoder"]
    assert {row["not_judged"] for row in by_decoder} <= {"one key", "fewer than two tokens"}
    measured = {measure.where["attention"] for measure in Layers().measures_of(subject)}
    assert measured == ({"encoder", "cross"} if family == "t5" else {"self"})
    judged = found.filter(pa.compute.is_valid(found["change"]))
    assert max(judged["change"].to_pylist()) > 1e-4
    assert all(row["not_judged"] for row in found.to_pylist() if row["change"] is None)


@pytest.mark.parametrize("challenge", [Layers(), Layers("random"), Layers("uniform"), Heads(), Heads("permutation")])
def test_findings_do_not_depend_on_the_batch(challenge) -> None:
    whole_batch = challenge.examine(examined("bert")).to_pylist()
    for row in (1, 4):
        alone = challenge.examine(examined("bert", [row])).to_pylist()
        beside = [found for found in whole_batch if found["row"] == row]
        for one, other in zip(alone, beside, strict=True):
            assert one.keys() == other.keys()
            for name in one:
                if isinstance(one[name], float):
                    assert one[name] == pytest.approx(other[name], abs=1e-6), name
                else:
                    assert one[name] == other[name], name


@pytest.mark.parametrize("family", ["bert", "gpt2", "marian"])
def test_each_head_by_itself(family: str) -> None:
    examination = examined(family)
    subject = examination.subject
    found = Heads().examine(examination).to_pylist()
    assert len(found) == len(BATCH) * sum(place.heads for place in subject.places.places)
    for number, place in enumerate(subject.places.places):

        def literal(weights, values, allowed):
            new = weights.clone()
            for text in range(len(weights)):
                for query in range(weights.shape[2]):
                    seen = allowed.expand(len(weights), weights.shape[2], -1)[text, query]
                    new[text, 1, query] = seen / seen.sum().clamp(min=1)
            return new, values

        with torch.no_grad():
            logits = subject.logits(BATCH, {number: literal})
        change = (logits.softmax(-1) - examination.reading.logits.softmax(-1)).abs().sum(-1) / 2
        rows = [r for r in found if (r["attention"], r["layer"], r["head"]) == (place.kind or "self", place.number, 2)]
        for row in rows:
            if row["change"] is not None:
                assert row["change"] == pytest.approx(float(change[row["row"]]), abs=1e-5)
    assert all(row["not_judged"] for row in found if row["attention"] == "decoder")
    assert all(row["on_other_text"] == 0 for row in found if row["not_judged"] is None)
    sinks = [row["on_no_word"] for row in found if row["on_no_word"] is not None]
    assert 0 <= min(sinks) <= max(sinks) <= 1 + 1e-6


def test_special_tokens_are_told_from_prompt_and_second_text() -> None:
    tokens = SPLIT.table["tokens"].to_pylist()
    split = Split.of(SPLIT.ids, tokens, [0] * len(SPLIT), second=[text[:4] for text in tokens[::-1]])
    batch = whole(Encoded.of(split, VOCABULARY))
    paired = build_pretrained(tiny("bert", size=len(TOKENIZER)), TOKENIZER, VOCABULARY, pair=True)
    asked = build_pretrained(
        tiny("gpt2-lm", size=len(TOKENIZER)), TOKENIZER, VOCABULARY, answers=["word1", "word2"], prompt="x {text} x x"
    )
    ends = torch.tensor([TOKENIZER.cls_token_id, TOKENIZER.sep_token_id])
    for subject, given in ((paired, batch), (asked, BATCH)):
        layout = subject.pieces.layout(given)
        assert torch.equal(layout.special, layout.mask & torch.isin(layout.ids, ends))
        assert torch.equal(layout.special | layout.other | (layout.owner >= 0), layout.mask)
        assert layout.other.any(-1).all()
        with torch.no_grad():
            reading = subject.read(given)
        found = Heads().examine(Examination(subject, given, reading, 0, SPLIT.table["tokens"].chunk(0))).to_pylist()
        kept: dict[int, torch.Tensor] = {}

        def keep(weights, values, allowed, kept=kept):
            kept[0] = weights
            return weights, values

        with torch.no_grad():
            subject.logits(given, {0: keep})
        for row in (row for row in found if row["layer"] == 1 and row["not_judged"] is None):
            weights = kept[0][row["row"], row["head"] - 1][layout.mask[row["row"]]]
            wanted = [float(weights[:, part[row["row"]]].sum(-1).mean()) for part in (layout.special, layout.other)]
            assert [row["on_no_word"], row["on_other_text"]] == pytest.approx(wanted, abs=1e-5)


def test_models_without_layers_say_so() -> None:
    model, _ = classifier(Architecture(embedding=5), SPLIT)
    for name in ("layers", "heads"):
        assert "Transformers" in CHALLENGES.parse(name).objection(model, has_rationale=False)
    with pytest.raises(InputError, match="replacement='none'"):
        Layers("none")
    with pytest.raises(InputError, match="replacement='none'"):
        Heads("none")
    assert np.unique([m.name for m in Layers().measures]).size == len(Layers().measures)


@pytest.mark.slow
def test_the_curve_is_drawn_on_the_page(tmp_path) -> None:
    import attentest
    from attentest.challenges.layers.figures import layers_curve

    texts = ["word1 word2 word3", "word4 word5", "word7 word8 word9 word1"]
    done = attentest.audit(
        tiny("bert", size=len(TOKENIZER)), TOKENIZER, texts, [0, 1, 0], challenges=["layers"], runs=tmp_path
    )
    assert "What is left when more and more layers lose their attention?" in done.report.read_text("utf-8")
    drawn = layers_curve(done.folder.findings("layers")).to_dict()
    points = max((layer["data"]["values"] for layer in drawn["layer"] if "data" in layer), key=len)
    assert [point["layers"] for point in points] == [0, 1, 2, 3] * 2
    assert all(0 <= point["value"] <= 1 for point in points)


def test_an_audit_says_what_it_examined_what_it_held_and_what_was_cut(tmp_path) -> None:
    import attentest

    texts = ["word1 word2 " + "word" * 9, "word4 word5", "word7 word8 word9 word1"]
    done = attentest.audit(
        tiny("bert", size=len(TOKENIZER)), TOKENIZER, texts, [0, 1, 0], challenges=["uniform"], runs=tmp_path
    )
    page = done.report.read_text("utf-8")
    assert "Examined here is layer 3: one row of one layer." in page
    assert "of this attention lies on no word and was held" in page
    assert done.folder.record["fields"]["model"]["cut_short"].startswith("1 texts have words of more than 16 pieces")
    shares = done.folder.findings("instances").table["on_words"].to_pylist()
    assert all(0 < share < 1 for share in shares)
