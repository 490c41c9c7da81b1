"""Scores go out and come in again, in three formats, and what does not fit is refused in one line."""

from __future__ import annotations

import base64
import gzip
import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from attentest.errors import InputError, StorageError, UnknownName
from attentest.store.findings import FindingsWriter
from attentest.store.folder import RunFolder
from attentest.store.query import query
from attentest.store.score_formats import FORMATS, format_of
from attentest.store.scores import Scores, Texts, explainers_of, fitted, keep_scores, read_scores, scores_of, texts_of

TOKENS = (("it", "was", "not", "good"), ("fine",), ("a", "b", "c"))
TEXTS = Texts(("t-0", "t/1", "ü"), TOKENS, (0, 1, 1), ((0.9, 0.1), (0.2, 0.8), (0.4, 0.6)), ("bad", "good"))
VALUES = (np.array([0.5, -1.25, 3.0, 1e-9]), np.array([2.0]), np.array([0.0, -0.0, 7.5]))
SCORES = Scores("gradient", TEXTS, VALUES)
FILES = ("s.jsonl", "s.json", "s.safetensors", "s.npz")


def imported(path: Path, format: str | None = None) -> Scores:  # noqa: A002
    made = format_of(format, path)
    return fitted(path.name, TEXTS, made.scores(path, TEXTS))


def same(found: Scores, expected: Any = VALUES) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(found.values, expected, strict=True))


# ── there and back ──


@pytest.mark.parametrize("name", FILES)
def test_what_is_exported_can_be_imported_to_the_last_bit(name, tmp_path):
    path = tmp_path / name
    format_of(None, path).write(path, SCORES)
    assert same(imported(path))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), min_size=1, max_size=4))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_finite_scores_survive(tmp_path, lists):
    count = len(lists)
    tokens = tuple(tuple(f"w{i}" for i in range(len(one))) for one in lists)
    ids = tuple(f"id {i}" for i in range(count))
    texts = Texts(ids, tokens, (0,) * count, ((1.0,),) * count, ("only",))
    values = tuple(np.array(one) for one in lists)
    for name in FILES:
        path = tmp_path / name
        made = format_of(None, path)
        made.write(path, Scores("x", texts, values))
        assert same(fitted(name, texts, made.read(path, texts)), values)


def test_every_format_has_a_name_a_summary_and_endings():
    assert set(FORMATS) == {"eraser", "inseq", "captum"}
    for name, made in FORMATS.items():
        assert made.name == name
        assert made.summary
        assert made.endings


# ── ERASER ──


def eraser(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def soft(name: str, scores: list[float]) -> dict[str, Any]:
    return {"annotation_id": name, "rationales": [{"docid": name, "soft_rationale_predictions": scores}]}


def test_hard_spans_become_ones_where_there_are_no_soft_scores(tmp_path):
    spans = [{"start_token": 1, "end_token": 3}]
    hard = {"annotation_id": "t-0", "rationales": [{"docid": "t-0", "hard_rationale_predictions": spans}]}
    path = eraser(tmp_path / "x.jsonl", hard, soft("t/1", [1]), soft("ü", [1, 2, 3]))
    assert imported(path).values[0].tolist() == [0, 1, 1, 0]


def test_an_exported_line_is_what_eraser_asks_for(tmp_path):
    FORMATS["eraser"].write(tmp_path / "x.jsonl", SCORES)
    row = json.loads((tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert row["classification"] == "bad"
    assert row["classification_scores"] == {"bad": 0.9, "good": 0.1}
    assert row["rationales"] == [{"docid": "t-0", "soft_rationale_predictions": VALUES[0].tolist()}]


@pytest.mark.parametrize(
    "row",
    [
        {"rationales": []},
        {"annotation_id": "t-0", "rationales": []},
        {"annotation_id": "t-0", "rationales": [{"docid": "t-0"}]},
        {"annotation_id": "t-0", "rationales": [{"soft_rationale_predictions": ["much"]}]},
        {"annotation_id": "t-0", "rationales": [{"hard_rationale_predictions": [{"start_token": 2, "end_token": 9}]}]},
        {"annotation_id": "t-0", "rationales": 3},
        {**soft("t-0", [1.0]), "rationales": soft("t-0", [1.0])["rationales"] * 2},
    ],
)
def test_a_line_that_is_no_prediction_is_named(row, tmp_path):
    with pytest.raises(InputError, match="object 1 is no ERASER prediction"):
        imported(eraser(tmp_path / "x.jsonl", row))


def test_an_id_that_is_there_twice_is_named(tmp_path):
    with pytest.raises(InputError, match="'t/1' is there twice"):
        imported(eraser(tmp_path / "x.jsonl", soft("t/1", [1]), soft("t/1", [1])))


# ── inseq ──


def array(values: np.ndarray, how: str) -> Any:
    """As inseq writes an array: plain, as lists with a type, or compact."""
    about = {"dtype": str(values.dtype), "shape": list(values.shape), "Corder": True}
    match how:
        case "primitives":
            return values.tolist()
        case "lists":
            return {"__ndarray__": values.tolist(), **about}
        case "compact":
            return {"__ndarray__": "b64:" + base64.b64encode(values.tobytes()).decode(), **about}
        case _:
            return {"__ndarray__": "b64.gz:" + base64.b64encode(gzip.compress(values.tobytes())).decode(), **about}


def wrapped(kind: str, how: str, **attributes: Any) -> dict[str, Any]:
    return attributes if how == "primitives" else {"__instance_type__": ["inseq.x", kind], "attributes": attributes}


def inseq(how: str = "compact", *, decoder: bool = False, ids: bool = False, **changes: Any) -> dict[str, Any]:
    """What inseq saves of an attribution of one generated token to the words before it, in the run's order."""
    sequences = []
    for words, values in zip(TOKENS, VALUES, strict=True):
        tokens = [wrapped("TokenWithId", how, token=word, id=7) for word in (*words, "</s>")]
        column = array(np.append(values, 0.25).astype(np.float64)[:, None], how)
        label = [wrapped("TokenWithId", how, token="yes", id=8)]
        if decoder:
            whole = np.append(np.append(values, 0.25), math.nan)[:, None]
            each = {"source": tokens, "source_attributions": None, "target_attributions": array(whole, how)}
            each |= {"target": tokens + label, "attr_pos_start": len(tokens)}
        else:
            each = {"source": tokens, "source_attributions": column, "target_attributions": None, "target": label}
            each |= {"attr_pos_start": 0}
        sequences.append(wrapped("FeatureAttributionSequenceOutput", how, **(each | changes)))
    info = {"attribution_method": "saliency", **({"ids": list(TEXTS.ids)} if ids else {})}
    return wrapped("FeatureAttributionOutput", how, sequence_attributions=sequences, step_attributions=None, info=info)


@pytest.mark.parametrize("how", ["primitives", "lists", "compact", "compressed"])
@pytest.mark.parametrize("decoder", [False, True])
def test_inseq_s_own_files_are_read_in_the_run_s_order_without_their_end_symbol(how, decoder, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(inseq(how, decoder=decoder)), encoding="utf-8")
    assert same(imported(path))


def test_a_compressed_file_of_inseq_s_is_read_too(tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(json.dumps(inseq()).encode()))
    assert same(imported(path))


def test_arrays_that_unpack_to_more_than_there_is_room_for_are_refused(tmp_path):
    packed = base64.b64encode(gzip.compress(bytes(100 << 20))).decode()
    bomb = {"__ndarray__": f"b64.gz:{packed}", "dtype": "float64", "shape": [-1]}
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps({"sequence_attributions": [bomb] * 2}), encoding="utf-8")
    with pytest.raises(InputError, match="unpack to more than 128 MiB"):
        FORMATS["inseq"].scores(path, SCORES.texts)


def test_an_exported_file_has_what_inseq_s_load_looks_for(tmp_path):
    FORMATS["inseq"].write(tmp_path / "x.json", SCORES)
    output = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert output["__instance_type__"] == ["inseq.data.attribution", "FeatureAttributionOutput"]
    first = output["attributes"]["sequence_attributions"][0]
    assert first["__instance_type__"] == ["inseq.data.attribution", "FeatureAttributionSequenceOutput"]
    assert [token["attributes"]["token"] for token in first["attributes"]["source"]] == list(TOKENS[0])
    assert first["attributes"]["source_attributions"]["shape"] == [4, 1]
    assert output["attributes"]["info"]["generated_texts"] == ["bad", "good", "good"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({}, "no output of inseq's save"),
        ([], "no output of inseq's save"),
        ({"sequence_attributions": []}, "0 sequences, the run 3 texts"),
        (inseq(source_attributions=[[1, 2], [3, 4]]), "out.aggregate"),
        (inseq(source_attributions=[[[1.0]]]), "out.aggregate"),
        (inseq(source_attributions={"__ndarray__": "b64:!!", "dtype": "float32", "shape": [1, 1]}), "no output"),
        (inseq(source_attributions={"__ndarray__": "b64:AAAA", "dtype": "float32", "shape": [9, 1]}), "no output"),
        (inseq(source_attributions={"__ndarray__": "b64:AAAA", "dtype": "object", "shape": [1, 1]}), "no output"),
    ],
)
def test_what_is_not_inseq_s_or_not_one_score_a_word_is_named(content, words, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        imported(path)


# ── captum ──


def padded(embedding: int = 0) -> np.ndarray:
    out = np.zeros((3, 6, embedding) if embedding else (3, 6))
    for row, values in enumerate(VALUES):
        shares = np.ones((1, embedding)) / embedding if embedding else 1
        out[row, : len(values)] = values[:, None] * shares if embedding else values
    return out


def test_captum_s_tensor_of_all_texts_is_read_in_the_run_s_order_and_summed_over_the_embedding(tmp_path):
    save_torch({"attributions": torch.from_numpy(padded(4))}, tmp_path / "x.safetensors")
    found = imported(tmp_path / "x.safetensors")
    assert all(np.allclose(a, b) for a, b in zip(found.values, VALUES, strict=True))


def test_a_tensor_for_each_text_is_found_by_its_id(tmp_path):
    tensors = {"ü": VALUES[2], "t/1": VALUES[1][None, :, None], "t-0": VALUES[0][:, None].repeat(2, axis=1) / 2}
    save_file(tensors, tmp_path / "x.safetensors")
    assert same(imported(tmp_path / "x.safetensors"))


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ({"attributions": padded() + 1}, "beyond its 4 tokens"),
        ({"attributions": padded()[:2]}, "shape 2×6"),
        ({"attributions": padded()[0]}, "shape 6"),
        ({"attributions": padded(), "lengths": np.array([4])}, "'lengths'"),
        ({"attributions": padded() > 0}, "not numbers"),
        ({"t-0": VALUES[0]}, "2 of the run's 3 texts"),
        ({"attributions": np.where(padded() == 3.0, math.inf, padded())}, "not finite"),
    ],
)
def test_tensors_that_do_not_fit_are_named(tensors, words, tmp_path):
    np.savez(tmp_path / "x.npz", **tensors)
    with pytest.raises(InputError, match=words):
        imported(tmp_path / "x.npz")


def test_an_array_that_would_need_unpickling_is_refused(tmp_path):
    np.savez(tmp_path / "x.npz", attributions=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"no \.npz file of plain arrays"):
        imported(tmp_path / "x.npz")


@pytest.mark.parametrize("ending", [".pt", ".pth", ".pkl", ".bin", ".PT"])
def test_pickles_are_refused_with_the_way_out(ending, tmp_path):
    (tmp_path / f"x{ending}").write_bytes(b"anything")
    with pytest.raises(InputError, match=r"safetensors\.torch\.save_file"):
        format_of("captum", tmp_path / f"x{ending}")


# ── what fits no format, or no run ──

NPY = io.BytesIO()
np.save(NPY, np.zeros(3))
ARRAY = NPY.getvalue()


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.safetensors", "x.npz"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\x00", b"{", b"PK\x03\x04", ARRAY])
def test_a_file_that_is_absent_empty_or_broken_is_named_in_one_line(name, content, tmp_path):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        imported(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"t-0": VALUES[0], "t/1": VALUES[1]}, "1 of the run's 3 texts have no scores, such as 'ü'"),
        ({**dict(zip(TEXTS.ids, VALUES, strict=True)), "strange": VALUES[0]}, "not among the run's texts"),
        ({"t-0": VALUES[0][:3], "t/1": VALUES[1], "ü": VALUES[2]}, "'t-0' has 3 scores and 4 tokens"),
        ({"t-0": VALUES[0], "t/1": np.array([math.nan]), "ü": VALUES[2]}, "'t/1' has scores that are not finite"),
    ],
)
def test_scores_that_do_not_fit_the_run_s_texts_are_refused(found, words):
    with pytest.raises(InputError, match=words):
        fitted("x", TEXTS, found)


def test_a_format_is_known_by_its_name_or_by_the_file_s_ending():
    assert format_of("eraser", Path("x")).name == "eraser"
    assert format_of(None, Path("x.json.gz")).name == "inseq"
    with pytest.raises(UnknownName, match="eraser"):
        format_of("erasr", Path("x"))
    with pytest.raises(InputError, match="--format"):
        format_of(None, Path("x.csv"))


# ── a run ──


@pytest.fixture
def run(tmp_path) -> RunFolder:
    folder = RunFolder.create(tmp_path / "r-1", {"corpus": {"classes": ["bad", "good"]}}, {})
    (folder.path / "findings").mkdir()
    table = pa.table(
        {
            "id": list(TEXTS.ids),
            "tokens": pa.array(TOKENS, pa.list_(pa.string())),
            "probabilities": pa.array(TEXTS.probabilities, pa.list_(pa.float64())),
            "gradient": pa.array([values.tolist() for values in VALUES], pa.list_(pa.float64())),
            "rationale": pa.array([[True] * len(tokens) for tokens in TOKENS], pa.list_(pa.bool_())),
            "predicted": pa.array(TEXTS.predicted, pa.int32()),
            "not_judged": pa.nulls(3, pa.string()),
        }
    )
    with FindingsWriter(folder.path / "findings" / "instances.parquet", "instances", ()) as writer:
        writer.write(table)
    folder.finish("findings/instances.parquet")
    return folder


def test_a_run_gives_its_texts_and_its_explainers_scores(run):
    assert texts_of(run) == TEXTS
    assert explainers_of(run) == ["gradient"]
    assert same(scores_of(run, "gradient"))
    with pytest.raises(UnknownName, match="Did you mean 'gradient'"):
        scores_of(run, "gradiant")


def test_imported_scores_are_findings_that_can_be_read_queried_and_exported(run):
    doubled = Scores("", TEXTS, tuple(2 * values for values in VALUES))
    path = keep_scores(run, "mine", doubled, "eraser: x.jsonl")
    ids, tokens, values = read_scores(path)
    assert (ids, list(map(tuple, tokens))) == (list(TEXTS.ids), list(TOKENS))
    assert all(np.array_equal(a, b) for a, b in zip(values, doubled.values, strict=True))
    assert explainers_of(run) == ["gradient", "scores-mine"]
    assert same(scores_of(run, "scores-mine"), doubled.values)
    assert query(run, 'SELECT sum(len(scores)) FROM "scores-mine"')[1] == [(8,)]
    assert run.verify("findings/scores-mine.parquet") == path


def test_a_name_is_used_once_and_is_a_name(run):
    keep_scores(run, "mine", SCORES, "x")
    with pytest.raises(StorageError, match="there already"):
        keep_scores(run, "mine", SCORES, "x")
    for name in ("", "a b", "../x", "-x", "x" * 61):
        with pytest.raises(InputError, match="--name"):
            keep_scores(run, name, SCORES, "x")


def test_findings_that_are_no_scores_are_not_read_as_scores(run, tmp_path):
    with pytest.raises(InputError, match="not scores"):
        read_scores(run.path / "findings" / "instances.parquet")
    with pytest.raises(InputError, match="no file of scores"):
        read_scores(tmp_path / "nowhere.parquet")


def test_a_run_without_single_tokens_says_so(tmp_path):
    folder = RunFolder.create(tmp_path / "r-2", {"corpus": {}}, {})
    with pytest.raises(InputError, match="per_token=True"):
        texts_of(folder)


# ── made to break ──


def npy(shape: str, content: bytes = b"") -> bytes:
    """An array whose header claims what its content does not hold."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


def zipped(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name.replace("__", "."), content)
    return packed.getvalue()


WHOLE_NPZ = zipped(attributions__npy=npy("(3, 6)", padded().tobytes()))
SPAN = {"start_token": 0, "end_token": math.inf}
HOSTILE = {
    "damaged deflate": ("x.npz", WHOLE_NPZ[:60] + b"\xff" * 8 + WHOLE_NPZ[68:]),
    "more numbers than there are bytes in the world": ("x.npz", zipped(attributions__npy=npy("(1000000000000,)"))),
    "more memory than scores take": ("x.npz", zipped(attributions__npy=npy("(700000000,)"))),
    "no array": ("x.npz", zipped(attributions=b"text")),
    "ids of no axis": (
        "x.npz",
        zipped(attributions__npy=npy("(3, 6)", padded().tobytes()), ids__npy=npy("()", b"12345678")),
    ),
    "lengths that are no numbers": (
        "x.npz",
        zipped(
            attributions__npy=npy("(3, 6)", padded().tobytes()), lengths__npy=npy("(3,)", np.full(3, np.nan).tobytes())
        ),
    ),
    "a number beyond all numbers": (
        "x.jsonl",
        json.dumps({"annotation_id": "t-0", "rationales": [{"soft_rationale_predictions": [10**400]}]}).encode(),
    ),
    "spans without end": (
        "x.jsonl",
        json.dumps({"annotation_id": "t-0", "rationales": [{"hard_rationale_predictions": [SPAN]}]}).encode(),
    ),
    "a number beyond all numbers in inseq": (
        "x.json",
        json.dumps({"sequence_attributions": [{"source_attributions": [[10**400]], "source": ["a"]}] * 3}).encode(),
    ),
    "an array that unpacks to nothing": (
        "x.json",
        json.dumps(
            {
                "sequence_attributions": [
                    {
                        "source_attributions": {"__ndarray__": "b64.gz:H4sIAAAAAAAA/w==", "dtype": "f8", "shape": [1]},
                        "source": [],
                    }
                ]
                * 3
            }
        ).encode(),
    ),
    "a header without end": ("x.npz", zipped(attributions__npy=npy("(2, 3"))),
    "JSON without end": ("x.json", b"[" * 100_000),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_was_made_to_break_is_named_in_one_line(what, tmp_path):
    name, content = HOSTILE[what]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        imported(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_ids_of_safetensors_that_are_no_list_are_refused(tmp_path):
    for ids in ("5", "[" * 5000):
        save_file({"attributions": padded()}, tmp_path / "x.safetensors", metadata={"ids": ids})
        with pytest.raises(InputError, match=r"x\.safetensors"):
            imported(tmp_path / "x.safetensors")
