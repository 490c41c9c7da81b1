"""Loss terms and frozen embeddings, from options to a run's record, its companions and its model."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from tests.cli.test_cli import run
from tests.conftest import made_up_corpus

from attentest.challenges.companions import Against, Companion
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus, Split
from attentest.errors import AttentestError, InputError
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.model import train
from attentest.runs.trained import TrainedRun
from attentest.studies.study import read_study
from attentest.training import loop
from attentest.training.adversarial import Imitation
from attentest.training.terms import terms_named
from attentest.training.terms.objective import WithTerms

__all__ = ["run"]

REVIEWS = "reviews(train=40, dev=10, test=10)"
TINY = {"encoder": "bilstm(hidden=4)", "embedding": 8, "epochs": 2, "challenges": ("uniform",)}


def unmarked() -> Corpus:
    """A corpus that marks no words."""
    corpus = made_up_corpus()
    splits = {name: Split(split.table.drop_columns("rationale")) for name, split in corpus.splits.items()}
    return replace(corpus, splits=splits)


def described(**choices) -> TrainedRun:
    found = describe_run(**{"corpus": made_up_corpus(), **TINY, **choices})
    assert isinstance(found, TrainedRun)
    return found


def test_the_record_names_terms_only_where_they_were_chosen():
    plain, tied, both = described(), described(terms="tying"), described(terms=["tying(weight=2)", "mlm"])
    assert not {"terms", "frozen_embeddings"} & set(plain.fields["training"])
    assert tied.fields["training"] == {**plain.fields["training"], "terms": ["tying"]}
    assert both.fields["training"]["terms"] == ["tying(weight=2.0)", "mlm"]
    assert both.fields["training"]["frozen_embeddings"] is True
    assert len({one.model_key for one in (plain, tied, both)}) == 3
    assert described(terms="").fields == described(terms=()).fields == plain.fields


def test_the_code_of_a_term_is_part_of_the_version_of_the_model_only_where_it_was_chosen():
    plain, tied, frozen = described(), described(terms="tying"), described(frozen_embeddings=True)
    codes = [one.fields["code"]["model"] for one in (plain, tied, frozen)]
    assert len(set(codes)) == 3
    findings = [one.fields["code"]["findings"] for one in (plain, tied, frozen)]
    assert findings[0] == findings[1] == findings[2]


def test_control_models_keep_the_terms_and_adversaries_and_probes_have_none():
    subject = described(terms=["tying", "mlm"])
    for control in (Companion(seed=1), Companion(attention="uniform"), Companion(attention="random", seed=2)):
        kept = subject.companion(control)
        assert (kept.terms, kept.frozen_embeddings) == (subject.terms, False)
    adversary = subject.companion(Companion(against=Against(1.0, "jsd"), starts_from=Companion(seed=1)))
    guided = subject.companion(Companion(encoder="average(hidden=5)", guide=Companion()))
    for other in (adversary, guided, subject.companion(Companion(encoder="average(hidden=5)", attention="uniform"))):
        assert (other.terms, other.frozen_embeddings) == ((), True)
    assert adversary.relation.opponent.terms == adversary.relation.start.terms == subject.terms
    assert guided.relation.guide.terms == subject.terms


def test_an_adversary_minimises_its_own_loss_alone_with_the_embeddings_of_the_subject_frozen(tmp_path, monkeypatch):
    objectives, fit = [], loop.fit

    def spy(model, *given, **asked):
        objectives.append((asked["objective"], [p.requires_grad for p in model.embedding.parameters()]))
        return fit(model, *given, **asked)

    monkeypatch.setattr("attentest.runs.model.fit", spy)
    train(described(terms="mlm").companion(Companion(against=Against(0.5, "jsd"))), tmp_path)
    assert [(type(objective), learns) for objective, learns in objectives] == [
        (WithTerms, [False]),
        (Imitation, [False]),
    ]


def test_a_run_trains_with_its_terms_and_leaves_the_table_where_mlm_is_one(tmp_path):
    frozen, free = (
        train(described(terms=terms, seed=7), tmp_path).path / "model.safetensors" for terms in ("mlm", "tying")
    )
    begun = train(described(frozen_embeddings=True, epochs=1, seed=7), tmp_path).path / "model.safetensors"
    tables = [load_file(path)["embedding.weight"] for path in (frozen, free, begun)]
    assert torch.equal(tables[0], tables[2])
    assert not torch.equal(tables[1], tables[2])


def test_the_dev_score_stays_that_of_the_task(tmp_path):
    folder = train(described(terms=["tying", "mlm"]), tmp_path)
    entry = folder.record["finished"]["model.safetensors"]
    assert entry["dev_score"] == "roc_auc"
    assert all(0 <= epoch["score"] <= 1 for epoch in entry["epochs"])


def test_a_challenge_that_trains_controls_runs_with_terms(tmp_path):
    asked = ("trained_uniform", "guide", "adversarial_training(weights=(1.0,), seeds=1)")
    every = ["tying", "mlm", "diversity", "supervised"]
    folder = execute(described(terms=every, challenges=asked, epochs=1), tmp_path)
    assert not folder.record.get("failed")


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"terms": "tying", "embedding": 10}, "Loss term 'tying' does not apply: its states have 8 numbers and its "),
        ({"terms": "mlm", "encoder": "average(hidden=9)"}, "use embedding (--embedding) 9, or leave it out."),
        (
            {"terms": "tying", "structure": "hierarchical", "corpus": REVIEWS},
            "structure='hierarchical' attends to sentences",
        ),
        ({"terms": "supervised", "attention": "uniform"}, "its attention learns nothing. Use another attention"),
        ({"terms": "supervised", "corpus": unmarked()}, "have no rationales. Use a corpus that has (--corpus reviews)"),
        ({"terms": "supervised", "removal": "random", "removal_share": 0.2}, "a removal takes words from them"),
        ({"terms": "tieing"}, "No loss term is called 'tieing'. Did you mean 'tying'?"),
        ({"terms": "tying(wait=1)"}, "has no parameter 'wait'. Did you mean 'weight'?"),
        ({"terms": ["tying", "tying(weight=2)"]}, "'tying' is given twice"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(choices, said):
    with pytest.raises(AttentestError) as error:
        described(**choices)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"frozen_embeddings": True}, r"has texts to write: .* is for classifiers. Leave it out."),
        ({"terms": "tying"}, "of translators and checkpoints attention alone can be asked. Leave it out."),
        ({"terms": "deceive", "attention": "uniform"}, "its attention learns nothing"),
    ],
)
def test_translators_refuse(chosen, said):
    with pytest.raises(InputError, match=said):
        describe_run(corpus="dates(train=12, dev=4, test=4)", **chosen)


def test_translations_without_links_cannot_be_hidden():
    corpus = CORPORA.parse("sequence_copy(train=12, dev=4, test=4)").load()
    bare = {name: Split(split.table.drop_columns("alignment")) for name, split in corpus.splits.items()}
    with pytest.raises(InputError, match=r"link no words. Use a corpus that links them"):
        describe_run(corpus=replace(corpus, splits=bare), terms="deceive")


@pytest.mark.parametrize(("chosen", "kinds"), [({"terms": "tying"}, 1), ({"frozen_embeddings": True}, 2)])
def test_what_is_there_already_or_fine_tuned_refuses(chosen, kinds):
    name = next(iter(chosen))
    for model in ({"model": "x"}, {"fine_tune": "x"})[:kinds]:
        with pytest.raises(
            InputError, match=f"{name}=.* has no effect on .*: leave out {next(iter(model))} or {name}."
        ):
            describe_run(corpus="reviews", **chosen, **model)


def test_a_study_varies_terms_and_frozen_embeddings(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(
        '[run]\ncorpus = "reviews(train=20, dev=6, test=6)"\nencoder = "bilstm(hidden=150)"\nchallenges = "uniform"\n'
        '[grid]\nterms = ["", "tying(weight=10)", ["mlm", "tying"]]\nfrozen_embeddings = [false, true]\n'
        '[[adjust]]\nwhere = { terms = "tying" }\nset = { epochs = 3 }\n'
    )
    cells = read_study(path).cells()
    assert [cell.choices["terms"] for cell in cells[::2]] == ["", "tying(weight=10)", ("mlm", "tying")]
    assert [cell.choices.get("epochs") for cell in cells[::2]] == [None, 3, None]
    assert cells[4].label.startswith("mlm + tying")
    runs = [describe_run(**cell.choices) for cell in cells]
    assert len({run.id for run in runs}) == 5  # mlm freezes the table whether one says so or not
    path.write_text('[grid]\nterms = ["tieing"]\n')
    with pytest.raises(InputError, match=r"grid.terms\[0\]: No loss term is called 'tieing'"):
        read_study(path)
    path.write_text('[grid]\nfrozen_embeddings = ["yes"]\n')
    with pytest.raises(InputError, match=r"grid.frozen_embeddings\[0\]: 'yes' must be true or false"):
        read_study(path)


def test_an_audit_on_the_command_line_trains_with_terms_and_its_record_shows_them(run, tmp_path):
    code, _, err = run(
        *("audit", "--corpus", REVIEWS, "--encoder", "bilstm(hidden=6)"),
        *("--embedding", "12", "--epochs", "1", "--challenge", "uniform", "--runs", str(tmp_path)),
        *("--term", "tying(weight=5)", "--term", "mlm", "--quiet"),
    )
    assert code == 0, err
    (record,) = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("*/run.json")]
    assert record["fields"]["training"]["terms"] == ["tying(weight=5.0)", "mlm"]
    assert record["fields"]["training"]["frozen_embeddings"] is True
    (page,) = tmp_path.glob("*/report.html")
    assert "trained with tying(weight=5.0), mlm" in page.read_text("utf-8")


def test_terms_are_listed_like_everything_else(run):
    (entry,) = json.loads(run("list", "terms", "tying", "--json")[1])["terms"]
    assert (entry["name"], entry["reference"]) == ("tying", "Tutek & Šnajder 2020")
    assert set(entry["words"]) == {"weight", "squared"}
    assert terms_named("tying") == terms_named(["tying"]) == terms_named(["", "tying"])
