from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.errors import InputError, StorageError, UnknownName
from attentest.store.atomic import make_folder, replacing, write_text
from attentest.store.findings import FindingsWriter, Measure, read_findings
from attentest.store.folder import RunFolder, find_run, runs_in
from attentest.store.query import SETTINGS, query
from attentest.store.summary import estimate, estimates_by_class

MEASURES = (
    Measure("tau", "tau", "mean", "Kendall τ", {"pair": "a~b"}),
    Measure("significant", "significant", "fraction", "share significant"),
)


def table(count: int = 40, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    bad = np.arange(count) % 10 == 0
    tau = rng.normal(0.3, 0.2, count)
    return pa.table(
        {
            "id": [f"i{k}" for k in range(count)],
            "predicted": pa.array(np.arange(count) % 2, pa.int32()),
            "pair": ["a~b" if k % 4 else "c~d" for k in range(count)],
            "tau": pa.array(tau, mask=bad),
            "significant": pa.array(tau > 0.2, mask=bad),
            "not_judged": pa.array([("constant scores" if b else None) for b in bad], pa.string()),
        }
    )


def run_with(tmp_path, rows: pa.Table) -> RunFolder:
    run = RunFolder.create(tmp_path / "run-1", {"corpus": {"name": "x"}}, {})
    (run.path / "findings").mkdir()
    with (
        replacing(run.path / "findings" / "agreement.parquet") as path,
        FindingsWriter(path, "agreement", MEASURES) as w,
    ):
        w.write(rows.slice(0, 25))
        w.write(rows.slice(25))
    run.finish("findings/agreement.parquet")
    return run


def test_findings_come_back_as_they_were_written_and_describe_themselves(tmp_path):
    run = run_with(tmp_path, table())
    back = run.findings("agreement")
    assert back.table.equals(table())
    assert back.challenge == "agreement"
    assert back.measures == MEASURES


def test_parameters_come_back_with_findings(tmp_path):
    path, parameters = tmp_path / "adversary.parquet", {"epsilon": 0.05, "explainers": ["a", "b"]}
    with FindingsWriter(path, "adversary(epsilon=0.05)", (), parameters) as writer:
        writer.write(table())
    assert read_findings(path).parameters == parameters


@pytest.mark.parametrize("written", [None, 1, 99])
def test_findings_of_another_format_are_refused_in_one_line_that_says_what_to_do(tmp_path, written):
    about = {"challenge": "agreement", "measures": []} | ({} if written is None else {"format": written})
    path = tmp_path / "agreement.parquet"
    pq.write_table(table().replace_schema_metadata({"attentest": json.dumps(about)}), path)
    with pytest.raises(
        StorageError, match=rf"format {written or 1}, and this attentest reads format \d+\. Run .*again"
    ) as caught:
        read_findings(path)
    assert "\n" not in str(caught.value)


def test_measures_of_columns_that_findings_do_not_have_are_left_out(tmp_path):
    back = run_with(tmp_path, table().drop_columns(["significant"])).findings("agreement")
    assert back.measures == MEASURES[:1]


def test_an_estimate_counts_the_instances_it_could_not_judge(tmp_path):
    findings = run_with(tmp_path, table()).findings("agreement")
    rows = [r for r in table().to_pylist() if r["pair"] == "a~b"]
    judged = [r["tau"] for r in rows if r["not_judged"] is None]
    found = estimate(findings, "tau")
    assert found.judged == len(judged)
    assert found.not_judged == len(rows) - len(judged) > 0
    assert found.value == pytest.approx(np.mean(judged))
    assert found.low < found.value < found.high


def test_estimates_are_grouped_by_predicted_class(tmp_path):
    findings = run_with(tmp_path, table()).findings("agreement")
    by_class = estimates_by_class(findings, "significant")
    assert set(by_class) == {0, 1}
    assert sum(e.judged for e in by_class.values()) == estimate(findings, "significant").judged


def test_nothing_judged_gives_no_number(tmp_path):
    nothing = table(40).set_column(3, "tau", pa.nulls(40, pa.float64()))
    found = estimate(run_with(tmp_path, nothing).findings("agreement"), "tau")
    assert math.isnan(found.value)
    assert str(found) == "not judged"


def test_any_flipped_bit_in_findings_is_noticed(tmp_path):
    run = run_with(tmp_path, table(200))
    path = run.path / "findings" / "agreement.parquet"
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(whole), 100):
        broken = bytearray(whole)
        broken[position] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(bytes(broken))
        assert not run.is_finished("findings/agreement.parquet")
        with pytest.raises(StorageError, match="altered"):
            run.findings("agreement")


def test_unreadable_findings_are_named_in_one_line(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"not parquet")
    with pytest.raises(StorageError, match=r"x\.parquet cannot be read") as error:
        read_findings(tmp_path / "x.parquet")
    assert "\n" not in str(error.value)


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    write_text(tmp_path / "a", "old")

    def fail() -> None:
        with replacing(tmp_path / "a") as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="Cannot create the folder"):
        make_folder(tmp_path / "file" / "runs")


def test_another_runs_folder_is_not_overwritten(tmp_path):
    RunFolder.create(tmp_path / "run", {"a": 1}, {})
    with pytest.raises(StorageError, match="another run"):
        RunFolder.create(tmp_path / "run", {"a": 2}, {})


def test_a_broken_run_json_is_named(tmp_path):
    run = RunFolder.create(tmp_path / "run", {"a": 1}, {})
    (run.path / "run.json").write_text(json.dumps({"fields": {}})[:-3])
    with pytest.raises(StorageError, match=r"run\.json was altered or cut short"):
        _ = run.record


def test_runs_are_found_by_path_id_prefix_and_latest(tmp_path):
    one = RunFolder.create(tmp_path / "reviews-aaa", {}, {})
    RunFolder.create(tmp_path / "reviews-bbb", {}, {})
    assert len(list(runs_in(tmp_path))) == 2
    assert find_run(str(one.path), tmp_path).path == one.path
    assert find_run("reviews-a", tmp_path).path == one.path
    assert find_run("latest", tmp_path).path.parent == tmp_path
    with pytest.raises(UnknownName, match="single run"):
        find_run("reviews-", tmp_path)
    with pytest.raises(UnknownName, match="none"):
        find_run("nothing", tmp_path / "empty")


def test_the_latest_run_has_what_it_was_asked_for(tmp_path):
    def made(name, age, *finished, **fields):
        run = RunFolder.create(tmp_path / name, fields, {})
        for file in finished:
            (run.path / file).parent.mkdir(exist_ok=True)
            (run.path / file).write_text("")
            run.finish(file)
        os.utime(run.path / "run.json", (1e9 - age, 1e9 - age))
        return run

    asked = {"challenges": ["uniform"]}
    killed = made("killed", 1, "corpus.json", "model.safetensors", **asked)
    assert find_run("latest", tmp_path).path == killed.path
    made("companion", 2, "model.safetensors", challenges=[]).note(companion="seed +1")
    assert find_run("latest", tmp_path).path == killed.path
    audited = made("audited", 4, "corpus.json", "model.safetensors", "findings/instances.parquet", **asked)
    made("older", 5, "findings/instances.parquet", **asked)
    assert find_run("latest", tmp_path).path == audited.path
    trained = made("trained", 3, "model.safetensors", challenges=[])
    assert find_run("latest", tmp_path).path == trained.path
    damaged = made("damaged", 2)
    (damaged.path / "run.json").write_text("{}")
    assert find_run("latest", tmp_path).path == damaged.path


def test_findings_can_be_queried_with_sql_and_a_wrong_query_names_the_tables(tmp_path):
    run = run_with(tmp_path, table())
    columns, rows = query(run, "SELECT predicted, count(*) AS n FROM agreement GROUP BY 1 ORDER BY 1")
    assert columns == ["predicted", "n"]
    assert rows == [(0, 20), (1, 20)]
    with pytest.raises(InputError, match="agreement"):
        query(run, "SELECT * FROM agreemnt")


def test_a_query_reads_no_findings_but_those_that_it_names(tmp_path):
    run = run_with(tmp_path, table())
    shutil.copyfile(run.path / "findings" / "agreement.parquet", run.path / "findings" / "adversary.parquet")
    run.finish("findings/adversary.parquet")
    (run.path / "findings" / "adversary.parquet").write_bytes(b"damaged")
    assert query(run, "SELECT count(*) FROM Agreement")[1] == [(40,)]
    with pytest.raises(StorageError):
        query(run, "SELECT count(*) FROM adversary")
    with pytest.raises(StorageError):
        query(run, "SELECT count(*) FROM information_schema.tables")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (";", "must be one SELECT"),
        ("", "must be one SELECT"),
        ("SELECT 1; SELECT 2", "must be one SELECT"),
        ("CALL enable_logging('QueryLog')", "must be one SELECT"),
        ("SET memory_limit = '99GB'", "must be one SELECT"),
        ("COPY (SELECT 1) TO 'there.csv'", "must be one SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "The query failed"),
        ("SELECT * FROM range(100000000000)", "write LIMIT"),
        ("SELECT repeat('x', 70000000)", "write LIMIT"),
        ("SELECT list(range) FROM range(1000000000)", "of memory"),
        ("SELECT '\ud800'", "The query failed"),
    ],
)
def test_a_query_reads_and_takes_no_more_than_it_may(tmp_path, monkeypatch, sql, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attentest.store.query.SETTINGS", SETTINGS.replace("1GB", "100MB"))
    run = run_with(tmp_path, table())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=said):
        query(run, sql)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_query_that_takes_too_long_is_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr("attentest.store.query.SECONDS", 0.2)
    with pytest.raises(InputError, match="took more than"):
        query(run_with(tmp_path, table()), "SELECT sum(a.range * b.range) FROM range(100000) a, range(1000000) b")


def test_what_only_reads_is_answered(tmp_path):
    run = run_with(tmp_path, table())
    assert query(run, "; SELECT 1")[1] == [(1,)]
    assert query(run, "DESCRIBE agreement")[1]
    if duckdb.__version__ >= "2":  # one statement from then on
        assert query(run, "PIVOT agreement ON predicted USING count(*)")[1]


def test_deep_parentheses_are_answered_or_refused(tmp_path):
    run, deep = run_with(tmp_path, table()), f"SELECT {'(' * 5000}1{')' * 5000}"
    with contextlib.suppress(InputError):  # DuckDB 1 answers
        assert query(run, deep)[1] == [(1,)]


@pytest.mark.slow
def test_findings_report_and_store_do_without_torch():
    code = (
        "import sys, attentest.store.query, attentest.store.summary, attentest.report.verdict.judge\n"
        "import attentest.report.pages.run, attentest.report.tables.answer, attentest.report.tables.measures\n"
        "from attentest.challenges import PRESENTATIONS\n"
        "drawn = [reading.figures() for reading in PRESENTATIONS.values()]\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
