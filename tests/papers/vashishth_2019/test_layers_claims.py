"""Vashishth et al., section 4.3: what is lost when the attention of all layers is permuted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.papers.made_up_altered import altered_cell
from tests.papers.made_up_layers import MULTI30K, layered_cell

from attentest.papers.claims import Claim, Direction, load_claims
from attentest.papers.evidence import grouped
from attentest.papers.matching import of_model
from attentest.papers.outcomes import Outcome, evaluate
from attentest.papers.vashishth_2019.families import Families, families

VASHISHTH = "vashishth_2019"
KINDS = {
    "encoder": "self-attention matters in translation: encoder",
    "decoder": "self-attention matters in translation: decoder",
    "cross": "attention matters in translation: across",
}


def conclusions(cells: list[object]) -> dict[tuple[str, str], Outcome]:
    outcomes = evaluate(VASHISHTH, cells)  # type: ignore[arg-type]
    return {
        (o.claim.rule.name, o.claim.corpus): o
        for o in outcomes
        if isinstance(o.claim, Direction) and o.claim.table == "Section 4.3"
    }


def test_a_run_of_fewer_epochs_than_the_study_has_says_so(tmp_path: Path) -> None:
    for epochs, said in ((3, False), (1, True)):
        cells = [layered_cell(tmp_path / str(epochs), seed=s, epochs=epochs) for s in range(2)]
        found = conclusions(cells)["self-attention matters in every task", "SST"]
        assert ("epochs 1 instead of 3" in found.difference) is said


def test_a_conclusion_holds_where_the_whole_interval_lies_below_its_mark(tmp_path: Path) -> None:
    cells = [layered_cell(tmp_path, seed=s, all_layers={"self": 0.5 + 0.01 * s}) for s in range(3)]
    cells += [layered_cell(tmp_path, corpus="snli", seed=s, all_layers={"self": 0.7 + 0.1 * s}) for s in range(3)]
    cells += [layered_cell(tmp_path, corpus=MULTI30K, seed=s) for s in range(3)]
    found = conclusions(cells)
    sst, snli = (found["self-attention matters in every task", corpus] for corpus in ("SST", "SNLI"))
    assert sst.status == "agrees"
    assert sst.ours == pytest.approx(-29 + 10)
    assert "instead of BERT" in sst.difference
    assert snli.status == "unsettled"
    assert snli.low < 0 < snli.high
    for kind, lost in (("encoder", -40), ("decoder", -20), ("cross", -70)):
        one = found[KINDS[kind], "Multi30k"]
        assert (one.status, one.ours) == ("agrees", pytest.approx(lost + 10))
        assert "4 layers" in one.difference
    assert found["attention across matters more than the encoder's", "Multi30k"].status == "agrees"


def test_what_was_not_run_is_not_settled_and_what_gains_differs(tmp_path: Path) -> None:
    cells = [layered_cell(tmp_path, seed=s, all_layers={"self": 0.9}) for s in range(3)]
    found = conclusions([*cells, layered_cell(tmp_path, corpus=MULTI30K, with_bleu=False)])
    assert found["self-attention matters in every task", "SST"].status == "differs"
    assert found["self-attention matters in every task", "SNLI"].status == "not run"
    assert found[KINDS["cross"], "Multi30k"].reason == "its runs have no finished layers_bleu"


def test_checkpoints_stand_for_no_recurrent_model_and_these_for_no_checkpoint(tmp_path: Path) -> None:
    tuned = [altered_cell(tmp_path, seed=s, own=0.9, fine_tune="/somewhere/all-MiniLM-L6-v2") for s in range(3)]
    assert not any(o.settled for o in evaluate(VASHISHTH, tuned) if isinstance(o.claim, Claim))
    assert families(tuned) == Families((), ())
    rules = load_claims(VASHISHTH).rules
    (group,), (other,) = grouped(tuned), grouped([altered_cell(tmp_path)])
    assert of_model(group, rules, "bert")
    assert not of_model(group, rules, "bahdanau_2015")
    assert of_model(other, rules, "bahdanau_2015")
