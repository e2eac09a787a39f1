"""Rows that the GPU converts: refused, converted and applied as rows that CPU workers convert."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from actor_copies import copied
from graphtide.gpu_core.batch.packed_batch import PackedBatch
from graphtide.gpu_core.batch.raw_rows import RawRows, raw_bytes, raw_rows
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.convert.feed import Feed
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.update.batch import upload
from graphtide.gpu_core.errors import BatchError, GraphtideError
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.records import RECORDS
from graphtide.io.log.bad_rows import RowsToRead
from graphtide.io.log.batch_times import InsertTimes
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.plan import PlannedBatch
from graphtide.io.log.row_origin import RowOrigin
from graphtide.io.log.update_log import UpdateLog
from graphtide.pipeline.batch_form import BatchForm, convert_to_form
from graphtide.pipeline.graph_worker.actor import GraphActor
from graphtide.pipeline.graph_worker.actor_arguments import ActorArguments
from graphtide.pipeline.graph_worker.handover import RingSize, RingSlots
from graphtide.pipeline.graph_worker.ring import Ring, Ticket, write
from graphtide.pipeline.tasks import load_batch
from same_batch import assert_same_batch

PLACE = {"origin": RowOrigin("part.parquet", 100), "batch_id": 3}


def columns_of(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "op": random.choice(np.array([1, 1, -1], np.int8), rows),
        "src": random.integers(0, 50, rows),
        "dst": random.integers(0, 50, rows),
        "weight": random.random(rows, np.float32),
        "type": random.integers(0, 9, rows).astype(np.int32),
        "ts": random.integers(0, 2**40, rows),
    }


def raw(
    columns: dict[str, np.ndarray], *, dense: bool, bounds: Any = None, **kind: Any
) -> RawRows | UpdateBatch:
    how: dict[str, Any] = {"dense": dense, "bounds": bounds, "batch_id": 3}
    columns = dict(columns)
    return raw_rows(columns.pop("op", None), **columns, meaning=row_meaning(**kind), **how)


# -- what they are


@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("dense", [True, False])
def test_what_rows_fill_in_a_slot_is_known_before_there_are_any(records: str, dense: bool) -> None:
    rows = raw(columns_of(3_001), dense=dense, records=records)
    ring = Ring(1, 1 << 17, 0)
    ticket = write(ring.address, 0, 0, rows)
    assert ticket is not None
    assert ring.memory_of(ticket).size == raw_bytes(
        3_001, id_bytes=4 if dense else 8, records=records
    )


@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_a_gpu_makes_of_rows_what_the_host_makes(
    device: Any, records: str, dense: bool, directed: bool, dtype: type
) -> None:
    columns = columns_of(3_000)
    columns |= {end: columns[end].astype(dtype) for end in ("src", "dst")}
    # What is no weight on a row that needs none says nothing.
    columns["weight"][columns["op"] < 0] = np.inf
    kind = {"records": records, "directed": directed}
    rows = raw(columns, dense=dense, **kind)
    assert isinstance(rows, RawRows)
    ours = Feed(Staging(device), dense=dense).send(rows).batch()
    twin = UpdateBatch.from_rows(**columns, **kind, batch_id=3)
    assert_same_batch(device, ours, upload(Staging(device), twin, dense=dense))


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("dense", [True, False])
def test_ids_of_32_bits_travel_as_they_are(dtype: type, dense: bool) -> None:
    columns = columns_of(1_000)
    columns["src"][0] = np.iinfo(np.int32).max
    twin = raw(columns, dense=dense, records="simple")
    narrow = {**columns, "src": columns["src"].astype(dtype), "dst": columns["dst"].astype(dtype)}
    rows = raw(narrow, dense=dense, records="simple")
    assert isinstance(rows, RawRows)
    assert isinstance(twin, RawRows)
    assert rows.bounds == twin.bounds
    for name in ("src", "dst"):
        assert rows.arrays[name].dtype == np.uint32
        assert np.shares_memory(rows.arrays[name], narrow[name])
        np.testing.assert_array_equal(rows.arrays[name], twin.arrays[name])


@pytest.mark.parametrize(("dtype", "bad"), [(np.int32, -1), (np.uint32, 2**32 - 1)])
@pytest.mark.parametrize("name", ["src", "dst"])
def test_ids_of_32_bits_that_are_no_vertex_indices_do_not_travel(
    dtype: type, bad: int, name: str
) -> None:
    columns = columns_of(1_000)
    for end in ("src", "dst"):
        columns[end] = columns[end].astype(dtype)
    columns[name][700] = bad
    assert isinstance(raw(columns, dense=True, records="simple"), UpdateBatch)
    rows = raw(columns, dense=False, records="simple")
    assert isinstance(rows, RawRows)
    for end in ("src", "dst"):
        assert rows.arrays[end].dtype == (np.int64 if bad < 0 else np.uint32)
        np.testing.assert_array_equal(rows.arrays[end], columns[end])


def test_weights_of_edges_that_repeat_are_not_left_to_the_gpu() -> None:
    columns = {"src": np.array([1, 1]), "dst": np.array([2, 2]), "weight": np.array([1.0, 2.0])}
    made = raw(columns, dense=False, records="weighted", on_repeat="sum")
    assert isinstance(made, UpdateBatch)
    assert made.repeat_weight is not None
    assert made.repeat_weight.tolist() == [2.0]


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@pytest.mark.parametrize("dense", [True, False])
def test_bounds_that_are_known_are_not_looked_for(dtype: type, dense: bool) -> None:
    columns = columns_of(1_000)
    columns |= {end: columns[end].astype(dtype) for end in ("src", "dst")}
    rows = raw(columns, dense=dense, records="simple", bounds=(0, 60, 0, 70))
    assert isinstance(rows, RawRows)
    if dtype == np.int32 or not dense:
        assert rows.bounds == (0, 60, 0, 70)
    # Of other rows of the file: these here may be vertex indices all the same. And of no rows.
    for said in ((-5, 60, 0, 1 << 40), (60, 0, 0, 70), (0, 60, 70, 0)):
        rows = raw(columns, dense=True, records="simple", bounds=said)
        assert isinstance(rows, RawRows)
        assert rows.bounds == (0, 49, 0, 49)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("bounds", [(0, 48, 0, 49), (1, 49, 0, 49), (0, 49, 0, 48)])
def test_ids_beyond_the_bounds_that_were_said_are_refused_by_the_gpu(
    device: Any, dense: bool, bounds: tuple[int, int, int, int]
) -> None:
    columns = columns_of(3_000)
    columns |= {end: columns[end].astype(np.int32) for end in ("src", "dst")}
    rows = raw(columns, dense=dense, records="simple", bounds=bounds)
    assert isinstance(rows, RawRows)
    with pytest.raises(BatchError, match="statistics"):
        Feed(Staging(device), dense=dense).send(rows).batch()


def test_only_what_is_needed_travels() -> None:
    columns = columns_of(1_000)
    rows = raw(columns, dense=True, records="simple")
    assert isinstance(rows, RawRows)
    assert {name: array.dtype for name, array in rows.arrays.items()} == {
        "src": np.uint32, "dst": np.uint32, "op": np.int8
    }  # fmt: skip
    columns["op"][:] = 1
    rows = raw(columns, dense=False, records="weighted")
    assert isinstance(rows, RawRows)
    assert sorted(rows.arrays) == ["dst", "src", "weight"]
    assert np.shares_memory(rows.arrays["src"], columns["src"]), "a column was copied"


@pytest.mark.parametrize(
    "change",
    [{"dst_valid": np.arange(10) != 4}, {"src": np.arange(10) - 1}, {"dst": np.arange(10) << 30}],
    ids=["vertex row", "negative", "too large"],
)
def test_what_the_gpu_cannot_convert_is_converted_by_the_cpu_worker(
    change: dict[str, np.ndarray],
) -> None:
    columns = {**{name: column for name, column in columns_of(10).items()}, **change}
    assert isinstance(raw(columns, dense=True, records="simple"), UpdateBatch)


# -- errors


def table_of(rows: int = 6, **changes: Any) -> pa.Table:
    return pa.table({**columns_of(rows), **changes})


@pytest.mark.parametrize(
    ("table", "kind"),
    [
        (table_of(src=pa.array([1, 2, None, 4, 5, 6])), {}),
        (table_of(op=np.array([1, 1, 2, 1, 1, 1], np.int8)), {}),
        (table_of(op=["insert", "upsert", *["delete"] * 4]), {}),
        (table_of(src=np.arange(6), dst=np.array([9, 9, 9, 3, 9, 9])), {"self_loops": "reject"}),
        (table_of(op=np.ones(6, np.int8), weight=np.array([1, np.nan] * 3)), {}),
        (table_of(op=np.ones(6, np.int8), weight=pa.array([1.0, None] * 3)), {}),
        (table_of(src=np.array([2**63] * 6, np.uint64)), {}),
        (table_of(src=np.arange(6) - 2), {}),
        (table_of(dst=np.arange(6) + 2**32), {}),
        (table_of().drop_columns(["dst"]), {}),
    ],
    ids=["null", "op", "text", "loop", "weight", "no weight", "wide", "negative", "large", "none"],
)
def test_bad_rows_are_told_in_the_same_words(table: pa.Table, kind: dict[str, Any]) -> None:
    arguments = {"meaning": row_meaning(**kind, records="weighted"), **PLACE}
    found = []
    for form in (BatchForm(True, True, raw=False), BatchForm(True, True, raw=True)):
        with pytest.raises(GraphtideError) as error:
            convert_to_form(table, form, InsertTimes(), **arguments)
        found.append((type(error.value), str(error.value)))
    assert found[0] == found[1]


def test_a_loop_that_is_dropped_may_have_any_id() -> None:
    table = table_of(src=np.array([1, 2**40] * 3), dst=np.array([2, 2**40] * 3))
    for is_raw in (False, True):
        form = BatchForm(True, True, is_raw)
        made = convert_to_form(table, form, InsertTimes(), meaning=row_meaning(), **PLACE)
        assert isinstance(made, PackedBatch)
        assert made.fields["dropped"] == 3


# -- from a log into a graph


FILES = ["edges", "with vertices", "inserts", "edges again"]


def write_file(log: Path, name: str, seed: int) -> None:
    columns: dict[str, Any] = columns_of(400, seed)
    if name == "with vertices":
        is_vertex = np.arange(400) % 50 == 0
        columns["dst"] = pa.array(columns["dst"], mask=is_vertex)
        for each in ("weight", "type"):
            columns[each] = pa.array(columns[each], mask=is_vertex)
    elif name == "inserts":
        del columns["op"]
    write_log_file(str(log / f"{name}.parquet"), pa.table(columns))


@pytest.fixture(params=["emulated", pytest.param("real", marks=pytest.mark.gpu)])
def _gpu(request: pytest.FixtureRequest) -> None:
    """Engine ``cuda`` works on a device of either kind."""
    if request.param == "emulated":
        request.getfixturevalue("emulated_device")


@pytest.mark.usefixtures("_gpu")
@pytest.mark.parametrize("records", ["simple", "semantic"])
@pytest.mark.parametrize("graph", [
    {"ids": "dense", "reverse": False}, {"ids": "any"}, {"ids": "dense", "directed": False},
    {"ids": "any", "self_loops": "keep"},
])  # fmt: skip
def test_reports_and_graph_do_not_depend_on_who_converts(
    tmp_path: Path, records: str, graph: dict[str, Any]
) -> None:
    batches = {"directed": True, "self_loops": "drop", "create_vertices": True, "records": records}
    batches |= {name: graph[name] for name in batches if name in graph}
    graph = {**batches, **graph}
    for seed, name in enumerate(FILES):
        write_file(tmp_path, name, seed)
    log, meaning = UpdateLog(str(tmp_path), {}, records), row_meaning(**batches)
    copies = []
    for form, engine in (
        (BatchForm(), "host"),
        (BatchForm(True, graph["ids"] == "dense", raw=False), "cuda"),
        (BatchForm(True, graph["ids"] == "dense", raw=True), "cuda"),
    ):
        actor = GraphActor(
            ActorArguments({**graph, "engine": engine}, ring=RingSize(4, 1 << 16), raw=form.raw)
        )
        assert not isinstance(actor.ring, str)
        slots = RingSlots(actor.ring)
        for number, name in enumerate(FILES):
            planned = PlannedBatch(number, f"{name}.parquet", 0, 400)
            loaded = load_batch(RowsToRead(log, planned, None), meaning, slots.take(number), form)
            assert isinstance(loaded.payload, Ticket)
            assert actor.apply(number, loaded).error is None
        copies.append(copied(actor, len(FILES)))
    for copy in copies[1:]:
        for name, array in copies[0].arrays.items():
            np.testing.assert_array_equal(copy.arrays[name], array, err_msg=name)
        for ours, theirs in zip(copy.batches, copies[0].batches, strict=True):
            assert ours.report._replace(seconds={}) == theirs.report._replace(seconds={})
