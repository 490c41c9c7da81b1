from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

import attentest
from attentest import explaining
from attentest.data.corpus import Corpus, Provenance
from attentest.errors import InputError, NotApplicable, StorageError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.explaining import METHODS, MOST_PAIRED, named
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.report.explanations.explanation import Explanation
from attentest.runs.model import train
from attentest.runs.trained import TrainedRun
from attentest.store.folder import RunFolder
from attentest.training.loop import Training
from tests.conftest import made_up_corpus
from tests.explainers.small_models import OF_ANY_MODEL
from tests.support.hierarchy import told

TEXT = "word1 telling1 word2 nonsense word3"
#: Those that need no file and no marks.


def trained_run(corpus: Corpus, architecture: Architecture, epochs: int) -> TrainedRun:
    return TrainedRun(corpus, architecture=architecture, training=Training(epochs=epochs), tokenizer="whitespace")


def trained(root: Path, corpus: Corpus, encoder: str = "bilstm(hidden=8)") -> RunFolder:
    architecture = Architecture(ENCODERS.parse(encoder), embedding=10)
    return train(trained_run(corpus, architecture, 6), root)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    trained(root, made_up_corpus(count=120))
    return root


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("three")
    trained(root, made_up_corpus(classes=3, count=120), "average(hidden=8)")
    return root


def test_one_call_explains_a_text_by_five_methods(runs):
    made = attentest.explain(TEXT, runs=runs)
    assert isinstance(made, Explanation)
    assert made.tokens == tuple(TEXT.split())
    assert made.unknown == (False, False, False, True, False)
    assert tuple(made.scores) == METHODS
    assert all(len(scores) == 5 for scores in made.scores.values())
    assert sum(made.probabilities) == pytest.approx(1)
    assert made.target == made.predicted == "class1"
    assert made.notes == ()


@pytest.mark.slow
def test_a_hierarchical_model_is_explained_word_by_word(tmp_path):
    splits = {name: told(count, count) for name, count in (("train", 60), ("dev", 20), ("test", 20))}
    corpus = Corpus("told", ("bad", "good"), splits, Provenance("made up", "none"))
    architecture = Architecture(ENCODERS.parse("bigru(hidden=4)"), embedding=6, structure="hierarchical")
    train(trained_run(corpus, architecture, 2), tmp_path)
    made = attentest.explain("word1 word2 . lovely word3 !", runs=tmp_path, interactions=True)
    assert tuple(made.scores) == METHODS
    assert all(len(scores) == 6 for scores in made.scores.values())
    assert sum(made.scores["attention"]) == pytest.approx(1)


def test_the_model_is_found_by_path_id_and_beginning(runs):
    folder = next(path.parent for path in runs.glob("*/run.json"))
    found = [attentest.explain(TEXT, model, runs=runs, methods="attention") for model in (folder, folder.name, "made")]
    assert len({made.scores["attention"] for made in found}) == 1


@pytest.mark.slow
def test_the_prediction_is_that_of_the_audited_model(runs, tmp_path):
    folder = next(path.parent for path in runs.glob("*/run.json"))
    corpus = made_up_corpus(count=120)
    audit = attentest.audit(folder, corpus=corpus, challenges=("uniform",), runs=tmp_path)
    rows = audit.to_frame().iloc[:6]
    several = attentest.explain(
        [" ".join(tokens) for tokens in rows["tokens"]], folder, methods=["attention", "gradient"]
    )
    for made, row in zip(several, rows.itertuples(), strict=True):
        assert made.probabilities == pytest.approx(row.probabilities, abs=1e-6)
        assert made.scores["attention"] == pytest.approx(row.attention, abs=1e-6)
        assert made.scores["gradient"] == pytest.approx(row.gradient, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("name", OF_ANY_MODEL)
def test_every_explainer_explains_every_class_with_a_certificate(name, three):
    method = name if name != "captum" else "captum(n_samples=20)"
    found = [attentest.explain(TEXT, runs=three, methods=[method], target=f"class{i}") for i in range(3)]
    for made in found:
        (scored,) = made.methods
        assert np.isfinite(scored.scores).all()
        assert scored.signed or min(scored.scores) >= 0
        assert [check.outcome for check in scored.checks if check.outcome == "fails"] == []
        drawn = name in (
            "smooth_grad",
            "lime",
            "captum",
            "random",
            "information_bottleneck",
        )  # kernel_shap asks every coalition of so short a text
        again = (
            "The same scores when computed again with the same seed."
            if drawn
            else "The same scores when computed again."
        )
        assert again in made.certificates[scored.name]


@pytest.mark.slow
def test_what_a_text_gets_does_not_depend_on_the_texts_beside_it(runs):
    texts = [TEXT, "word4", "word5 word6 telling0 word7 word8 word9 word10", TEXT]
    methods = [*METHODS, "lime(n_samples=30)", "smooth_grad(nt_samples=3)", "kernel_shap(n_samples=20)"]
    together = attentest.explain(texts, runs=runs, methods=methods)
    for text, made in zip(texts, together, strict=True):
        alone = attentest.explain(text, runs=runs, methods=methods)
        for name, scores in alone.scores.items():
            assert made.scores[name] == pytest.approx(scores, rel=1e-3, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["deletion", "deletion(output='probability')", "leave_one_out"])
def test_deletion_is_compared_with_a_loop(method, runs):
    short, long = attentest.explain([TEXT, "word1 telling0 " * 150], runs=runs, methods=[method], target="class0")
    for made, looped in ((short, 5), (long, 100)):
        assert made.methods[0].certificate["difference_from_a_loop"] < 1e-4
        assert made.methods[0].certificate["words_in_the_loop"] == looped


def test_a_method_that_gives_other_scores_each_time_is_found_out(runs, monkeypatch):
    from attentest.explainers.random_scores import RandomScores

    drawn = torch.Generator().manual_seed(0)
    monkeypatch.setattr(
        RandomScores, "explain", lambda *given: attentest_attribution(torch.rand(given[2].mask.shape, generator=drawn))
    )
    (scored,) = attentest.explain(TEXT, runs=runs, methods=["random"]).methods
    assert [check.outcome for check in scored.checks] == ["fails"]


def attentest_attribution(scores: torch.Tensor) -> object:
    from attentest.explainers import Attribution

    return Attribution(scores)


@pytest.mark.parametrize("method", ["pairwise_occlusion", "integrated_hessians(n_steps=8)"])
def test_pairs_are_asked_for_by_name(method, runs):
    made = attentest.explain(TEXT, runs=runs, methods="attention", interactions=method)
    assert made.pairs is not None
    matrix = np.array(made.pairs.scores)
    assert made.pairs.name == method
    assert matrix.shape == (5, 5)
    assert np.allclose(matrix, matrix.T)
    assert attentest.explain(TEXT, runs=runs, methods="attention").pairs is None


def test_a_text_with_too_many_pairs_is_refused_before_any_work(runs):
    with pytest.raises(InputError, match="121 words has 7,260 pairs"):
        attentest.explain("word1 " * (MOST_PAIRED + 1), runs=runs, interactions=True)


def test_a_text_of_unknown_words_is_explained_and_said_to_be_one(runs):
    made = attentest.explain("zorb frum", runs=runs)
    assert made.unknown == (True, True)
    assert "None of these words is known" in made.notes[0]


def test_a_single_word_can_be_explained(runs):
    made = attentest.explain("telling0", runs=runs, interactions=True)
    assert made.predicted == "class0"
    assert all(len(scores) == 1 for scores in made.scores.values())


def test_a_method_of_the_default_that_does_not_apply_is_skipped_and_one_by_name_is_an_error(runs, monkeypatch):
    def refuse(*_):
        raise NotApplicable("this is for models that can be replayed")

    monkeypatch.setattr(EXPLAINERS["lrp"], "explain", refuse)
    made = attentest.explain(TEXT, runs=runs)
    assert "lrp" not in made.scores
    assert any("lrp does not apply" in note for note in made.notes)
    with pytest.raises(NotApplicable):
        attentest.explain(TEXT, runs=runs, methods=["lrp"])


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"text": ""}, InputError, "empty"),
        ({"text": " \n"}, InputError, "empty"),
        ({"text": []}, InputError, "no text"),
        ({"text": ["word1", ""]}, InputError, "Text 2 of 2 is empty"),
        ({"methods": []}, InputError, "at least one"),
        ({"methods": "atention"}, UnknownName, "attention"),
        ({"methods": "lime(n=3)"}, InputError, "no parameter"),
        ({"target": "clas1"}, UnknownName, "class1"),
        ({"model": "nowhere"}, InputError, "'nowhere' is no folder or run here"),
        ({"interactions": "pairwise"}, UnknownName, "pairwise_occlusion"),
        ({"tokenizer": "english!"}, UnknownName, "english"),
        ({"methods": ["precomputed(file='nowhere.parquet')"]}, InputError, "no file nowhere"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_wrong_choices_are_named(changes, error, words, runs):
    with pytest.raises(error, match=words):
        attentest.explain(**({"text": TEXT, "runs": runs} | changes))


def test_a_damaged_model_is_not_explained(tmp_path):
    folder = trained(tmp_path, dataclasses.replace(made_up_corpus(), name="damaged"))
    (folder.path / "model.safetensors").write_bytes(b"other")
    with pytest.raises(StorageError, match=r"model\.safetensors is missing or was altered"):
        attentest.explain(TEXT, folder.path)


@pytest.mark.parametrize(
    ("given", "methods"),
    [
        ("attention", ("attention",)),
        ("attention, lrp,,attention", ("attention", "lrp")),
        (["attention,lrp", "random"], ("attention", "lrp", "random")),
        ("lime(n_samples=5, seed=1), random", ("lime(n_samples=5, seed=1)", "random")),
        ("a(b=(1, 2), c=3), d(e=4, f=(5, 6))", ("a(b=(1, 2), c=3)", "d(e=4, f=(5, 6))")),
        (
            "smooth_grad(of='x(y=1, z=2)'), precomputed(file='a,(b')",
            ("smooth_grad(of='x(y=1, z=2)')", "precomputed(file='a,(b')"),
        ),
        ("", ()),
    ],
)
def test_methods_may_stand_in_one_text_with_commas_between(given, methods):
    assert named(given) == methods


def test_a_text_of_more_words_than_are_explained_is_refused_at_once(runs, monkeypatch):
    monkeypatch.setattr(explaining, "MOST_WORDS", 3)
    with pytest.raises(InputError, match="A text has 4 words, and at most 3 are explained"):
        attentest.explain("word1 word2 word1 word3", runs=runs)
