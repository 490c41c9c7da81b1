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
            path = run.verify(f"findings/{name}.parquet")
            literal = str(path).replace("'", "''")
            view = name.replace('"', '""')
            connection.execute(f"CREATE VIEW \"{view}\" AS SELECT * FROM read_parquet('{literal}')")
        try:
            result = connection.execute(sql)
            columns = [column[0] for column in result.description or []]
            return columns, result.fetchall()
        except duckdb.Error as error:
            views = ", ".join(run.challenges)
            first = str(error).splitlines()[0]
            raise InputError(f"The query failed: {first} Views of this run: {views}.") from error
