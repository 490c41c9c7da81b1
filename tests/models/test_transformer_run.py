from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.translations import made_up_translations

from attentest.data.corpus import Corpus, Provenance
from attentest.errors import InputError
from attentest.models.parts.attention import ScaledDot, Uniform
from attentest.models.parts.encoders import NoEncoder
from attentest.runs.describe import describe_run
from attentest.runs.execute import execute
from attentest.runs.presets import TRANSFORMER, TRANSLATION

SMALL = "transformer(layers=2, heads=2, hidden=8, feedforward=12)"


def corpus() -> Corpus:
    splits = {
        name: made_up_translations(n, seed) for seed, (name, n) in enumerate((("train", 9), ("dev", 4), ("test", 4)))
    }
    return Corpus("made-up", ("translation",), splits, Provenance("made up", "none"), task="translate")


@pytest.mark.slow
def test_what_was_left_as_usual_becomes_the_transformers_own() -> None:
    run = describe_run(corpus=corpus(), decoder="transformer_base")
    made = run.architecture
    assert (made.encoder, made.attention, made.embedding) == (NoEncoder(), ScaledDot(), 512)
    assert run.training == TRANSFORMER
    assert TRANSFORMER.warmup
    assert describe_run(corpus=corpus()).training == TRANSLATION
    other = describe_run(
        corpus=corpus(), decoder="transformer", encoder="none", attention="uniform", learning_rate=2e-3
    )
    assert other.architecture.attention == Uniform()
    assert (other.training.learning_rate, other.training.warmup) == (2e-3, TRANSFORMER.warmup)


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ({"encoder": "bigru"}, "reads with layers of its own, and 'bigru' has no place in it: leave out encoder"),
        ({"attention": "dot(scaled=False)"}, "leave out attention, or use dot, uniform or random"),
        ({"embedding": 100}, "embedding=100 must be the same as hidden=256"),
        ({"site": "word"}, r"site='word' must be one of cross 4\.1, cross 4\.2"),
        ({"head": "softmax"}, "leave out structure, query and head"),
    ],
)
def test_what_has_no_place_in_it_is_refused(choices: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        describe_run(corpus=corpus(), decoder="transformer", **choices)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("site", ["", "cross 1.2"])
@pytest.mark.parametrize("forced", ["reference", "own"])
def test_it_is_audited_as_any_translator(site: str, forced: str, tmp_path: Path) -> None:
    asked = ("bleu(beam=2)", "uniform", "permutation(draws=3)", "agreement", "adversary(steps=5)")
    if forced == "reference":  # the links are to the words of the corpus
        asked = (*asked, "alignment")
    run = describe_run(
        corpus=corpus(), decoder=SMALL, epochs=1, batch_size=4, challenges=asked, site=site, forced=forced
    )
    folder = execute(run, tmp_path)
    assert folder.record["fields"]["site"] == (site or run.architecture.sites[0])
    assert not folder.record.get("not_applicable", {})
    names = {name.partition("-")[0] for name in folder.challenges}
    assert names >= {"instances", "bleu", "uniform", "permutation", "agreement", "adversary"}
    found = folder.findings("uniform").table
    assert found["change"].null_count < len(found)
