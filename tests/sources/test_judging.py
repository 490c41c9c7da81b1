"""Judgement against scikit-learn, SciPy and cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from sklearn.linear_model import Ridge
from tests.support.chat import chat_model, chat_tokenizer

from attentest.sources.case import open_case
from attentest.sources.judging.alternatives import Alternatives, ask_alternatives
from attentest.sources.judging.learnt import ALPHAS, fit_heads
from attentest.sources.judging.measures import (
    LEARNT,
    datamodelling,
    followed,
    judge,
    row_of,
    share_of_largest,
    with_layers,
    with_learnt,
)
from attentest.sources.judging.record import KNOWN, Given, Record, examine
from attentest.sources.judging.verdict import BASELINE, answered, other_weights, rule
from attentest.sources.language import LanguageModel
from attentest.sources.methods import METHODS
from attentest.sources.methods.ablation import drawn_subsets
from attentest.sources.methods.gradient import GradientTimesInput
from attentest.sources.planting.planted import planted_questions
from attentest.sources.prompt import Prompter


def made_up(number: int = 0, **fields: object) -> Record:
    """A question over four sources of which the second decides, with attention of one head that knows it."""
    random = np.random.default_rng(number)
    drops = np.array([0.1, 3.0, -0.2, 0.3]) + random.normal(0, 0.05, 4)
    kept = random.random((16, 4)) < 0.5
    heads = random.random((2, 3, 4)) / 4
    heads[1, 2] = np.clip(drops, 0, None) / 10 + random.random(4) / 50
    about: dict[str, object] = {
        **{
            "id": str(number),
            "question": "Where?",
            "sources": ["a"] * 4,
            "items": ["a"] * 4,
            "of_source": [0, 1, 2, 3],
        },
        **{"answer": "Here.", "span": "", "explained": 2, "tokens": 30, "whole": -1.0, "empty": -5.0},
        **{"without": (-1.0 - drops).tolist(), "kept": kept.tolist(), "values": (kept @ drops).tolist()},
        **{"given": {"right": Given(drops.tolist(), 4, 99, 0.5), BASELINE: Given([3.0, 1.0, 2.0, 0.0])}},
        **{"heads": heads.tolist(), "rest": [0.1] * 4},
        **{"kind": "fact", "deciding": [1], "margins": [2.0, -2.0], "right": True},
    }
    return Record(**{**about, **fields})  # type: ignore[arg-type]


def test_a_record_is_the_same_after_it_was_written() -> None:
    assert Record.from_json(made_up().to_json()) == made_up()


@pytest.mark.parametrize(
    ("whole", "empty", "status"),
    [(-1.0, -2.0, "sources"), (-1.0, -1.9, "none"), (-1.0, 2 * KNOWN, "known"), (-0.1, 2 * KNOWN, "sources")],
)
def test_what_the_model_knew_is_told_apart_from_what_no_source_says(whole: float, empty: float, status: str) -> None:
    assert made_up(whole=whole, empty=empty).status == status


def test_datamodelling_score_is_spearmans() -> None:
    record = made_up()
    scores = np.array([0.3, 0.1, 0.0, 0.2])
    kept, values = np.array(record.kept), np.array(record.values)
    assert datamodelling(scores, kept, values) == pytest.approx(spearmanr(kept @ scores, values).statistic)
    assert datamodelling(record.drops, kept, values) == pytest.approx(1.0)
    assert datamodelling(np.zeros(4), kept, values) == 0


def test_shares_are_of_the_largest_fall() -> None:
    drops = np.array([1.0, 4.0, -8.0])
    assert [share_of_largest(np.eye(3)[first], drops) for first in range(3)] == [0.25, 1.0, -1.0]
    assert np.isnan(share_of_largest(np.eye(3)[0], -np.abs(drops)))


def test_learnt_heads_are_a_ridge_on_attention_and_find_the_head_that_knows() -> None:
    records = [made_up(number) for number in range(40)]
    weights = fit_heads(records)
    assert np.unravel_index(np.abs(weights).argmax(), weights.shape) == (1, 2)
    rows, values = [], []
    for record in records:
        for left in range(4):
            told = np.array([record.whole, *record.without])
            spread, mean = told.std(), told.mean()
            attention = np.array(record.heads).reshape(6, 4)
            every = np.stack([attention.sum(1), *(attention.sum(1) - attention[:, n] for n in range(4))])
            rows.append((every - every.mean(0))[left + 1])
            values.append((told[left + 1] - mean) / spread)
        rows.append((every - every.mean(0))[0])
        values.append((told[0] - mean) / spread)
    given = np.array(rows)
    fits = [Ridge(alpha, fit_intercept=False).fit(given / given.std(), values).coef_ for alpha in ALPHAS]
    assert min(np.abs(fit - weights.ravel()).max() for fit in fits) < 1e-6


def test_questions_are_scored_by_what_was_learnt_without_them() -> None:
    records = [made_up(number) for number in range(25)]
    first = with_learnt(records)[0].given[LEARNT].scores
    changed = with_learnt([made_up(0, whole=0.0, without=[-9.0, 0.0, 0.0, 0.0]), *records[1:]])[0].given[LEARNT].scores
    assert first == changed
    assert LEARNT not in with_learnt(records[:10])[0].given


def test_the_verdict_needs_an_interval_beyond_the_mark_and_more_than_words_in_common() -> None:
    records = with_layers(with_learnt([made_up(number) for number in range(40)]))
    ruled = rule(records, "right")
    assert (ruled.tone, ruled.judged.share.value, ruled.judged.hits.value) == ("supports", 1.0, 1.0)
    assert ruled.judged.counts == (40, 40, 40, 0)
    assert ruled.ahead.low > 0
    assert rule(records, LEARNT).tone == "supports"
    assert rule(records, BASELINE).tone == "against"
    same = [made_up(n, given={"right": r.given["right"], BASELINE: r.given["right"]}) for n, r in enumerate(records)]
    assert rule(same, "right").tone == "mixed"
    assert rule(records[:10], "right").tone == "too few"
    assert {rule(records, f"attention(layer={layer})").judged.counts[0] for layer in (1, 2)} == {40}


def test_only_confirmed_questions_count_as_hits() -> None:
    records = [made_up(0), made_up(1, margins=[2.0, 1.0]), made_up(2, right=False), made_up(3, deciding=[], margins=[])]
    assert judge(records, "right").counts[2] == 1
    assert (answered(records).planted, answered(records).right, answered(records).confirmed) == (3, 2, 1)


def test_an_injected_instruction_counts_where_it_is_followed() -> None:
    records = [made_up(0, injected=1), made_up(1, injected=0), made_up(2)]
    assert [followed(record) for record in records] == [True, False, False]
    judged = judge(records, "right")
    assert (judged.injected.value, judged.counts[3]) == (1.0, 1)
    assert judge(records, BASELINE).injected.value == 0.0


def test_subsets_that_are_kept_apart_are_never_fitted_on() -> None:
    first, second = (drawn_subsets("q", 5, 16, 0, apart=apart) for apart in (False, True))
    codes = [{row.tobytes() for row in each} for each in (first, second)]
    assert [len(each) for each in codes] == [16, 16]
    assert not codes[0] & codes[1]
    assert drawn_subsets("q", 20, 16, 0).shape == (16, 20)
    assert (drawn_subsets("q", 5, 4, 0) == first[:4]).all()


def test_a_planted_question_gives_a_whole_record() -> None:
    prompter = Prompter(chat_tokenizer())
    question = next(planted_questions(1, sources=3))
    case = open_case(LanguageModel(chat_model(), prompter.tokenizer), prompter, question, longest=4)
    case.answer.explained[:] = True
    found = examine(case, [METHODS.parse("attention"), METHODS.parse("leave_one_out")], held_out=4)
    assert found.given["leave_one_out"].scores == pytest.approx(found.drops.tolist())
    assert (len(found.kept), len(found.values), len(found.margins)) == (4, 4, 2)
    assert np.array(found.heads).shape == (3, 2, 3)
    assert Record.from_json(found.to_json()) == found
    assert row_of(found, "leave_one_out")["share"] in (None, 1.0)
    for scores in (given.scores for given in found.given.values()):
        first = np.argsort(-np.array(scores), kind="stable")[:2].tolist()
        kept = np.array([[place not in first for place in range(3)]])
        assert found.fall_without(first) == pytest.approx(case.whole - case.log_probability(kept)[0])
    assert found.fall_without([int(np.argmax(found.drops))]) == pytest.approx(found.drops.max())


def test_two_sources_are_taken_out_together() -> None:
    ablations = [[True, False, True, False], [False, False, True, True]]
    record = made_up(given={"right": Given([0.1, 3.0, -0.2, 0.3])}, ablations=ablations, told=[-4.5, -9.0])
    assert record.fall_without([3, 1]) == 3.5
    assert record.fall_without([2]) is None
    assert judge([record], "right").drop_two.value == 3.5
    assert np.isnan(judge([made_up()], "right").drop_two.value)


def test_own_weights_handed_back_change_nothing_and_a_single_source_gets_all() -> None:
    prompter = Prompter(chat_tokenizer())
    question = next(planted_questions(1, sources=3))
    case = open_case(LanguageModel(chat_model(), prompter.tokenizer), prompter, question, longest=4)
    found = ask_alternatives(case, draws=12)
    assert sum(found.shares) == pytest.approx(1.0)
    same = [fall for order, fall in zip(found.orders, found.permuted, strict=True) if order == [0, 1, 2]]
    assert same
    assert np.allclose(same, 0, atol=1e-4)
    assert any(abs(fall) > 1e-6 for fall in (*found.permuted, *found.single, found.uniform))
    # Where all other sources are cut and the one gets their weight, by the library's own attention edited by hand.
    tokens = [torch.tensor(case.prompt.tokens_of(item)) for item in range(3)]

    def all_to_first(weights: torch.Tensor, values: torch.Tensor, allowed: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = weights.clone()
        of_first = weights[..., tokens[0]]
        total = sum(weights[..., each].sum(-1, keepdim=True) for each in tokens)
        for each in tokens:
            made[..., each] = 0
        made[..., tokens[0]] = of_first / of_first.sum(-1, keepdim=True) * total
        return made, values

    edits = dict.fromkeys(range(len(case.model.places)), all_to_first)
    told = case.model.log_probabilities([case.prompt.ids], case.answer.ids, prefix=case.prefix, edits=edits)
    assert found.single[0] == pytest.approx(case.whole - float(case.answer.summed(told.numpy()[0])), abs=1e-4)
    one = ask_alternatives(case, first=2, last=2, draws=0)
    assert one.permuted == []
    assert one.single != found.single


def test_the_farthest_weights_that_leave_the_answer_are_found() -> None:
    tried = Alternatives([0.8, 0.1, 0.1], 0.0, [[1, 0, 2], [0, 2, 1]], [0.1, 3.0], [0.0, 2.0, 2.0])
    assert tried.farthest() == pytest.approx(0.7)
    assert Alternatives([0.7, 0.3], 9.0, [[1, 0]], [9.0], [9.0, 9.0]).farthest() == 0
    records = [made_up(0, alternatives=tried), made_up(1)]
    assert (other_weights(records).questions, other_weights(records).stays.value) == (1, 1.0)
    assert Record.from_json(records[0].to_json()) == records[0]


def test_a_method_that_memory_is_too_small_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    prompter = Prompter(chat_tokenizer())
    question = next(planted_questions(1, sources=3))
    case = open_case(LanguageModel(chat_model(), prompter.tokenizer), prompter, question, longest=4)

    def out(*args: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(GradientTimesInput, "score", out)
    methods = [METHODS.parse(name) for name in ("gradient_x_input", "leave_one_out")]
    found = examine(case, methods, held_out=0, alternatives=False)
    assert found.given["gradient_x_input"].not_judged == "memory ran out"
    assert found.given["leave_one_out"].scores
    assert found.alternatives is None
