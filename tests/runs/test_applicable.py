"""What does not apply to a model is passed over with a reason where it is usual, and refused where it was named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attentest.auditing import describe_audit
from attentest.challenges import CHALLENGES
from attentest.errors import InputError, NotApplicable
from attentest.registry import text_of
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute, is_complete
from attentest.runs.options import Options
from attentest.runs.questions import Questions
from attentest.tasks import DEFAULT, THOROUGH, THOROUGHLY

SMALL = {
    "corpus": "dates(train=24, dev=4, test=6)",
    "encoder": "bigru(hidden=4)",
    "decoder": "bahdanau(hidden=6, dropout=0.0)",
    "embedding": 6,
    "epochs": 1,
    "limit": 2,
}
#: Every challenge that reads explainers by default, those that replay a model among them.
EXPLAINED = ("rationale", "faithfulness", "certificates", "soft_faithfulness", "input_invariance", "randomisation")
REPLAYING = {"lrp", "deep_lift"}


@pytest.mark.slow
def test_the_usual_explainers_that_do_not_apply_are_left_out_and_noted(tmp_path: Path) -> None:
    run = describe_run(challenges=EXPLAINED, **SMALL)
    folder = execute(run, tmp_path)
    noted = folder.record["not_applicable"]
    assert set(noted) == REPLAYING
    assert noted["lrp"] == "this is for models that can be replayed layer by layer"
    assert is_complete(run, folder)
    for name in EXPLAINED:
        found = set(folder.findings(name).table["explainer"].to_pylist())
        usual = set(CHALLENGES.parse(name).explained_by)
        assert usual & REPLAYING
        assert usual - REPLAYING <= found
        assert not found & REPLAYING
    again = execute(describe_run(challenges=("faithfulness",), **SMALL), tmp_path)
    assert again.path != folder.path
    assert again.findings("faithfulness").table.equals(folder.findings("faithfulness").table)


@pytest.mark.parametrize("explainers", [("attention", "lrp"), CHALLENGES.parse("faithfulness").explained_by])
def test_explainers_that_were_named_must_apply_also_where_they_are_the_usual_ones(explainers: tuple[str, ...]) -> None:
    with pytest.raises(NotApplicable, match="'lrp' does not apply: this is for models that can be replayed"):
        describe_run(challenges=(f"faithfulness(explainers={explainers!r})",), **SMALL)


@pytest.mark.slow
def test_a_usual_challenge_that_was_named_must_apply(tmp_path: Path) -> None:
    path = tmp_path / "unmarked.csv"
    path.write_text("text,label\n" + "".join(f"word{n} is {n % 2},{n % 2}\n" for n in range(20)), encoding="utf-8")
    choices: dict[str, Any] = {"data": path, "tokenizer": "whitespace", "encoder": "average(hidden=4)", "epochs": 1}
    with pytest.raises(NotApplicable, match="'rationale' does not apply: the corpus has no rationales"):
        describe_audit(challenges=("rationale", "uniform"), **choices)
    few = vars(Questions(("uniform",), usual=("rationale",)).put())
    folder = execute(replace(describe_run(challenges=(), **choices), **few), tmp_path)
    assert folder.record["not_applicable"] == {"rationale": "the corpus has no rationales"}
    assert describe_audit(**choices).usual.challenges == set(map(CHALLENGES.parse, DEFAULT))


def test_whether_a_challenge_was_named_decides_no_finding_and_no_id() -> None:
    small = {"corpus": "reviews(train=20, dev=6, test=6)"}
    named, usual = describe_audit(challenges=DEFAULT, **small), describe_audit(**small)
    assert named.usual != usual.usual
    assert named.id == usual.id
    assert named == usual


@pytest.mark.slow
def test_what_was_passed_over_is_still_refused_where_it_is_named_later(tmp_path: Path) -> None:
    trained = execute(describe_run(challenges=(), corpus="reviews(train=20, dev=6, test=6)", epochs=1), tmp_path)
    path = tmp_path / "unmarked.csv"
    path.write_text("text,label\n" + "".join(f"fine or bad {n},{('negative', 'positive')[n % 2]}\n" for n in range(9)))
    execute(describe_audit(trained.path, data=path, challenges=None), tmp_path)
    with pytest.raises(NotApplicable, match="'rationale' does not apply"):
        execute(describe_audit(trained.path, data=path, challenges=DEFAULT), tmp_path)


@pytest.mark.parametrize(
    ("challenge", "choices", "reason"),
    [
        ("knockout", {}, r"checkpoints of the Transformers library \(--model, --fine-tune\)"),
        ("heads", {"encoder": "average"}, r"checkpoints of the Transformers library \(--model, --fine-tune\)"),
        ("joint_adversary", {"structure": "hierarchical"}, "checkpoints of the Transformers library"),
        ("layers", {}, "checkpoints of the Transformers library, or a Transformer decoder"),
        ("layers_bleu", {}, "models that write texts"),
        ("layers_bleu", SMALL, "a Transformer decoder"),
        ("bleu(beam=2)", {}, "models that write texts"),
        ("rationale(explainers=('attention',))", {**SMALL, "forced": "own"}, "the corpus has no rationales"),
    ],
)
def test_what_no_training_makes_applicable_is_refused_before_any(
    challenge: str, choices: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NotApplicable, match=f"does not apply: .*{reason}"):
        describe_run(challenges=(challenge,), **{"corpus": "reviews(train=20, dev=6, test=6)", **choices})


@pytest.mark.parametrize("decoder", [SMALL["decoder"], "transformer(layers=1, heads=1, hidden=6, feedforward=6)"])
def test_a_thorough_audit_of_translations_passes_over_what_is_for_classifiers(decoder: str, tmp_path: Path) -> None:
    choices = {**SMALL, "decoder": decoder}
    if decoder != SMALL["decoder"]:
        choices = {name: value for name, value in choices.items() if name != "encoder"}
    usual = describe_audit(thorough=True, **choices)
    assert tuple(map(text_of, usual.challenges))[-len(THOROUGH) :] == THOROUGH
    # What is for classifiers trains no other models either.
    assert not any(companion.against or companion.guide for companion in usual.companions)
    few = vars(Questions(("uniform",), added=("trained_uniform", "guide", "adversarial_training")).put())
    folder = execute(replace(describe_run(challenges=(), **choices), **few), tmp_path)
    assert set(folder.record["not_applicable"]) == {"guide", "adversarial_training"}
    assert folder.record["not_applicable"]["guide"] == "it is for classifiers, and this model writes"
    assert "trained_uniform" in folder.challenges
    with pytest.raises(NotApplicable, match="'guide' does not apply: it is for classifiers"):
        describe_run(challenges=("uniform", "guide"), **choices)
    if "encoder" not in choices:
        with pytest.raises(
            NotApplicable, match="'gating' does not apply: this is for models whose attention can be given"
        ):
            describe_run(challenges=("gating",), **choices)


def test_removal_is_for_classifiers() -> None:
    with pytest.raises(InputError, match="Removal is for classifiers"):
        describe_run(removal="attention", removal_share=0.1, **SMALL)


def test_a_thorough_audit_adds_to_the_usual_challenges() -> None:
    usual = (THOROUGHLY.get(name, name) for name in DEFAULT)
    assert Questions.of(Options(thorough=True)).texts == (*usual, *THOROUGH)


def test_a_model_that_selects_is_asked_about_its_selection_unasked() -> None:
    run = describe_run(selector="hardkuma", encoder="bilstm(hidden=4)", embedding=6, limit=2)
    named = {challenge.name: challenge for challenge in run.challenges}
    assert {*DEFAULT, "selection"} <= set(named)
    assert named["instances"].explained_by[0] == "selection"
    plain = describe_run(encoder="bilstm(hidden=4)", embedding=6, limit=2)
    assert "selection" not in {challenge.name for challenge in plain.challenges}
