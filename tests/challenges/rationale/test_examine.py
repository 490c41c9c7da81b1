from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.metrics import f1_score, jaccard_score
from tests.conftest import WORDS, classifier, whole

from attentest.challenges import PRESENTATIONS
from attentest.challenges.challenge import Examination
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.challenges.rationale.examine import CEILINGS, Rationale
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.rationales import Annotators, Rationales
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.runs.examination.examine import examine, examiner_of
from attentest.store.findings import read_findings

SINGLE = ("single_token_f1", "single_iou")
OPTIONAL = {*SINGLE, *(column for column, _ in CEILINGS)}


def annotated_split(count: int = 16, low: int = 3, high: int = 12, seed: int = 0) -> Split:
    """Random texts, each marked by none to four people; the rationale is what most of them marked."""
    rng = np.random.default_rng(seed)
    tokens = [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(low, high + 1))] for _ in range(count)]
    each = [[(rng.random(len(t)) < 0.4).tolist() for _ in range(i % 5)] for i, t in enumerate(tokens)]
    merged = [
        [2 * sum(column) > len(people) for column in zip(*people, strict=True)] if people else [False] * len(t)
        for t, people in zip(tokens, each, strict=True)
    ]
    given = [people if i % 10 else None for i, people in enumerate(each)]
    ids = [f"text-{i}" for i in range(count)]
    return Split.of(ids, tokens, [i % 2 for i in range(count)], rationale=merged, annotations=given)


def annotated_corpus() -> Corpus:
    """The same as a corpus that people marked."""
    splits = {name: annotated_split(40, seed=seed) for seed, name in enumerate(("train", "dev", "test"))}
    return Corpus("marked", ("no", "yes"), splits, Provenance("made up", "none", rationale="human"))


def examination(split: Split, people: bool = True) -> Examination:
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    batch = whole(encoded)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    with torch.no_grad():
        reading, flags = model.read(batch), Rationales.of(split).batch(batch)
    known = Annotators.of(split).batch(batch) if people else None
    return Examination(model, batch, reading, 0, tokens, flags, marks="human", annotations=known)


@pytest.mark.slow
def test_the_human_ceiling_equals_a_loop_over_people_with_scikit_learn():
    split = annotated_split()
    with torch.no_grad():
        examined = examination(split)
        found = Rationale(("attention", "random")).examine(examined).to_pylist()
    given = split.table["annotations"].to_pylist()
    judged = 0
    for row in found:
        people = given[row["row"]] or []
        if row["not_judged"] is not None:
            assert all(row[column] is None for column in OPTIONAL)
            continue
        judged += 1
        pairs = [(a, b) for a, b in itertools.combinations(people, 2) if any(a) or any(b)]
        others = [[p for j, p in enumerate(people) if j != i] for i in range(len(people))]
        most = [[2 * sum(c) > len(rest) for c in zip(*rest, strict=True)] for rest in others] if len(people) > 2 else []
        against = [(own, them) for own, them in zip(people, most, strict=False) if any(them)]
        real = examined.mask[row["row"]]
        scores = examined.scores(row["explainer"])[row["row"]][real].numpy()
        order = np.argsort(-scores, kind="stable")
        tops = [([t in order[: sum(one)] for t in range(len(one))], one) for one in people if any(one)]
        for prefix, compared in (("ceiling_", against), ("ceiling_single_", pairs), ("single_", tops)):
            for name, literal in (("token_f1", f1_score), ("iou", jaccard_score)):
                value = row[prefix + name]
                if compared:
                    wanted = np.mean([literal(b, a, zero_division=0) for a, b in compared])
                    assert value == pytest.approx(wanted, abs=1e-12), (row["row"], prefix + name)
                else:
                    assert value is None
    assert judged > 10


def test_without_what_each_person_marked_there_is_no_ceiling_and_the_rest_is_the_same():
    split = annotated_split()
    with torch.no_grad():
        kept, bare = (Rationale(("attention",)).examine(examination(split, people)) for people in (True, False))
    assert set(kept.column_names) - set(bare.column_names) == OPTIONAL
    assert kept.drop_columns(sorted(OPTIONAL)).equals(bare)


@pytest.mark.parametrize("people", [True, False])
def test_findings_list_the_ceilings_measures_only_where_they_have_them(tmp_path, people):
    split = annotated_split()
    if not people:
        split = Split(split.table.drop_columns(["annotations"]))
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    challenge = Rationale(("attention", "random"))
    examine(examiner_of(model, split, encoded, {"rationale": challenge}, seed=0), tmp_path)
    found = read_findings(tmp_path / "rationale.parquet")
    columns = {measure.column for measure in found.measures}
    assert (columns >= OPTIONAL) if people else not columns & OPTIONAL
    assert {"auprc", "token_f1", "chance"} <= columns


def test_the_ceiling_does_not_depend_on_how_the_split_is_cut(tmp_path):
    split = annotated_split(30)
    parts = [Split(split.table.slice(i, 7)).table for i in range(0, 30, 7)]
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    for name, given in (("one", split), ("cut", Split(pa.concat_tables(parts)))):
        (tmp_path / name).mkdir()
        examine(examiner_of(model, given, encoded, {"rationale": Rationale(("attention",))}, seed=0), tmp_path / name)
    one, cut = (read_findings(tmp_path / name / "rationale.parquet").table for name in ("one", "cut"))
    assert one.equals(cut)
    alone = Rationale(("attention",))
    with torch.no_grad():
        few = alone.examine(examination(split.take([3, 8]))).to_pylist()
    for row, place in zip(few, (3, 8), strict=True):
        for column, _ in CEILINGS:
            assert row[column] == pytest.approx(one[column][place].as_py())


def test_what_faithfulness_explains_is_not_explained_again():
    assert set(Faithfulness().explainers) <= set(Rationale().explainers)


def test_the_columns_that_only_some_corpora_give_are_documented():
    assert all(f"`{column}`" in PRESENTATIONS["rationale"].notes for column in OPTIONAL)
