"""SQL over a run's findings: each challenge is a view, DuckDB reads the Parquet files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attentest.errors import InputError
from attentest.memory import at_most
from attentest.store.folder import RunFolder

__all__ = ["SECONDS", "TOO_LONG", "query"]

#: What one query may take: seconds, memory, and what it gives back.
SECONDS = 12.0
MEMORY = "1GB"
#: Bytes for all of it: functions of texts take memory that DuckDB does not count.
ALL_MEMORY = 2 << 30
MOST_ROWS = 100_000
MOST_CHARACTERS = 64 << 20
TOO_LONG = f"The query took more than {SECONDS:.0f} seconds: ask for less, or narrow it."
#: Statements that only read. PIVOT is several of them.
READING = ("SELECT", "EXPLAIN", "MULTI")
#: A query reads findings: it writes no file, does not reach the network, and changes none of this.
SETTINGS = f"""
SET python_enable_replacements = false; SET temp_directory = ''; SET memory_limit = '{MEMORY}';
SET enable_external_access = false; SET lock_configuration = true
"""


def query(run: RunFolder, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and rows of a query over the run's verified findings: those that it names, or all."""
    import duckdb

    named = [name for name in run.challenges if name in sql.lower()]
    with duckdb.connect(":memory:") as connection:
        for name in named or run.challenges:
            connection.register(name, run.findings(name).table)
        connection.execute(SETTINGS)
        try:
            sql.encode()  # what no file could hold, DuckDB cannot read either
            (statement,) = [found for found in connection.extract_statements(sql) if found.type.name in READING]
            with _in_time(connection), at_most(ALL_MEMORY):
                result = connection.execute(statement)
                columns = [column[0] for column in result.description or []]
                return columns, _rows(result)
        except duckdb.InterruptException as error:
            raise InputError(TOO_LONG) from error
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise InputError(f"The query needs more than {MEMORY} of memory: ask for less, or narrow it.") from error
        except (duckdb.Error, UnicodeError) as error:
            first = str(error).splitlines()[0]
            if "pytz" in first:
                first = "a time with a zone cannot be shown: cast it, as now()::TIMESTAMP."
            raise InputError(f"The query failed: {first} {_views(run)}") from error
        except (ValueError, OverflowError) as error:
            # From unpacking: none, or several; from DuckDB: a date, say, that Python does not have.
            raise InputError(f"The query must be one SELECT whose values Python has. {_views(run)}") from error


def _views(run: RunFolder) -> str:
    return f"Views of this run: {', '.join(run.challenges)}."


def _rows(result: Any) -> list[tuple[Any, ...]]:
    """All rows, where they are not more than anybody reads."""
    rows: list[tuple[Any, ...]] = []
    characters = 0
    while some := result.fetchmany(1000):
        rows += some
        characters += sum(len(cell) for row in some for cell in row if isinstance(cell, str | bytes | list | dict))
        if len(rows) > MOST_ROWS or characters > MOST_CHARACTERS:
            raise InputError(
                f"The query gives more than {MOST_ROWS:,} rows or {MOST_CHARACTERS >> 20} MB: write LIMIT, or count."
            )
    return rows


@contextmanager
def _in_time(connection: Any) -> Iterator[None]:
    """Interrupt the query when its time is up."""
    timer = threading.Timer(SECONDS, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
