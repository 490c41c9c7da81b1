"""SQL over a run's findings: each challenge is a view, DuckDB reads the Parquet files."""

from __future__ import annotations

from typing import Any

from attentest.errors import InputError
from attentest.store.folder import RunFolder

__all__ = ["query"]


def query(run: RunFolder, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query over the run's verified findings."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        for name in run.challenges:
            connection.register(name, run.findings(name).table)
        # A query reads findings; it does not write files or reach the network.
        connection.execute("SET python_enable_replacements = false; SET enable_external_access = false")
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or []]
            return columns, result.fetchall()
        except duckdb.Error as error:
            views = ", ".join(run.challenges)
            first = str(error).splitlines()[0]
            raise InputError(f"The query failed: {first} Views of this run: {views}.") from error
