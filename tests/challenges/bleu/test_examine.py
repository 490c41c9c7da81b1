from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
import sacrebleu
import torch
from tests.support.pairs import pair_model
from tests.support.translations import found, made_up_translations, translator

from attentest.challenges import CHALLENGES
from attentest.challenges.bleu.examine import TRAINED, other_weights
from attentest.data.batches import Encoded
from attentest.data.subwords import joined
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.store.findings import Findings
from attentest.store.summary import estimate

SPLIT = made_up_translations()
VOCABULARY = Vocabulary.from_split(SPLIT)
LOST = ("uniform", "random", "permuted")


def written(findings: Findings, weights: str, draw: int = 0) -> list[str]:
    table = findings.rows({"weights": weights})
    texts: list[str] = table.filter(pc.equal(table["draw"], draw))["hypothesis"].to_pylist()
    return texts


@pytest.mark.slow
def test_bleu_of_each_kind_of_weights_is_sacrebleus_of_what_is_written(tmp_path: Path) -> None:
    findings = found("bleu(beam=3)", SPLIT, translator(VOCABULARY), VOCABULARY, tmp_path)
    references = [" ".join(words) for words in SPLIT.table["target"].to_pylist()]
    assert findings.table["id"].to_pylist() == [i for i in SPLIT.ids for _ in range(4)]
    scores = {}
    for weights in ("own", *LOST):
        assert findings.rows({"weights": weights})["reference"].to_pylist() == references
        texts = written(findings, weights)
        scores[weights] = sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score
        assert estimate(findings, f"{weights}.bleu").value == pytest.approx(scores[weights])
    for weights in LOST:
        assert written(findings, weights) != written(findings, "own")
        assert estimate(findings, f"{weights}.change").value == pytest.approx(scores[weights] - scores["own"])
    assert set(findings.table["signature"].to_pylist()) == {
        f"nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:{sacrebleu.__version__}"
    }


@pytest.mark.slow
def test_own_weights_put_back_write_the_same_and_a_text_alone_writes_what_it_writes_among_others(
    tmp_path: Path,
) -> None:
    subject, encoded = translator(VOCABULARY), Encoded.of(SPLIT, VOCABULARY)
    findings = found("bleu(beam=2)", SPLIT, subject, VOCABULARY, tmp_path)
    assert VOCABULARY.target is not None
    for row in range(len(SPLIT)):
        target = encoded.batch(np.array([row])).target
        assert target is not None
        for weights in ("own", *LOST):
            weigh = other_weights(weights, 0, 0) or (lambda own, *_: own)
            alone = subject.translate(target.text, target.keys, beam=2, weigh=weigh)
            words = VOCABULARY.target.decode(alone.words[0, : int(alone.lengths[0])].tolist())
            among = written(findings, weights)[row].split()
            # What never ends is cut where it is.
            assert words[: len(among)] == among[: len(words)]


@pytest.mark.parametrize("weights", LOST)
def test_other_weights_sum_to_one_over_real_tokens_and_depend_on_text_and_step_alone(weights: str) -> None:
    weigh = other_weights(weights, 0, 5)
    assert weigh is not None
    mask = torch.tensor([[False, True, True, True, False], [False, True, False, False, False]])
    own = torch.tensor([[0.0, 0.5, 0.3, 0.2, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0]])
    keys = torch.tensor([11, 12])
    made = weigh(own, mask, keys, 4)
    torch.testing.assert_close(made.sum(-1).double(), torch.ones(2).double())
    assert (made[~mask] == 0).all()
    assert made[1, 1] == 1
    torch.testing.assert_close(weigh(own[:1, :4], mask[:1, :4], keys[:1], 4), made[:1, :4])
    again = torch.stack([weigh(own[:1], mask[:1], keys[:1], step)[0] for step in range(40)])
    if weights == "uniform":
        torch.testing.assert_close(made[0, 1:4], torch.full((3,), 1 / 3))
    else:
        assert len(again.unique(dim=0)) > 5
    if weights == "permuted":
        assert all(sorted(row.tolist()) == sorted(own[0].tolist()) for row in again)


@pytest.mark.slow
def test_more_draws_give_more_rows_and_texts_are_drawn_with_all_of_them(tmp_path: Path) -> None:
    findings = found("bleu(beam=1, draws=3)", SPLIT, translator(VOCABULARY), VOCABULARY, tmp_path)
    assert len(findings.table) == len(SPLIT) * (2 + 2 * 3)
    texts = [written(findings, "random", draw) for draw in range(3)]
    assert texts[0] != texts[1]
    references = [" ".join(words) for words in SPLIT.table["target"].to_pylist()]
    one = sacrebleu.corpus_bleu(
        [text for draw in texts for text in draw], [references * 3], tokenize="none", force=True
    ).score
    got = estimate(findings, "random.bleu")
    assert got.value == pytest.approx(one)
    assert got.low <= got.value <= got.high


@pytest.mark.slow
def test_subwords_are_put_together_before_they_are_compared(tmp_path: Path) -> None:
    split = made_up_translations(6, pieces=True)
    vocabulary = Vocabulary.from_split(split)
    findings = found("bleu(beam=2)", split, translator(vocabulary), vocabulary, tmp_path)
    first = findings.rows({"weights": "own"})
    assert first["reference"].to_pylist() == [joined(words) for words in split.table["target"].to_pylist()]
    assert not any("▁" in text for text in first["hypothesis"].to_pylist())
    assert "tok:13a" in first["signature"][0].as_py()
    kept = found("bleu(beam=2, tokenize='char')", split, translator(vocabulary), vocabulary, tmp_path)
    assert "tok:char" in kept.table["signature"][0].as_py()


@pytest.mark.slow
def test_models_trained_with_other_weights_write_too(tmp_path: Path) -> None:
    challenge = CHALLENGES.parse("bleu(trained=True)")
    assert challenge.companions == tuple(TRAINED.values())
    companions = {one: translator(VOCABULARY, one.attention or "", seed=3) for one in challenge.companions}
    findings = found(
        "bleu(beam=2, trained=True)", SPLIT, translator(VOCABULARY), VOCABULARY, tmp_path, companions=companions
    )
    assert {m.name for m in findings.measures} >= {"trained_uniform.change", "trained_random.bleu"}
    texts = {one: written(findings, one) for one in TRAINED}
    assert texts["trained uniform"] != texts["trained random"]
    assert estimate(findings, "trained_uniform.bleu").judged == len(SPLIT)


def test_it_objects_to_models_that_do_not_write() -> None:
    challenge, (classifies, _) = CHALLENGES.parse("bleu"), pair_model("bigru(hidden=4)")
    assert challenge.objection(classifies, has_rationale=True) == "this is for models that write texts"
    assert challenge.objection(translator(VOCABULARY), has_rationale=False) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [("bleu(beam=0)", "beam=0"), ("bleu(draws=0)", "draws=0"), ("bleu(tokenize='moses')", "must be one of auto, 13a")],
)
def test_wrong_parameters_are_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        CHALLENGES.parse(text)
