"""Which rows and times a batch was, and how it is told."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide.gpu_core.report import BatchSource
from graphtide.io.log.batch_times import InsertTimes, TimeRange, batch_source
from graphtide.io.log.plan import PlannedBatch

PLANNED = PlannedBatch(3, "a/b.parquet", 1000, 3)


def source_of(values: list[Any], kind: pa.DataType, time_unit: str | None) -> tuple[Any, ...]:
    source = batch_source(PLANNED, pa.table({"ts": pa.array(values, kind)}), time_unit)
    assert source[:3] == ("a/b.parquet", 1000, 3)
    return source[3:]


@pytest.mark.parametrize(
    ("values", "kind", "time_unit", "expected"),
    [
        ([5, None, 2], pa.int64(), "int64", (2, 5, "int64")),
        ([5, None, 2], pa.int32(), None, (2, 5, "int64")),
        ([2, 5], pa.timestamp("s"), "timestamp[ms]", (2000, 5000, "timestamp[ms]")),
        ([-1500, 5999], pa.timestamp("ms", "UTC"), "timestamp[s, tz=UTC]",
         (-2, 5, "timestamp[s, tz=UTC]")),
        ([7], pa.timestamp("us"), None, (7, 7, "timestamp[us]")),
        ([None], pa.timestamp("us"), None, (None, None, None)),
        ([7, -(2**63), 9], pa.timestamp("us"), None, (7, 9, "timestamp[us]")),
        ([-(2**63)], pa.timestamp("us"), None, (None, None, None)),
        ([-(2**63), 9], pa.int64(), "int64", (-(2**63), 9, "int64")),
        ([], pa.timestamp("us"), None, (None, None, None)),
        ([2**62], pa.timestamp("s"), "timestamp[ns]", (None, None, None)),
        ([2**63 + 1], pa.uint64(), "int64", (None, None, None)),
    ],
)  # fmt: skip
def test_times_are_the_earliest_and_latest_in_the_unit_of_the_graph(
    values: list[Any], kind: pa.DataType, time_unit: str | None, expected: tuple[Any, ...]
) -> None:
    assert source_of(values, kind, time_unit) == expected


def test_records_without_times_have_none() -> None:
    assert batch_source(PLANNED, pa.table({"src": [1]}), None)[3:] == (None, None, None)


@pytest.mark.parametrize(
    ("op", "is_edge", "seen"),
    [
        (None, None, (0, 12)),
        ([1, -1, 1, 1, -1], None, (1, 9)),
        (None, [1, 0, 1, 0, 1], (5, 12)),
        ([1, -1, 1, 1, -1], [1, 0, 1, 0, 1], (5, 9)),
        ([-1] * 5, None, None),
        (None, [0] * 5, None),
    ],
)
def test_times_of_inserts_are_those_of_rows_that_insert_an_edge(
    op: list[int] | None, is_edge: list[int] | None, seen: tuple[int, int] | None
) -> None:
    times = InsertTimes()
    times.seen = TimeRange(-7, 70)  # of the batch before
    columns = {
        "ts": np.array([9, 0, 5, 1, 12]),
        "dst_valid": None if is_edge is None else np.array(is_edge, np.bool_),
    }
    make = times.recording(lambda *_, **given: given)
    assert make(None if op is None else np.array(op), None, None, None, **columns) == columns
    assert times.seen == seen


def test_a_source_in_words() -> None:
    source = BatchSource("a.parquet", 1000, 500)
    assert str(source) == "rows 1,000 to 1,499 of a.parquet"
    timed = source._replace(first_ts=0, last_ts=86400, time_unit="timestamp[s, tz=UTC]")
    assert str(timed).endswith("of a.parquet, ts 1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z")
    assert str(timed._replace(time_unit="timestamp[s]")).endswith(" to 1970-01-02T00:00:00")
    assert str(timed._replace(time_unit="int64")).endswith(", ts 0 to 86400")
    assert str(source._replace(file="\x1b[31m\ta.csv")).endswith(r" of \x1b[31m\ta.csv")
