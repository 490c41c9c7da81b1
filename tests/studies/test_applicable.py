"""What does not apply to a model is passed over with a reason where it is usual, and refused where it was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attentest.auditing import asked, describe_audit
from attentest.challenges import CHALLENGES, DEFAULT, THOROUGH
from attentest.errors import InputError, NotApplicable
from attentest.registry import text_of
from attentest.studies.describe import describe_run
from attentest.studies.execute import execute, is_complete

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


def test_the_usual_explainers_that_do_not_apply_are_left_out_and_noted(tmp_path: Path) -> None:
    run = describe_run(challenges=EXPLAINED, **SMALL)
    folder = execute(run, tmp_path)
    noted = folder.record["not_applicable"]
    assert set(noted) == REPLAYING
    assert noted["lrp"] == "this model cannot be replayed layer by layer"
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


def test_explainers_that_were_named_must_apply() -> None:
    with pytest.raises(NotApplicable, match="'lrp' does not apply: this model cannot be replayed layer by layer"):
        describe_run(challenges=("faithfulness(explainers=('attention', 'lrp'))",), **SMALL)


@pytest.mark.parametrize(
    ("challenge", "choices", "reason"),
    [
        ("knockout", {}, r"checkpoints of the Transformers library \(--model, --fine-tune\)"),
        ("heads", {"encoder": "average"}, r"checkpoints of the Transformers library \(--model, --fine-tune\)"),
        ("joint_adversary", {"structure": "hierarchical"}, "checkpoints of the Transformers library"),
        ("layers", {}, "checkpoints of the Transformers library, or a Transformer decoder"),
        ("layers_bleu", {}, "it writes no text"),
        ("layers_bleu", SMALL, "it has no layers of attention"),
        ("bleu(beam=2)", {}, "it writes no text"),
        ("rationale(explainers=('attention',))", {**SMALL, "forced": "own"}, "the corpus marks no tokens"),
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
    named = ("uniform", "trained_uniform", "guide", "adversarial_training")
    folder = execute(describe_run(challenges=named, **choices), tmp_path)
    assert set(folder.record["not_applicable"]) == {"guide", "adversarial_training"}
    assert folder.record["not_applicable"]["guide"] == "it is for classifiers, and this model writes"
    assert "trained_uniform" in folder.challenges
    if "encoder" not in choices:
        with pytest.raises(NotApplicable, match="'gating' does not apply: the attention of this model cannot be given"):
            describe_run(challenges=("gating",), **choices)


def test_removal_is_for_classifiers() -> None:
    with pytest.raises(InputError, match="Removal is for classifiers"):
        describe_run(removal="attention", removal_share=0.1, **SMALL)


def test_a_thorough_audit_adds_to_the_usual_challenges() -> None:
    assert asked(DEFAULT, thorough=True) == (*DEFAULT, *THOROUGH)
