"""The line on gating says what the findings say, and calls attention a gate only where it is one."""

from __future__ import annotations

import pyarrow as pa

from attentest.challenges import CHALLENGES
from attentest.challenges.gating.presentation import gating_line
from attentest.store.findings import Findings


def found(rest_jsd: list[float], query_jsd: list[float] | None = None) -> Findings:
    rest = {
        "swapped": ["rest"] * len(rest_jsd),
        "gate": [value == 0 and not (query_jsd and any(query_jsd)) for value in rest_jsd],
        "rest_jsd": rest_jsd,
        "rest_log_ratio": rest_jsd,
        "gate_jsd": rest_jsd,
        "not_judged": pa.nulls(len(rest_jsd), pa.string()),
    }
    tables = [pa.table(rest)]
    if query_jsd is not None:
        query = {
            "swapped": ["query"] * len(query_jsd),
            "query_jsd": query_jsd,
            "query_change": query_jsd,
            "query_flipped": [value > 0.1 for value in query_jsd],
            "not_judged": pa.nulls(len(query_jsd), pa.string()),
        }
        tables.append(pa.table(query))
    table = pa.concat_tables(tables, promote_options="default")
    measures = tuple(m for m in CHALLENGES.parse("gating").measures if m.column in table.column_names)
    return Findings("gating", measures, table)


def test_a_gate_is_called_one_where_nothing_moves_and_nothing_is_asked():
    line = gating_line(found([0.0] * 20))
    assert line.reading.startswith("Attention is a gate here")
    assert (line.tone, line.about, line.estimate.judged) == ("context", "setting", 20)


def test_weights_that_move_with_the_rest_of_the_text_are_no_gate():
    assert gating_line(found([0.1] * 20)).reading.startswith("No gate")


def test_where_a_query_is_asked_the_line_says_what_another_one_does():
    line = gating_line(found([0.0] * 4, [0.2, 0.2, 0.05, 0.15]))
    assert "gate here" not in line.reading
    assert "75\u00a0% of decisions flip" in line.reading
    assert "0.150" in line.result
    deaf = gating_line(found([0.0] * 4, [0.0] * 4))
    assert "ignores the query" in deaf.reading
