from collections.abc import Iterator
from itertools import chain, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from attentest.data.corpora import review_grammar as grammar
from attentest.data.corpora.review_things import THINGS
from attentest.data.corpora.review_words import NEGATIONS, OPINIONS
from attentest.data.corpora.reviews import Reviews
from attentest.data.corpus import Corpus, Split
from attentest.errors import InputError

POLARITY = {word: (-1, 1)[side] for rows in OPINIONS.values() for side in (0, 1) for word in rows[side]}
NEGATION = set(chain(*NEGATIONS.values()))
STOPS = set(".,;!")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Reviews().load()


def rows(split: Split) -> Iterator[tuple[list[str], list[bool], int]]:
    columns = [split.table[name].to_pylist() for name in ("tokens", "rationale", "label")]
    return zip(*columns, strict=True)


def everything(corpus: Corpus) -> list[tuple[list[str], list[bool], int]]:
    return [row for split in corpus.splits.values() for row in rows(split)]


def votes(flagged: list[str]) -> list[int]:
    """What the deciding tokens say, read alone: each negation turns the opinion word after it."""
    found, sign = [], 1
    for token in flagged:
        if token in NEGATION:
            sign = -sign
        else:
            found.append(sign * POLARITY[token])
            sign = 1
    return found


def distractor(tokens: list[str], flags: list[bool]) -> int:
    """What the one opinion word that does not decide says, with its negation; 0 where there is none."""
    places = [i for i, (token, flag) in enumerate(zip(tokens, flags, strict=True)) if token in POLARITY and not flag]
    assert len(places) <= 1
    for place in places:
        before = list(reversed(tokens[:place]))
        clause = before[: next((i for i, token in enumerate(before) if token in STOPS), len(before))]
        return POLARITY[tokens[place]] * (-1 if NEGATION & set(clause) else 1)
    return 0


# ── the truth ──


def test_the_deciding_tokens_alone_give_the_label_of_every_text(corpus: Corpus) -> None:
    for tokens, flags, label in everything(corpus):
        said = votes([token for token, flag in zip(tokens, flags, strict=True) if flag])
        assert len(said) in (1, 2)
        assert set(said) == {1 if label else -1}, " ".join(tokens)


def test_every_negation_that_decides_stands_before_an_opinion_word_that_decides(corpus: Corpus) -> None:
    for tokens, flags, _ in everything(corpus):
        flagged = [token for token, flag in zip(tokens, flags, strict=True) if flag]
        for token, following in zip(flagged, [*flagged[1:], "."], strict=True):
            assert token in POLARITY or following in POLARITY


def test_one_flag_per_token(corpus: Corpus) -> None:
    assert corpus.provenance.rationale == "planted"
    for tokens, flags, _ in everything(corpus):
        assert len(tokens) == len(flags)
        assert any(flags)


def test_four_texts_of_ten_hold_a_sentiment_that_does_not_count_and_it_points_either_way(
    corpus: Corpus,
) -> None:
    sides = [distractor(tokens, flags) * (1 if label else -1) for tokens, flags, label in rows(corpus["train"])]
    with_one = [side for side in sides if side]
    assert 0.36 < len(with_one) / len(sides) < 0.44
    assert 0.5 < with_one.count(-1) / len(with_one) < 0.6


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 12))
def test_the_truth_holds_for_every_seed(seed: int, size: int) -> None:
    for tokens, flags, label in everything(Reviews(train=size, dev=1, test=1, seed=seed).load()):
        said = votes([token for token, flag in zip(tokens, flags, strict=True) if flag])
        assert set(said) == {1 if label else -1}
        assert 5 <= len(tokens) <= 40


# ── the shape ──


def test_sizes_classes_and_ids_are_as_asked(corpus: Corpus) -> None:
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 4000,
        "dev": 600,
        "test": 1000,
    }
    assert (corpus.name, corpus.classes, corpus.task) == ("reviews", ("negative", "positive"), "single")
    assert corpus["dev"].ids[:2] == ["reviews-dev-0", "reviews-dev-1"]


def test_every_beginning_of_a_split_is_balanced(corpus: Corpus) -> None:
    for split in corpus.splits.values():
        positive = np.cumsum(split.labels)
        assert np.all(np.abs(2 * positive - np.arange(1, len(split) + 1)) <= 1)


def test_lengths_lie_between_5_and_40_and_spread(corpus: Corpus) -> None:
    lengths = corpus["train"].lengths
    assert lengths.min() == 5
    assert lengths.max() == 40
    shares = np.histogram(lengths, bins=[5, 10, 15, 20, 25, 30, 35, 41])[0] / len(lengths)
    assert shares.min() > 0.03
    assert shares.max() < 0.25


def test_no_text_occurs_twice_in_any_split(corpus: Corpus) -> None:
    texts = [" ".join(tokens) for tokens, _, _ in everything(corpus)]
    assert len(set(texts)) == len(texts)


def test_tokens_are_lower_case_words_and_punctuation_of_many_types(corpus: Corpus) -> None:
    types = {token for tokens, _, _ in rows(corpus["train"]) for token in tokens}
    assert len(types) > 900
    assert all(token == token.lower() and token.split() == [token] for token in types)
    assert not any(mark in token for token in types for mark in "{}[]+|")


def test_articles_agree_with_the_word_after_them(corpus: Corpus) -> None:
    for tokens, _, _ in everything(corpus):
        for article, following in pairwise(tokens):
            if article in ("a", "an"):
                assert (article == "an") == (following[0] in "aeiou")


# ── no leaks ──


def masked(split: Split) -> list[list[str]]:
    """The texts without their opinion words."""
    return [["_" if token in POLARITY else token for token in tokens] for tokens, _, _ in rows(split)]


def accuracy(train: list[list[str]], test: list[list[str]], corpus: Corpus) -> float:
    bag = CountVectorizer(analyzer=lambda tokens: tokens)
    model = LogisticRegression(max_iter=2000).fit(bag.fit_transform(train), corpus["train"].labels)
    return float(model.score(bag.transform(test), corpus["test"].labels))


def test_without_opinion_words_a_bag_of_words_knows_nothing(corpus: Corpus) -> None:
    assert abs(accuracy(masked(corpus["train"]), masked(corpus["test"]), corpus) - 0.5) < 0.05


def test_no_other_word_goes_with_a_label_more_often_than_chance(corpus: Corpus) -> None:
    bag = CountVectorizer(analyzer=lambda tokens: tokens, binary=True, min_df=20)
    present = bag.fit_transform(masked(corpus["train"])).toarray()
    positive = corpus["train"].labels == 1
    values = []
    for column in present.T:
        if 0 < column.sum() < len(column):
            with_word = [int(column[positive].sum()), int(column[~positive].sum())]
            without = [int(positive.sum()) - with_word[0], int((~positive).sum()) - with_word[1]]
            values.append(chi2_contingency([with_word, without]).pvalue)
    assert len(values) > 300
    assert min(values) > 0.05 / len(values)


def test_a_bag_of_words_is_confused_by_negation_and_distractors(corpus: Corpus) -> None:
    texts = [[tokens for tokens, _, _ in rows(corpus[split])] for split in ("train", "test")]
    assert 0.74 < accuracy(*texts, corpus) < 0.92


# ── the same everywhere ──


def test_the_default_corpus_is_this_one(corpus: Corpus) -> None:
    assert corpus.digest == "564b0a4fff7b3912"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_corpus_and_another_seed_another(corpus: Corpus) -> None:
    assert Reviews().load().digest == corpus.digest
    assert Reviews(seed=8).load().digest != corpus.digest


def test_the_test_split_does_not_depend_on_the_size_of_the_others(corpus: Corpus) -> None:
    assert Reviews(train=10, dev=20).load()["test"].table.equals(corpus["test"].table)


# ── the grammar ──


def test_rows_of_both_polarities_are_as_long_and_take_the_same_articles() -> None:
    topics = chain(*((*thing.parts, *thing.near) for thing in THINGS))
    after_an_article = {"delight", "plain", "strong"} | {topic.kind for topic in topics}
    for slot, (negative, positive) in OPINIONS.items():
        assert len(negative) == len(positive)
        if slot in after_an_article:
            assert [word[0] in "aeiou" for word in negative] == [word[0] in "aeiou" for word in positive]


def test_no_opinion_word_has_both_polarities() -> None:
    both = [set(chain(*(pair[side] for pair in OPINIONS.values()))) for side in (0, 1)]
    assert not both[0] & both[1]


def test_nothing_but_an_opinion_slot_says_an_opinion_word() -> None:
    neutral = [*chain(*grammar.SLOTS.values(), *grammar.OPTIONAL.values(), *grammar.FRAMES.values())]
    neutral += chain(grammar.STATED, grammar.NEGATED, grammar.DISTRACTORS, grammar.NEGATED_DISTRACTORS)
    for thing in THINGS:
        neutral += [*thing.names, *thing.doing, *thing.made, *thing.remarks, *thing.shared]
        neutral += [topic.phrase for topic in (*thing.parts, *thing.near)]
    assert not {word for phrase in neutral for word in phrase} & set(POLARITY)


def test_every_topic_has_adjectives_and_no_part_of_a_thing_is_also_near_it() -> None:
    for thing in THINGS:
        assert {topic.kind for topic in (*thing.parts, *thing.near)} | {thing.kind} <= set(OPINIONS)
        assert not {topic.phrase for topic in thing.parts} & {topic.phrase for topic in thing.near}


# ── what cannot be made ──


@pytest.mark.parametrize(("split", "size"), [*product(("train", "dev", "test"), (0, -3))])
def test_an_empty_split_is_refused_in_one_line(split: str, size: int) -> None:
    with pytest.raises(InputError, match=f"{split}={size}") as refused:
        Reviews(**{split: size}).load()
    assert "\n" not in str(refused.value)


def test_more_texts_than_can_be_made_without_repeating_are_refused() -> None:
    with pytest.raises(InputError, match=f"more than the {Reviews.most}"):
        Reviews(train=Reviews.most).load()
