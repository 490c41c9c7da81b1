from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.challenges import CHALLENGES
from attentest.challenges.certificates.examine import ABSORBING, LIMITS, OUTSIDE, SAMPLED, WORDS, Certificates
from attentest.challenges.challenge import Examination
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError, UnknownName
from attentest.explainers import EXPLAINERS
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.perturbation import leave_one_out
from attentest.explainers.perturbation.one_by_one import deleted
from attentest.models.huggingface import pretrained
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.site import look
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.encoders import ENCODERS
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import DEFAULT

IG = "integrated_gradients(n_steps=8, tolerance=0.2)"


@pytest.fixture(autouse=True)
def _without_gradients():
    with torch.no_grad():
        yield


def made(count: int = 10, classes: int = 2, encoder: str = "bilstm(hidden=5)"):
    split = made_up_split(count, 1, 9)
    parts = Architecture(ENCODERS.parse(encoder), ATTENTIONS.parse("additive"), None, 6)
    return split, *classifier(parts, split, classes)


def examined(split, model, encoded, rows: list[int] | None = None, texts: int | None = None) -> Examination:
    batch = whole(encoded) if rows is None else encoded.batch(np.array(rows))
    tokens = split.table["tokens"].take(pa.array(batch.rows.numpy()))
    return Examination(model, batch, model.read(batch), 0, pa.concat_arrays(tokens.chunks), texts=texts)


def found(table: pa.Table, explainer: str, check: str) -> dict[int, dict]:
    return {r["row"]: r for r in table.to_pylist() if (r["explainer"], r["check"]) == (explainer, check)}


@pytest.mark.parametrize("classes", [2, 3])
def test_what_explainers_say_of_themselves_is_kept_text_by_text(classes):
    examination = examined(*made(classes=classes))
    table = Certificates((IG, "lrp", "deep_lift")).examine(examination)
    subject, batch, reading = examination.subject, examination.batch, examination.reading
    ig, lrp, lift = (EXPLAINERS.parse(e).explain(subject, batch, reading) for e in (IG, "lrp", "deep_lift"))
    for row in range(10):
        missed = abs(float(ig.scores[row].double().sum() - ig.certificate["difference"][row]))
        share = missed / max(abs(float(ig.certificate["difference"][row])), 0.01)
        # Beside it, what the end of the path misses of the model's own output: here no more than rounding.
        assert -1e-6 < found(table, IG, "completeness_gap")[row]["value"] - share < 1e-4
        assert found(table, IG, "completeness_gap")[row]["within"] == (share <= 0.01)
        assert found(table, IG, "steps")[row]["value"] == ig.certificate["steps"][row]
        assert found(table, IG, "complete")[row]["value"] == ig.certificate["complete"][row]
        gap, delta = (float(lift.certificate[name][row]) for name in ("summation_gap", "delta"))
        assert found(table, "deep_lift", "summation_gap")[row]["value"] == pytest.approx(gap / max(abs(delta), 0.01))
        kept = [float(lrp.certificate[name][row]) for name in ("bias", "epsilon", "symbols")]
        sizes = abs(1 - sum(kept)) + sum(map(abs, kept))
        for name, share in zip(("bias", "epsilon", "symbols"), kept, strict=True):
            shown = found(table, "lrp", f"absorbed_{name}")[row]
            assert shown["value"] == pytest.approx(abs(share) / sizes)
            assert 0 <= shown["value"] <= 1
            assert shown["limit"] is shown["within"] is None
        assert found(table, "lrp", "conservation_gap")[row]["within"]


def test_scores_and_certificates_of_other_challenges_are_not_computed_again(monkeypatch):
    calls = []
    monkeypatch.setattr(leave_one_out, "deleted", lambda *given: calls.append(1) or deleted(*given))
    examination = examined(*made(), texts=10**12)
    examination.scores("leave_one_out")
    assert len(calls) == 1
    table = Certificates(("leave_one_out",)).examine(examination)
    assert len(calls) == 1
    assert set(table["not_judged"].to_pylist()) == {OUTSIDE}
    assert examination.certificate("leave_one_out") == {}


def test_every_text_may_be_in_the_sample_and_equal_to_a_loop():
    examination = examined(*made())
    table = Certificates(("leave_one_out", "deletion", "attention", "gradient"), share=1.0).examine(examination)
    assert table["not_judged"].null_count == len(table)
    assert all(row["within"] for row in table.to_pylist())
    assert all(row["value"] == 0 for row in table.to_pylist() if row["check"] == "repeat_gap")
    assert {row["explainer"] for row in table.to_pylist() if row["check"] == "loop_gap"} == {
        "leave_one_out",
        "deletion",
    }


def test_a_wrong_deletion_is_noticed_by_the_loop(monkeypatch):
    monkeypatch.setattr(leave_one_out, "deleted", lambda *given: deleted(*given).roll(1, 0))
    table = Certificates(("leave_one_out",), share=1.0).examine(examined(*made()))
    values = [row["value"] for row in found(table, "leave_one_out", "loop_gap").values()]
    assert max(values) > LIMITS["loop_gap"]


SLOPES = ("gradient", "gradient(path='full')", "gradient_norm", "gradient_x_input")


def test_slopes_are_as_steep_as_the_output_says():
    table = Certificates(SLOPES, share=1.0).examine(examined(*made()))
    for explainer in SLOPES:
        for row in found(table, explainer, "slope_gap").values():
            assert row["within"], (explainer, row)
            assert row["value"] < 0.01


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_slopes_of_checkpoints_that_count_twice_are_noticed(family, monkeypatch):
    """As they did once: what comes back to a site's values came back to them again through the states."""
    split = made_up_split(4, 3, 6)
    vocabulary, tokenizer = Vocabulary.from_split(split), tokenizer_of()
    answers = ["word1", "word2"] if family == "t5" else None
    subject = build_pretrained(tiny(family, size=len(tokenizer)), tokenizer, vocabulary, answers=answers)
    batch = whole(Encoded.of(split, vocabulary))

    def gaps():
        with torch.no_grad():
            reading = subject.read(batch)
        tokens = pa.concat_arrays(split.table["tokens"].chunks)
        table = Certificates(SLOPES, share=1.0).examine(Examination(subject, batch, reading, 0, tokens))
        return [row for explainer in SLOPES for row in found(table, explainer, "slope_gap").values()]

    assert all(row["within"] for row in gaps()), [row["value"] for row in gaps()]

    def twice(*given):
        seen = look(*given)
        return seen._replace(values=seen.values + (seen.values - seen.values.detach()))

    monkeypatch.setattr(pretrained, "look", twice)
    assert not any(row["within"] for row in gaps()), [row["value"] for row in gaps()]


@pytest.mark.parametrize("words", [1, 2, 3, 100])
def test_of_a_long_text_only_some_words_are_taken_out_one_by_one(words, monkeypatch):
    taken = []
    from attentest.explainers import certificates

    delete = certificates.delete_literally

    def counted(subject, batch, row, places=None):
        taken.append((len(places), int(batch.mask[row].sum())))
        return delete(subject, batch, row, places)

    monkeypatch.setattr(certificates, "delete_literally", counted)
    Certificates(("leave_one_out",), share=1.0, words=words).examine(examined(*made()))
    assert len(taken) == 10
    assert all(min(1, there) <= tried <= min(words, there) for tried, there in taken)


@dataclass(frozen=True)
class Moody(Explainer):
    """Other scores every time it is asked."""

    name: ClassVar[str] = "moody"
    summary: ClassVar[str] = ""
    reference: ClassVar[str] = ""
    cost: ClassVar[str] = ""

    def explain(self, subject, batch, reading, target=None):
        odd = torch.where(batch.keys % 2 == 0, torch.nan, 1.0)
        return Attribution(torch.rand_like(batch.mask, dtype=torch.float64) * batch.mask, {"temper": odd})


def test_scores_that_change_when_computed_again_are_noticed_and_unknown_checks_are_kept(monkeypatch):
    monkeypatch.setitem(EXPLAINERS.own, "moody", Moody)
    examination = examined(*made())
    table = Certificates(("moody",), share=1.0).examine(examination)
    assert not any(row["within"] for row in found(table, "moody", "repeat_gap").values())
    for place, row in enumerate(examination.rows.tolist()):
        shown, odd = found(table, "moody", "temper")[row], bool(examination.batch.keys[place] % 2 == 0)
        assert shown["not_judged"] == ("not a number" if odd else None)
        assert (shown["value"] is None) == odd


@pytest.mark.slow
def test_the_sample_depends_on_seed_and_text_and_not_on_the_batch():
    split, model, encoded = made(count=60)
    challenge = Certificates((IG, "lrp", "leave_one_out"), share=1.0, sample=15)
    together = challenge.examine(examined(split, model, encoded, texts=60)).to_pylist()
    parts = [list(range(start, start + 7)) for start in range(0, 56, 7)] + [[56, 57, 58, 59]]
    cut = [
        row for rows in parts for row in challenge.examine(examined(split, model, encoded, rows, texts=60)).to_pylist()
    ]
    same = {(r["row"], r["explainer"], r["check"]): r for r in cut}
    assert len(same) == len(together)
    for row in together:
        other = same[row["row"], row["explainer"], row["check"]]
        assert row["not_judged"] == other["not_judged"]
        if row["not_judged"] is None:
            assert row["value"] == pytest.approx(other["value"], abs=1e-4)
    inside = {r["row"] for r in together if r["check"] == "repeat_gap" and r["not_judged"] is None}
    assert 5 < len(inside) < 30
    assert all((r["row"] in inside) == (r["not_judged"] is None) for r in together if r["check"] in SAMPLED)
    assert all(r["not_judged"] is None for r in together if r["check"] not in SAMPLED)


@pytest.mark.parametrize(("count", "checked"), [(1, 1), (10, 2), (60, 6), (101, 11)])
def test_a_tenth_of_the_texts_is_checked_and_never_fewer_than_two(count, checked):
    split, model, encoded = made(count)
    inside: list[int] = []
    for rows in np.array_split(np.arange(count), max(1, count // 7)):
        examination = replace(examined(split, model, encoded, rows.tolist(), count), donors=encoded.batch)
        table = Certificates(("attention",)).examine(examination)
        inside += [row for row, one in found(table, "attention", "alone_gap").items() if one["not_judged"] is None]
    assert len(inside) == checked
    whole_split = replace(examined(split, model, encoded, texts=count), donors=encoded.batch)
    table = Certificates(("attention",)).examine(whole_split)
    again = {row for row, one in found(table, "attention", "alone_gap").items() if one["not_judged"] is None}
    assert again == set(inside)


def test_of_many_texts_no_more_than_the_sample_is_checked():
    examination = examined(*made(count=1000), texts=1000)
    table = Certificates(("attention",)).examine(examination)
    judged = [one["not_judged"] is None for one in found(table, "attention", "alone_gap").values()]
    assert len(judged) == 1000
    assert 8 <= sum(judged) <= 35


@pytest.mark.slow
def test_every_measure_can_be_computed_and_every_check_has_words():
    methods = (
        *Faithfulness.explainers,
        "deep_lift",
        "kernel_shap",
        "lime(n_samples=20)",
        "smooth_grad(nt_samples=3)",
        "information_bottleneck(steps=2, draws=2)",
        "deletion",
        "random",
    )
    challenge = Certificates(methods)
    table = challenge.examine(examined(*made()))
    table = table.append_column("predicted", pa.array([0] * len(table), pa.int32()))
    findings = Findings("certificates", challenge.measures, table)
    of_transformers = {"absorbed_positions", "absorbed_softmax", "absorbed_other_text"}
    assert {m.where["check"] for m in challenge.measures} == set(WORDS) - of_transformers
    assert {check for kind in EXPLAINERS.values() for check in kind.certifies} | set(SAMPLED) == set(WORDS)
    written = {(r["explainer"], r["check"]) for r in table.to_pylist()}
    assert {(m.where["explainer"], m.where["check"]) for m in challenge.measures} == written
    for measure in challenge.measures:
        assert estimate(findings, measure).judged > 0, measure.name


@pytest.mark.slow
def test_what_is_absorbed_on_the_way_through_a_transformer():
    split, tokenizer = made_up_split(6, 2, 6), tokenizer_of()
    vocabulary = Vocabulary.from_split(split)
    model = build_pretrained(tiny("bert", size=len(tokenizer)), tokenizer, vocabulary)
    challenge = Certificates(("attn_lrp",))
    table = challenge.examine(examined(split, model, Encoded.of(split, vocabulary)))
    assert {m.where["check"] for m in challenge.measures} == set(table["check"].to_pylist())
    for row in range(6):
        kept = [found(table, "attn_lrp", f"absorbed_{name}")[row]["value"] for name in ABSORBING if name != "epsilon"]
        assert 0 < sum(kept) <= 1
        assert found(table, "attn_lrp", "conservation_gap")[row]["within"]


@pytest.mark.parametrize("encoder", ["average(hidden=5)", "convolution(filters=4)"])
def test_certificates_of_other_encoders(encoder):
    table = Certificates(share=1.0).examine(examined(*made(encoder=encoder)))
    assert all(row["within"] for row in table.to_pylist() if row["check"] in SAMPLED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sample=0", "at least 1"),
        ("share=0.0", "above 0"),
        ("share=1.5", "must be at most 1"),
        ("words=0", "at least 1"),
        ("explainers=()", "at least one"),
        ("explainers=('oracle',)", "nothing to check"),
        ("explainers=('atention',)", "Did you mean 'attention'"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(text, said):
    with pytest.raises((InputError, UnknownName), match=said) as error:
        CHALLENGES.parse(f"certificates({text})")
    assert "\n" not in str(error.value)


def test_every_audit_has_certificates_of_the_explainers_it_ranks():
    assert "certificates" in DEFAULT
    assert Certificates().explainers == Faithfulness().explainers
