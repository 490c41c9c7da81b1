"""Exchange against a loop over texts and draws, and on models whose deciding words are known."""

from __future__ import annotations

import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.translations import made_up_translations, translator

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.exchange.examine import exchanged
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.rationales import Rationales
from attentest.data.steps import stepped
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.models.architecture import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS

ARCHITECTURE = Architecture(ENCODERS.parse("bilstm(hidden=6)"), ATTENTIONS.parse("additive"), None, 10)


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examined(count: int = 14) -> tuple[Examination, list[list[str]], list[list[bool]]]:
    split = made_up_split(count, low=1, high=9)
    model, encoded = classifier(ARCHITECTURE, split)
    batch, marks = whole(encoded), Rationales.of(split)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    found = Examination(
        model, batch, model.read(batch), 3, tokens, marks.batch(batch), texts=count, donors=encoded.batch,
        marks_of=marks.batch,
    )  # fmt: skip
    return found, batch.text.tokens.tolist(), marks.batch(batch).tolist()


def test_rows_are_those_of_a_loop_over_texts_and_draws():
    examination, words, marks = examined()
    model, batch = examination.subject, examination.batch
    found = CHALLENGES.parse("exchange(draws=5)").examine(examination).to_pylist()
    real = batch.mask.tolist()
    chance = uniforms(batch.keys, 5, 1, 3, "exchange/texts")[..., 0].tolist()
    said = examination.reading.logits.double().softmax(-1)
    predicted = said.argmax(-1).tolist()

    def places(row, flag):
        return [place for place, there in enumerate(real[row]) if there and marks[row][place] == flag]

    judged = 0
    for row, one in enumerate(found):
        sums, tries = {True: [0.0, 0.0], False: [0.0, 0.0]}, 0
        for draw in range(5):
            other = int(chance[row][draw] * (len(words) - 1))
            other += other >= row
            if predicted[other] == predicted[row] or not places(other, True) or not places(other, False):
                continue
            tries += 1
            for flag in (True, False):
                changed, theirs = list(words[row]), places(other, flag)
                for number, place in enumerate(places(row, flag)):
                    changed[place] = words[other][theirs[number % len(theirs)]]
                text = torch.tensor([changed])
                read = batch[row : row + 1]
                after = model.read(read.with_text(type(read.text)(text, read.text.lengths, read.text.mask)))
                after = after.logits.double().softmax(-1)[0]
                sums[flag][0] += 0.5 * (after - said[row]).abs().sum().item()
                sums[flag][1] += float(after.argmax().item() == predicted[other])
        assert one["tries"] == tries
        assert one["marked"] == len(places(row, True))
        if one["not_judged"] is not None:
            continue
        judged += 1
        expected = [total / tries for flag in (True, False) for total in sums[flag]]
        got = [one[name] for name in ("moved", "followed", "rest_moved", "rest_followed")]
        assert got == pytest.approx(expected, abs=1e-6)
    assert judged >= 3


def test_a_text_is_given_the_words_of_the_other_in_their_order_and_from_the_first_again():
    examination, words, _ = examined()
    batch = examination.batch
    longest = int(batch.text.lengths.argmax())
    text = batch[torch.tensor([longest])]
    own = text.mask
    their = torch.zeros_like(own)
    their[0, own[0].nonzero()[:2, 0]] = True
    found = exchanged(text, own, text, their)[0][own[0]].tolist()
    pair = [words[longest][place] for place in own[0].nonzero()[:2, 0].tolist()]
    assert found == [pair[number % 2] for number in range(len(found))]


def test_texts_are_not_judged_where_nothing_is_marked_or_nothing_is_decided_otherwise():
    examination, _, _ = examined()
    found = CHALLENGES.parse("exchange").examine(examination).to_pylist()
    why = {row["not_judged"] for row in found}
    assert "no marked token" in why or "every token marked" in why
    examination.marks_of = None
    assert {row["not_judged"] for row in CHALLENGES.parse("exchange").examine(examination).to_pylist()} == {
        "no marked token"
    }


def test_it_does_not_apply_without_marks_and_refuses_no_draws():
    examination, _, _ = examined()
    assert "--mark" in CHALLENGES.parse("exchange").objection(examination.subject, has_rationale=False)
    with pytest.raises(InputError, match="draws=0"):
        CHALLENGES.parse("exchange(draws=0)")


def test_a_translator_is_given_the_words_linked_to_a_word_of_another_translation():
    split = made_up_translations(8, seed=5)
    vocabulary = Vocabulary.from_split(split)
    model, encoded = translator(vocabulary), Encoded.of(split, vocabulary)
    marks = Rationales.of(stepped(split, vocabulary))
    batch = whole(encoded)
    tokens = stepped(split, vocabulary).table["tokens"].chunk(0)
    examination = Examination(
        model, batch, model.read(batch), 3, tokens, texts=len(split), donors=encoded.batch, marks_of=marks.batch
    )
    found = CHALLENGES.parse("exchange(draws=3)").examine(examination).to_pylist()
    texts = split.table.to_pylist()
    chance = uniforms(batch.keys, 3, 1, 3, "exchange/texts")[..., 0].tolist()
    steps = [uniforms(batch.keys, 1, 1, 3, f"exchange/steps/{draw}")[:, 0, 0].tolist() for draw in range(3)]
    rows = [(number, step) for number, text in enumerate(texts) for step in range(len(text["target"]) + 1)]
    predicted = dict(zip(rows, examination.reading.predicted.tolist(), strict=True))

    def linked(number, step):
        return [int(s) for s, t in (link.split("-") for link in texts[number]["alignment"]) if int(t) == step]

    judged = 0
    for row, (number, step) in enumerate(rows):
        own, followed, tries = linked(number, step), 0, 0
        for draw in range(3):
            other = int(chance[row][draw] * (len(texts) - 1))
            other += other >= number
            at = int(steps[draw][row] * len(texts[other]["target"]))
            theirs = linked(other, at)
            if predicted[other, at] == predicted[number, step] or not 0 < len(theirs) < len(texts[other]["tokens"]):
                continue
            tries += 1
            words = list(texts[number]["tokens"])
            for place, position in enumerate(sorted(own)):
                words[position] = texts[other]["tokens"][sorted(theirs)[place % len(theirs)]]
            changed = Split.of(["x"], [words], [0], target=[texts[number]["target"]])
            after = model.read(whole(Encoded.of(changed, vocabulary))).predicted[step].item()
            followed += after == predicted[other, at]
        assert found[row]["tries"] == tries
        if found[row]["not_judged"] is None:
            judged += 1
            assert found[row]["followed"] == pytest.approx(followed / tries)
    assert judged >= 5
