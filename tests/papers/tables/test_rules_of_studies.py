"""Scripts that complete a table of seeds and say what a study's rule says, on made-up runs."""

from __future__ import annotations

import csv
import importlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sacrebleu

from attentest.challenges import CHALLENGES
from attentest.measures.bleu import sentence_counts
from attentest.models.parts.attention import ATTENTIONS
from attentest.models.parts.decoders import DECODERS
from attentest.models.parts.encoders import ENCODERS
from attentest.papers.studies import built_in
from attentest.registry import text_of
from attentest.store.findings import FindingsWriter, Measure
from attentest.store.folder import RunFolder
from attentest.studies.study import read_study

CAPTIONS = (
    ("Ein Mann schläft hier heute .", "Ein Mann schläft hier .", "Ein Hund schläft ."),
    ("Zwei Hunde rennen im Park .", "Zwei Hunde rennen im Park .", "Ein Mann rennt im Park ."),
    ("Eine Frau liest ein altes Buch am See .", "Eine Frau liest ein altes Buch .", "Eine Frau ist am See ."),
    ("Kinder spielen Ball .", "Kinder spielen mit dem Ball .", "Zwei Kinder ."),
    ("Ein Kind sitzt auf der Bank .", "Ein Kind sitzt auf der Bank .", "Ein Kind sitzt da ."),
)


def script(name: str, monkeypatch: pytest.MonkeyPatch, table: Path | None = None) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts" / "seeds"))
    module = importlib.import_module(name)
    if table is not None:
        monkeypatch.setattr(module, "TABLE", table)
    return module


def run(root: Path, name: str, fields: Mapping[str, Any], model: Mapping[str, Any] | None = None) -> RunFolder:
    """A made-up run, with what its record says of its model."""
    folder = RunFolder.create(root / name, dict(fields), {})
    if model is not None:
        (folder.path / "model.safetensors").write_bytes(b"weights")
        folder.finish("model.safetensors", **model)
    return folder


def put(folder: RunFolder, challenge: str, columns: Mapping[str, Sequence[Any]]) -> None:
    """Findings of a challenge; all its measures are shares of columns with their names."""
    (folder.path / "findings").mkdir(exist_ok=True)
    name = f"findings/{challenge.replace('(', '-').replace(')', '')}.parquet"
    measures = tuple(Measure(name, name, "fraction", name) for name in columns)
    asked = CHALLENGES.parse(challenge)
    parameters = {"draw": asked.draw} if hasattr(asked, "draw") else {}
    with FindingsWriter(folder.path / name, challenge, measures, parameters) as writer:
        writer.write(pa.table(dict(columns)))
    folder.finish(name)


def printed(module: Any, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr("sys.argv", ["script", str(runs)])
    module.main()
    return capsys.readouterr().out


def read(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_rule_is_met_missed_or_unsettled_by_the_whole_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = script("seeds_table", monkeypatch)
    assert [seeds.below(value, 1.0, 5.0) for value in (3.9, 4.0, 6.0)] == ["agrees", "unsettled", "not"]
    assert seeds.below(3.0, math.nan, 5.0) == seeds.below(math.nan, math.nan, 5.0) == "unsettled"
    assert seeds.all_of("agrees", "agrees") == "agrees"
    assert seeds.all_of("agrees", "unsettled") == "unsettled"
    assert seeds.all_of("unsettled", "not", "agrees") == "not"
    assert seeds.told(*seeds.estimated((1.0, [1.0, 2.0, 3.0]), (-1.0, [4.0, 4.0, 4.0]))) == "−2.0 ± 2.5"
    assert seeds.told(*seeds.estimated((1.0, [7.0]))) == "7.0"
    assert seeds.told(*seeds.estimated((1.0, [7.0]), (-1.0, []))) == "no run"


def test_a_seed_that_has_no_run_at_hand_keeps_its_row_and_of_two_runs_the_last_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds, table, key = script("seeds_table", monkeypatch), tmp_path / "table.csv", ("corpus", "seed")

    def complete(*rows: tuple[str, str, str]) -> list[tuple[str, ...]]:
        made = seeds.once((dict(zip((*key, "value"), row, strict=True)) for row in rows), key)
        seeds.completed(table, (*key, "value"), made, lambda row: row["seed"], key)
        return [tuple(row.values()) for row in read(table)]

    assert complete(("a", "1", "new"), ("a", "0", "1"), ("a", "1", "old")) == [("a", "0", "1"), ("a", "1", "new")]
    assert complete(("a", "0", "2")) == [("a", "0", "2"), ("a", "1", "new")]


def babi(root: Path, encoder: str, rate: float, seed: int, accuracy: float, patience: int = 25) -> None:
    """A run whose second epoch is the best on dev."""
    fields = {
        "corpus": {"name": "babi-2"},
        "model": {"encoder": encoder, "attention": "additive", "head": "softmax", "embedding": 50, "query": "separate"},
        "training": {"learning_rate": rate, "patience": patience},
        "seed": seed,
    }
    epochs = [{"number": n + 1, "accuracy": reached} for n, reached in enumerate((0.2, accuracy, 0.1))]
    run(root, f"{encoder}-{rate}-{seed}-{patience}", fields, {"epochs": epochs, "best_epoch": 2})


def test_the_training_of_babi_2_is_the_first_that_reaches_the_mark_on_every_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, runs = script("babi_2_training", monkeypatch, tmp_path / "table.csv"), tmp_path / "runs"
    for seed, accuracy in enumerate((0.95, 0.97, 0.80)):
        babi(runs, "bilstm(hidden=32)", 0.003, seed, accuracy)
        babi(runs, "bilstm(hidden=32)", 0.003, seed, 0.99, patience=10)  # of another study
        babi(runs, "bilstm(hidden=64)", 0.001, seed, accuracy + 0.1 * (seed == 2))
    out = printed(module, runs, monkeypatch, capsys)
    assert "| 32 | .003 | .907 ± .231 | .800 |" in out
    assert out.endswith("\nagrees: every seed of 64 units at 0.001 reaches .90 on dev: it is the training\n")
    first = {"units": "32", "learning_rate": "0.003", "seed": "0", "accuracy": "0.9500"}
    assert read(tmp_path / "table.csv")[0] == {**first, "best_epoch": "2", "epochs": "3"}
    assert len(read(tmp_path / "table.csv")) == 6


def test_without_such_a_training_it_is_that_of_the_best_worst_seed_once_all_seeds_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = script("babi_2_training", monkeypatch)

    def ruled(**accuracy: Sequence[float]) -> str:
        found = dict(zip(module.TRAININGS, accuracy.values(), strict=True))
        rows = [
            dict(zip(module.FIELDS, (*training, str(seed), str(figure)), strict=False))
            for training, seeds in found.items()
            for seed, figure in enumerate(seeds)
        ]
        said: str = module.ruled(rows)
        return said

    low, high = (0.5, 0.95, 0.95), (0.9, 0.95, 0.95)
    assert ruled(a=low, b=low, c=(0.7, 0.8, 0.99), d=low, e=low) == (
        "not: none reaches .90 on every seed; the worst seed is best with 64 units at 0.003, 0.700"
    )
    assert ruled(a=low, b=high[:2], c=high, d=low, e=low) == "unsettled: 64 units at 0.001 has 2 of 3 seeds"
    assert ruled(a=low[:1], b=high, c=(), d=(), e=()).startswith("agrees: every seed of 64 units at 0.001")
    assert ruled(a=low, b=low[:1], c=low, d=low, e=low).startswith("unsettled: none reaches .90")


def reviews(root: Path, corpus: str, classes: int, seed: int, flips: tuple[int, int]) -> None:
    """A run of a hundred reviews, of which so many flip without either weight, and without the largest alone."""
    fields = {
        "corpus": {"name": corpus, "classes": [str(n) for n in range(classes)]},
        "model": {"encoder": "bigru", "structure": "hierarchical"},
        "seed": seed,
    }
    folder, both = run(root, f"{corpus}-{classes}-{seed}", fields), [n < flips[0] for n in range(100)]
    only = [n >= 100 - flips[1] for n in range(100)]
    put(folder, "instances", {"accuracy": [True] * 100})
    put(folder, "single_weight", {"both_flip": only, "only_top_flips": only})
    put(folder, "single_weight(draw='released')", {"both_flip": both, "only_top_flips": only})


@pytest.mark.parametrize(
    ("ratings", "binary", "said"),
    [
        ((8, 9, 10), (2, 3, 4), "agrees"),
        ((5, 6, 7), (2, 3, 4), "not"),
        ((4, 10, 22), (2, 3, 4), "unsettled"),
        ((8, 9, 10), (5, 6, 9), "unsettled"),
        ((8, 9, 10), (11, 12, 13), "not"),
    ],
)
def test_flips_by_classes_are_both_cells_under_the_released_draw(
    ratings: Sequence[int],
    binary: Sequence[int],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module, runs = script("review_classes", monkeypatch, tmp_path / "table.csv"), tmp_path / "runs"
    for seed in range(3):
        reviews(runs, "imdb", 8, seed, (1, ratings[seed] - 1))
        reviews(runs, "yelp_sample", 2, seed, (0, binary[seed]))
    out = printed(module, runs, monkeypatch, capsys)
    assert out.splitlines()[-1].startswith(f"{said}: the number of classes is the cause; IMDB's ratings ")
    assert "| IMDB, two classes | no run | no run | no run | no run |" in out
    if said == "agrees":
        assert "| IMDB, eight ratings | 100.0 ± 0.0 | 1.0 ± 0.0 | 8.0 ± 2.5 | 9.0 ± 2.5 |" in out
    first = {"corpus": "imdb", "classes": "8", "seed": "0", "accuracy": "1.0000", "both_flip": "0.0100"}
    top = f"{(ratings[0] - 1) / 100:.4f}"
    assert read(tmp_path / "table.csv")[0] == {**first, "only_top_flips": top, "texts": "100"}


def translations(root: Path, decoder: str, start: str, layers: int, seed: int) -> None:
    """A run that wrote the made-up captions; under uniform weights the seeds differ in how many."""
    begin = "" if start == "summary" else ", start='zeros'"
    fields = {
        "corpus": {"name": "multi30k"},
        "model": {
            "encoder": f"bigru(hidden=256{f', layers={layers}' if layers > 1 else ''})",
            "attention": "additive" if decoder == "bahdanau" else "dot(scaled=False, mapped=False)",
            "decoder": f"{decoder}(hidden=512{begin})",
        },
        "seed": seed,
    }
    rows = [(weights, c[0], c[1 + (weights == "uniform")]) for c in CAPTIONS for weights in ("own", "uniform", "other")]
    if seed:
        rows = [(weights, reference, reference if weights == "own" else text) for weights, reference, text in rows]
    weights, references, written = (list(column) for column in zip(*rows, strict=True))
    counts = sentence_counts(written, references, "13a").tolist()
    folder = run(root, f"{decoder}-{start}-{layers}-{seed}", fields)
    put(folder, "bleu", {"weights": weights, "reference": references, "counts": counts})


def test_translations_are_compared_without_the_penalty_and_by_their_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, runs = script("translation_start", monkeypatch, tmp_path / "table.csv"), tmp_path / "runs"
    for seed in range(2):
        translations(runs, "bahdanau", "zeros", 1, seed)
    translations(runs, "luong", "zeros", 1, 0)
    translations(runs, "luong", "zeros", 3, 0)  # of no study
    out = printed(module, runs, monkeypatch, capsys)
    rows = read(tmp_path / "table.csv")
    assert [(row["decoder"], row["seed"]) for row in rows[:2]] == [("bahdanau", "0"), ("bahdanau", "1")]
    by_words = sorted(CAPTIONS, key=lambda caption: len(caption[0].split()))
    halves = {"": CAPTIONS, "_fewest": by_words[:2], "_most": by_words[2:]}
    for number, weights in enumerate(("own", "uniform"), start=1):
        for half, captions in halves.items():
            references, *texts = zip(*captions, strict=True)
            found = sacrebleu.corpus_bleu(list(texts[number - 1]), [list(references)])
            assert float(rows[0][weights + half]) == pytest.approx(found.score, abs=1e-4)
            if not half:
                assert float(rows[0][f"{weights}_unpenalised"]) == pytest.approx(found.score / found.bp, abs=1e-4)
    assert rows[1]["own"] == "100.0000"
    assert rows[1]["texts"] == str(len(CAPTIONS))
    shown = next(line for line in out.splitlines() if line.startswith("| bahdanau, zeros, 1 |"))
    assert shown.count("|") == 10
    assert len(rows) == 3
    assert "| luong, zeros, 1 |" in out
    assert "| luong, summary, 1 |" not in out


def test_the_start_state_is_judged_decoder_by_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("translation_start", monkeypatch)

    def ruled(decoder: str, **uniform: Sequence[float]) -> str:
        rows = [
            {"decoder": decoder, "start": start, "layers": "1", "uniform": str(figure)}
            for start, seeds in uniform.items()
            for figure in seeds
        ]
        said: str = module.ruled(rows, decoder)
        return said

    summary = (13.0, 13.1, 13.2)
    assert ruled("bahdanau", zeros=(6.0, 6.1, 6.2), summary=summary) == (
        "bahdanau: the start state is the cause: not (6.1 ± 0.2 from zeros, below 4.9); "
        "it is part of it: agrees (−7.0 ± 0.2 to the summary)"
    )
    assert "cause: agrees (2.0 ± 0.2" in ruled("bahdanau", zeros=(1.9, 2.0, 2.1), summary=summary)
    unsettled = ruled("bahdanau", zeros=(3.0, 6.0, 20.0), summary=summary)
    assert "cause: unsettled" in unsettled
    assert "part of it: unsettled" in unsettled
    assert "part of it: agrees (−6.2 ± " in ruled("luong", zeros=(1.9, 2.0, 2.1))
    assert module.known("luong") == pytest.approx([8.4372, 7.8851, 8.2247], abs=1e-3)
    assert max(module.known("bahdanau")) < 13.3


def test_scripts_name_what_their_studies_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def text(registry: Any, value: Any) -> str:
        return text_of(registry.parse(value))

    cells = [cell.choices for cell in read_study(built_in()["babi_2_training"]).cells()]
    module = script("babi_2_training", monkeypatch)
    asked = {(module.UNITS[text(ENCODERS, c["encoder"])], str(c["learning_rate"])) for c in cells}
    assert asked == set(module.TRAININGS)
    assert {c["patience"] for c in cells} == {module.PATIENCE}
    cells = [cell.choices for cell in read_study(built_in()["translation_start"]).cells()]
    module = script("translation_start", monkeypatch)
    for c in cells:
        assert text(ENCODERS, c["encoder"]) in module.ENCODERS
        attention = text(ATTENTIONS, c.get("attention", "additive"))
        assert (text(DECODERS, c["decoder"]), attention) in module.DECODERS
