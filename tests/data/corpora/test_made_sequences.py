"""Made-up sequences: what is to be written is what the links say, and as it is defined."""

from __future__ import annotations

import pytest

from attentest.data.corpora import CORPORA


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("sequence_copy", lambda words: words),
        ("sequence_reverse", lambda words: words[::-1]),
        (
            "bigram_flip",
            lambda words: [word for pair in zip(words[1::2], words[::2], strict=True) for word in pair],
        ),
    ],
)
def test_targets_and_links_are_those_of_the_definition(name, written):
    corpus = CORPORA.parse(f"{name}(train=300, dev=20, test=40)").load()
    assert {split: len(part) for split, part in corpus.splits.items()} == {"train": 300, "dev": 20, "test": 40}
    seen = set()
    for split in corpus.splits.values():
        for text in split.table.to_pylist():
            assert text["target"] == written(text["tokens"])
            links = [tuple(map(int, link.split("-"))) for link in text["alignment"]]
            assert sorted(step for _, step in links) == list(range(len(text["target"])))
            assert [text["tokens"][place] for place, _ in sorted(links, key=lambda link: link[1])] == text["target"]
            assert len(text["tokens"]) % 2 == 0
            assert tuple(text["tokens"]) not in seen
            seen.add(tuple(text["tokens"]))
    assert len({word for text in seen for word in text}) == 50
    small = CORPORA.parse(f"{name}(train=9, dev=20, test=40)").load()
    assert small["test"].table.equals(corpus["test"].table)
