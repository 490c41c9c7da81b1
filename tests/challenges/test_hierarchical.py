from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tests.conftest import whole
from tests.support.hierarchy import hierarchical, texts

from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.edits.examine import ALONE as EDITED_FROM_NOTHING
from attentest.challenges.parts_of_speech.tagger import missing
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.explainers import EXPLAINERS
from attentest.explainers.erasure import erased
from attentest.runs.examination.examine import examine, examiner_of
from attentest.training.training_texts import TrainingTexts

SITES = ("sentence", "word")
#: Small versions of what is slow.
SMALL = {
    "adversary": "adversary(steps=20)",
    "faithfulness": "faithfulness(erasures=('delete', 'zero_attention'))",
    "soft_faithfulness": "soft_faithfulness(draws=1)",
    "randomisation": "randomisation(draws=1)",
    "fragility": "fragility(explainers=('attention', 'gradient'), top=1, steps=2)",
    "certificates": "certificates(sample=4, words=3)",
    "mutual_information": "mutual_information(words=9,clusters=5,batch=20)",
}
OF_TRANSLATIONS = ("bleu", "layers_bleu", "alignment")
OF_CHECKPOINTS = ("layers", "heads", "knockout", "joint_adversary")
OF_SELECTORS = ("selection",)
NOT_HERE = ("parts_of_speech",) if missing() else ()
ALIKE = "no other text was decided otherwise"
#: What says nothing of sentences, and why.
OF_WORDS = {
    "mutual_information": "tokens do not have one state each",
    "parts_of_speech": "attention weighs sentences, not words",
}
ALONE = [
    SMALL.get(name, name)
    for name in CHALLENGES
    if name not in (*OF_TRANSLATIONS, *OF_CHECKPOINTS, *NOT_HERE, *OF_SELECTORS)
    and not CHALLENGES.parse(name).companions
]


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def examined(split: Split, challenge: str, site: str, folder, **model) -> pa.Table:
    network, encoded = hierarchical(split, **model)
    chosen = CHALLENGES.parse(challenge)
    subject = network.at(site)
    assert chosen.objection(subject, has_rationale=True) is None
    training = TrainingTexts(lambda: encoded)
    examine(examiner_of(subject, split, encoded, {"found": chosen}, seed=0, meaning="human", training=training), folder)
    return pq.read_table(folder / "found.parquet")


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("challenge", OF_TRANSLATIONS)
def test_questions_about_translations_are_not_put_to_a_classifier(challenge, site):
    network, _ = hierarchical(texts(count=2))
    assert (
        CHALLENGES.parse(challenge).objection(network.at(site), has_rationale=True)
        == "this is for models that write texts"
    )


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("challenge", ALONE)
def test_every_challenge_answers_at_both_sites_for_every_text_or_says_why_not(challenge, site, tmp_path):
    split = texts(count=12)
    found = examined(split, challenge, site, tmp_path)
    assert set(found["id"].to_pylist()) == set(split.ids)
    columns = [measure.column for measure in CHALLENGES.parse(challenge).measures]
    judged = found.filter(found["not_judged"].is_null())
    if site == "sentence" and (why := OF_WORDS.get(challenge.partition("(")[0])):
        assert set(found["not_judged"].to_pylist()) == {why}
        return
    if challenge == "edits":
        assert set(found["not_judged"].to_pylist()) == {EDITED_FROM_NOTHING}
        return
    if challenge == "exchange" and not judged.num_rows:  # an untrained model may decide all texts alike
        assert set(found["not_judged"].to_pylist()) <= {"no marked token", "every token marked", ALIKE}
        return
    assert judged.num_rows > 0
    # There is one text, so that nothing is asked of it.
    for column in {column for column in columns if not column.startswith(("query_", "on_words"))}:
        assert column in found.column_names
        # An untrained model may say no more of a text than of an empty one, and then nothing is the one reason.
        unproved = column in ("upper", "ratio_upper", "certified", "largest_change", "one")
        assert unproved or judged[column].null_count < judged.num_rows


@pytest.mark.parametrize("challenge", ["single_weight", "flip_sets", "agreement", "uniform", "permutation"])
def test_findings_at_the_sentences_do_not_depend_on_the_batch(challenge, tmp_path):
    split = texts(count=10)
    network, encoded = hierarchical(split)
    chosen = CHALLENGES.parse(challenge)
    parts = []
    for row in range(len(split)):
        one = encoded.batch(np.array([row]))
        reading = network.read(one)
        parts.append(chosen.examine(Examination(network, one, reading, 0, pa.array([[]], pa.list_(pa.string())))))
    batch = whole(encoded)
    together = chosen.examine(
        Examination(network, batch, network.read(batch), 0, pa.array([[]] * len(split), pa.list_(pa.string())))
    )
    alone = pa.concat_tables(parts)
    keys = [(name, "ascending") for name in ("row", "order", "pair") if name in alone.column_names]
    alone, together = alone.sort_by(keys), together.sort_by(keys)
    for name in alone.column_names:
        one, other = alone[name].to_pylist(), together[name].to_pylist()
        if pa.types.is_floating(alone.schema.field(name).type):
            assert np.allclose(np.array(one, float), np.array(other, float), atol=1e-4, equal_nan=True), name
        else:
            assert one == other, name


@pytest.mark.parametrize("classes", [2, 3])
def test_the_smallest_set_of_sentences_is_the_one_that_trying_all_of_them_finds(classes, tmp_path):
    split = texts(count=14, classes=classes, most=7)
    found = examined(split, "flip_sets", "sentence", tmp_path, classes=classes)
    network, encoded = hierarchical(split, classes=classes)
    with torch.no_grad():
        reading = network.read(whole(encoded))
    smallest = {row["id"]: row for row in found.to_pylist() if row["order"] == "smallest" and row["not_judged"] is None}
    assert len(smallest) > 5
    for row, name in enumerate(split.ids):
        if name not in smallest:
            continue
        count = int(reading.mask[row].sum())
        weights = reading.weights[row].double()
        own = weights @ reading.token_logits[row].double()
        least = None
        for size in range(1, count):
            for gone in itertools.combinations(range(count), size):
                left = weights.clone()
                left[list(gone)] = 0
                logits = (left / left.sum()) @ reading.token_logits[row].double()
                if logits.argmax() != own.argmax() and least is None:
                    least = size
            if least is not None:
                break
        assert smallest[name]["removed"] == least
        assert smallest[name]["proved"]


def test_instances_keep_sentences_as_text_with_marks_and_scores_for_each(tmp_path):
    split = texts()
    found = examined(split, "instances", "sentence", tmp_path).to_pylist()
    words = split.table["tokens"].to_pylist()
    for row, one in enumerate(found):
        sizes = split.table["sentences"].to_pylist()[row]
        ends = np.cumsum([0, *sizes])
        parts = list(itertools.pairwise(ends))
        assert one["tokens"] == [" ".join(words[row][a:b]) for a, b in parts]
        marks = split.table["rationale"].to_pylist()[row]
        assert one["rationale"] == [any(marks[a:b]) for a, b in parts]
        for column in ("attention", "gradient", "leave_one_out", "state_erasure", "token_logits"):
            assert len(one[column]) == len(sizes)


@pytest.mark.parametrize("explainer", ["gradient", "gradient_x_input", "integrated_gradients", "lrp", "occlusion"])
def test_scores_of_tokens_are_summed_over_their_sentence(explainer):
    split = texts()
    network, encoded = hierarchical(split)
    batch = whole(encoded)
    with torch.no_grad():
        reading = network.read(batch)
    examination = Examination(network, batch, reading, 0, pa.array([[]] * len(split), pa.list_(pa.string())))
    scores = EXPLAINERS.parse(explainer).scores(network, batch, reading).double()
    for row, sizes in enumerate(split.table["sentences"].to_pylist()):
        parts = scores[row, 1 : 1 + sum(sizes)].split(sizes)
        expected = torch.stack([part.sum() for part in parts])
        assert torch.allclose(examination.scores(explainer)[row, : len(sizes)], expected)


def test_erasing_a_sentence_is_reading_the_text_without_it():
    split = texts()
    network, encoded = hierarchical(split)
    batch = whole(encoded)
    reading = network.read(batch)
    keep = reading.mask[:, None] & (torch.arange(reading.mask.shape[1]) != 1)
    found = erased(network, batch, reading, keep, "delete")
    vocabulary = Vocabulary.from_split(split)
    for row, sizes in enumerate(split.table["sentences"].to_pylist()):
        if len(sizes) < 2:
            continue
        words, (a, b) = split.table["tokens"].to_pylist()[row], (sizes[0], sizes[0] + sizes[1])
        shorter = Split.of(["x"], [words[:a] + words[b:]], [0], sentences=[[sizes[0], *sizes[2:]]])
        expected = network.read(whole(Encoded.of(shorter, vocabulary))).logits
        assert torch.allclose(found[row], expected.double(), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES)
def test_scores_at_both_sites_stand_up_to_their_certificates(site, tmp_path):
    found = examined(texts(count=12), "certificates(sample=12, words=4)", site, tmp_path).to_pylist()
    checks = {row["check"] for row in found}
    assert {"loop_gap", "alone_gap", "conservation_gap", "completeness_gap"} <= checks
    for row in found:
        if row["check"] in ("loop_gap", "repeat_gap", "conservation_gap") and row["not_judged"] is None:
            assert row["within"], row
        if row["check"] == "alone_gap" and row["not_judged"] is None:
            assert row["value"] < 1e-3, row
