"""UpdateBatch.from_rows: the closed form against a replay row by row, and its form."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide import BatchError, UpdateBatch
from graphtide.gpu_core.batch import serial_sort
from graphtide.gpu_core.batch.net_effect import last_rows
from graphtide.gpu_core.batch.numbered_batch import NumberedBatch
from graphtide.gpu_core.kind import RowMeaning, row_meaning
from graphtide.gpu_core.records import record_named
from oracles import FATES, ModelGraph, Row, apply_batch, batch_arguments, listed_edges

LIMITS = np.iinfo(np.int64)
#: Ids that are close together, far apart, negative, and at both ends of int64.
IDS = (LIMITS.min, LIMITS.min + 1, -(2**40), -7, -1, 0, 1, 2, 3, 5, 2**20, 2**33, LIMITS.max)
RECORDS = ("simple", "weighted", "semantic")


@st.composite
def batches_of_rows(draw: st.DrawFn) -> list[list[Row]]:
    """Up to three batches over a few vertices, so that rows override one another."""
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4, unique=True))
    vertex = st.sampled_from(ids)
    row = st.builds(
        Row,
        op=st.sampled_from((1, 1, -1)),
        src=vertex,
        dst=draw(st.sampled_from((vertex, st.one_of(vertex, vertex, vertex, st.none())))),
        weight=st.floats(-10, 10, width=32) | st.sampled_from((0.1, 1e-300)),
        type=st.integers(-(2**31), 2**31 - 1),
        ts=st.integers(-100, 100) | st.sampled_from((LIMITS.min, LIMITS.max)),
    )
    # Left alone, lists are short, and few rows meet again on one edge.
    least = draw(st.sampled_from((0, 12, 30)))
    return draw(st.lists(st.lists(row, min_size=least, max_size=40), min_size=1, max_size=3))


@given(
    batches=batches_of_rows(),
    directed=st.booleans(),
    records=st.sampled_from((*RECORDS, "semantic")),
    self_loops=st.sampled_from(("drop", "drop", "keep", "reject")),
    create_vertices=st.sampled_from((True, True, False)),
)
@settings(max_examples=60, deadline=None)  # the next test crowds the rows more
def test_a_batch_does_what_its_rows_do_one_by_one(
    batches: list[list[Row]],
    directed: bool,
    records: str,
    self_loops: str,
    create_vertices: bool,
) -> None:
    if self_loops == "keep" and not directed:
        directed = True
    replay_and_compare(
        batches,
        directed=directed,
        records=records,
        self_loops=self_loops,
        create_vertices=create_vertices,
    )


@pytest.mark.parametrize("records", RECORDS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("vertex_rows", [0.0, 0.05, 0.3])
def test_crowded_batches_do_what_their_rows_do_one_by_one(
    vertex_rows: float, directed: bool, records: str
) -> None:
    """Many rows on three vertices, every one with its own values: hardly a row is alone."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        ids = rng.choice(np.array(IDS), 3, replace=False).tolist()
        rows = [
            Row(
                op=int(rng.choice((1, 1, -1))),
                src=ids[rng.integers(3)],
                dst=None if rng.random() < vertex_rows else ids[rng.integers(3)],
                weight=position + 0.25,
                type=position,
                ts=int(rng.permutation(1000)[position]),
            )
            for position in range(40)
        ]
        batches = [rows[:10], rows[10:]]
        replay_and_compare(
            batches, directed=directed, records=records, self_loops="drop", create_vertices=True
        )


def replay_and_compare(batches: list[list[Row]], **meaning: Any) -> None:
    """Apply the batches to two graphs, one row by row and one as `UpdateBatch`es."""
    model, graph = ModelGraph(**meaning), ModelGraph(**meaning)
    for batch_id, rows in enumerate(batches):
        try:
            expected = model.apply(rows)
        except BatchError:
            with pytest.raises(BatchError):
                apply_batch(graph, UpdateBatch.from_rows(**batch_arguments(rows), **meaning))
            continue
        batch = UpdateBatch.from_rows(**batch_arguments(rows), **meaning, batch_id=batch_id)
        batch.validate()
        counts = apply_batch(graph, batch)
        assert graph.vertices == model.vertices
        assert graph.canonical_edges() == model.canonical_edges()
        assert counts == expected, "a row is counted as something else"
        assert sum(counts[fate] for fate in FATES) == len(rows), "a row is not counted once"
        assert batch.batch_id == batch_id


def columns_of(kind: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ops and ids whose distribution takes one way through the ordering of the rows."""
    rng = np.random.default_rng(seed)
    op = np.where(rng.random(rows) < 0.7, 1, -1).astype(np.int8)
    if kind == "narrow":
        src, dst = rng.integers(-500, 500, (2, rows))
    elif kind == "one source":
        src, dst = np.full(rows, -9), rng.integers(LIMITS.min, LIMITS.max, rows)
    elif kind == "wide":
        src, dst = rng.integers(LIMITS.min, LIMITS.max, (2, rows), endpoint=True)
    elif kind == "few wide":
        src, dst = rng.integers(LIMITS.min, LIMITS.max, 300)[rng.integers(0, 300, (2, rows))]
    elif kind == "hubs":
        hubs = rng.integers(LIMITS.min, LIMITS.max, 400)
        src, dst = hubs[np.minimum(rng.zipf(1.3, (2, rows)) - 1, 399)]
    elif kind == "clusters":
        # All but a few ids lie close together: one prefix holds nearly every row.
        src, dst = rng.integers(0, 2000, (2, rows))
        src[:3], dst[:3] = LIMITS.max, LIMITS.min
    else:
        src, dst = rng.integers(0, 3, (2, rows)) << 61 | rng.integers(0, 40, (2, rows))
    return op, src.astype(np.int64), dst.astype(np.int64)


@pytest.mark.parametrize("rows", [1, 2, 700, 40_000])
@pytest.mark.parametrize(
    "kind", ["narrow", "one source", "wide", "few wide", "hubs", "clusters", "shards"]
)
@pytest.mark.parametrize("directed", [True, False])
def test_many_rows_of_any_ids_equal_a_dictionary(kind: str, rows: int, directed: bool) -> None:
    op, src, dst = columns_of(kind, rows, seed=rows)
    weight = np.arange(rows, dtype=np.float32)
    last: dict[tuple[int, int], tuple[int, float]] = {}
    created: set[int] = set()
    for kind_of_row, a, b, w in zip(
        op.tolist(), src.tolist(), dst.tolist(), weight.tolist(), strict=True
    ):
        if a != b:
            last[(a, b) if directed or a < b else (b, a)] = (kind_of_row, w)
            created |= {a, b} if kind_of_row > 0 else set()
    batch = UpdateBatch.from_rows(
        op, src, dst, weight=weight, directed=directed, records="weighted"
    )
    batch.validate()
    puts = sorted((edge, w) for edge, (kind_of_row, w) in last.items() if kind_of_row > 0)
    assert batch.put_weight is not None
    assert list(zip(listed_edges(batch, "put"), batch.put_weight.tolist(), strict=True)) == puts
    deletes = sorted(edge for edge, (kind_of_row, _) in last.items() if kind_of_row < 0)
    assert listed_edges(batch, "delete") == deletes
    implied = {end for edge, _ in puts for end in edge}
    assert set(batch.put_vertices.tolist()) | implied == created


@pytest.mark.parametrize("dst_bits", [1, 26, 40, 63, 64])
def test_the_border_between_narrow_and_wide_ids(dst_bits: int) -> None:
    """1,000 rows leave 53 bits of a key to the edge: one more, and it does not fit."""
    rng = np.random.default_rng(dst_bits)
    for src_bits in {1, *range(max(1, 51 - dst_bits), min(64, max(4, 57 - dst_bits)))}:
        # Odd and even neighbors, at both ends of the range: no bit can be lost unnoticed.
        src, dst = (
            rng.choice(np.array([0, 1, 2**bits - 2, 2**bits - 1], dtype=np.uint64), 1000)
            for bits in (src_bits + (src_bits == 1), dst_bits + (dst_bits == 1))
        )
        src, dst = src.view(np.int64) + LIMITS.min, dst.view(np.int64) + LIMITS.min
        batch = UpdateBatch.from_rows(None, src, dst, self_loops="keep")
        batch.validate()
        edges = sorted(set(zip(src.tolist(), dst.tolist(), strict=True)))
        assert listed_edges(batch, "put") == edges


def test_the_ways_of_ordering_are_all_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The distributions above reach wide keys, short runs and long ones."""
    taken: dict[str, set[str]] = {}
    number_edges, edge_lists = last_rows.number_edges, last_rows.edge_lists

    def noted_numbers(*arguments: Any) -> Any:
        taken.setdefault("numbered", set()).add(kind)
        return number_edges(*arguments)

    def noted_lists(ordered: last_rows.OrderedEdgeRows, **wanted: Any) -> Any:
        taken.setdefault("narrow" if ordered.dst_bits else "wide", set()).add(kind)
        return edge_lists(ordered, **wanted)

    monkeypatch.setattr(last_rows, "number_edges", noted_numbers)
    monkeypatch.setattr(last_rows, "edge_lists", noted_lists)
    order_runs = last_rows.order_runs

    def noted_runs(*arguments: Any) -> Any:
        runs = order_runs(*arguments)
        if len(runs):
            taken.setdefault("long runs", set()).add(kind)
        return runs

    monkeypatch.setattr(last_rows, "order_runs", noted_runs)
    for kind in ("narrow", "wide", "few wide", "hubs", "clusters", "shards"):
        UpdateBatch.from_rows(*columns_of(kind, 40_000, seed=1), records="weighted")
    assert taken["narrow"] == {"narrow"}
    assert taken["long runs"] >= {"clusters", "shards"}
    assert taken["numbered"] >= {"wide", "few wide", "hubs"}


@pytest.mark.parametrize("by_numpy", [True, False])
@pytest.mark.parametrize("kind", ["narrow", "wide", "hubs"])
def test_either_sort_gives_the_same_batch(
    kind: str, by_numpy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = columns_of(kind, 2 * serial_sort.TIMED_KEYS, seed=3)
    usual = UpdateBatch.from_rows(*columns, records="weighted")
    monkeypatch.setattr(serial_sort, "sorts_by_numpy", lambda: by_numpy)
    batch = UpdateBatch.from_rows(*columns, records="weighted")
    batch.validate()
    for name, array in usual._arrays().items():
        np.testing.assert_array_equal(getattr(batch, name), array, err_msg=name)


def test_all_inserts_need_no_op_and_no_mask() -> None:
    batch = UpdateBatch.from_rows(None, [3, 1, 1], [4, 2, 2])
    assert listed_edges(batch, "put") == [(1, 2), (3, 4)]
    assert (batch.rows, batch.overridden, batch.dropped) == (3, 1, 0)
    assert batch.put_weight is None


def test_missing_properties_have_their_defaults() -> None:
    batch = UpdateBatch.from_rows(None, [1], [2], ts=[5], records="semantic")
    values = (batch.put_weight, batch.put_type, batch.put_first, batch.put_last, batch.put_reset)
    assert [value.tolist() for value in values if value is not None] == [
        [1],
        [0],
        [5],
        [5],
        [False],
    ]


def test_first_time_is_that_of_the_first_insert_after_the_last_delete() -> None:
    batch = UpdateBatch.from_rows(
        [1, -1, 1, 1], [1] * 4, [2] * 4, ts=[10, 20, 30, 40], records="semantic"
    )
    assert batch.put_first is not None
    assert batch.put_last is not None
    assert batch.put_reset is not None
    assert (batch.put_first[0], batch.put_last[0], batch.put_reset[0]) == (30, 40, True)


def test_arguments_are_neither_copied_into_the_batch_nor_frozen() -> None:
    src, dst = np.array([1, 2]), np.array([3, 4])
    batch = UpdateBatch.from_rows(None, src, dst)
    src[0] = 9
    assert listed_edges(batch, "put") == [(1, 3), (2, 4)]
    with pytest.raises(ValueError, match="read-only"):
        batch.put_indices[0] = 7


def test_read_only_columns_are_read() -> None:
    columns = [np.array(column) for column in ([1, -1], [1, 2], [3, 4])]
    for column in columns:
        column.flags.writeable = False
    assert listed_edges(UpdateBatch.from_rows(*columns), "delete") == [(2, 4)]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "uint64"])
def test_any_integer_type_is_widened(dtype: str) -> None:
    ids = np.array([1, 100], dtype=dtype)
    assert listed_edges(UpdateBatch.from_rows(None, ids, ids[::-1]), "put") == [(1, 100), (100, 1)]


def test_unsigned_ids_may_be_of_two_types_with_nulls_among_them() -> None:
    """A log of two tables has them so; what NumPy makes of both together are floats."""
    meaning = RowMeaning(record_named("simple"), ids="uint64")
    src, dst = np.array([1, 2], np.int32), np.array([2**64 - 1, 2**63], np.uint64)
    batch = UpdateBatch.of_rows(None, src, dst, meaning, dst_valid=np.array([True, False]))
    assert listed_edges(batch, "put") == [(1 - 2**63, 2**63 - 1)]
    assert batch.put_vertices.tolist() == [2 - 2**63]
    # A negative number under a null is none of an id.
    dst = np.array([7, -1])
    batch = UpdateBatch.of_rows(None, src, dst, meaning, dst_valid=np.array([True, False]))
    assert listed_edges(batch, "put") == [(1 - 2**63, 7 - 2**63)]


def test_columns_of_the_other_byte_order_are_read() -> None:
    ids, times = np.array([1, 2], dtype=">i4"), np.array([5, 6], dtype=">M8[ms]")
    batch = UpdateBatch.from_rows(
        np.array([1, -1], dtype=">i8"), ids, ids[::-1], ts=times, records="semantic"
    )
    assert listed_edges(batch, "put") == [(1, 2)]
    assert listed_edges(batch, "delete") == [(2, 1)]
    assert batch.put_last is not None
    assert batch.put_last.tolist() == [5]


@pytest.mark.parametrize(
    "ts", [np.array([1, 2**64 - 1], np.uint64), np.array([1, "NaT"], "datetime64[s]")]
)
def test_times_that_stand_on_deletes_are_not_looked_at(ts: Any) -> None:
    batch = UpdateBatch.from_rows([1, -1], [1, 2], [2, 1], ts=ts, records="semantic")
    assert batch.put_last is not None
    assert batch.put_last.tolist() == [1]


def test_a_batch_travels_as_out_of_band_buffers() -> None:
    rng = np.random.default_rng(0)
    rows = 5000
    batch = UpdateBatch.from_rows(
        None, *rng.integers(0, 900, (2, rows)), ts=np.arange(rows), records="semantic", batch_id=4
    )
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
    assert len(head) < 4000, "an array went into the pickle itself"
    assert sum(buffer.raw().nbytes for buffer in buffers) == batch.nbytes
    for wrap in (bytes, bytearray):
        arrived = pickle.loads(head, buffers=[wrap(buffer.raw()) for buffer in buffers])
        arrived.validate()
        assert arrived.batch_id == 4
        assert listed_edges(arrived, "put") == listed_edges(batch, "put")
        assert not arrived.put_indices.flags.writeable
        assert repr(arrived) == repr(batch)


@pytest.mark.parametrize("kind", [UpdateBatch, NumberedBatch])
def test_the_size_of_a_batch_is_that_of_all_that_travels(kind: type[UpdateBatch]) -> None:
    meaning = row_meaning(
        ids="string", properties={"a": "int8"}, vertex_properties={"b": "float64"}
    )
    names = [str(n) for n in range(100)]
    batch = kind.of_rows(
        None, names, names[::-1], meaning, dst_valid=[True, False] * 50,
        values={"a": np.zeros(100, np.int8), "b": np.zeros(100)},
    )  # fmt: skip
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(batch, protocol=5, buffer_callback=buffers.append)
    assert sum(buffer.raw().nbytes for buffer in buffers) == batch.nbytes


def test_a_copy_is_read_only_too() -> None:
    batch = UpdateBatch.from_rows(None, [1], [2])
    for copied in (pickle.loads(pickle.dumps(batch, protocol=4)), copy.deepcopy(batch)):
        assert not copied.put_indices.flags.writeable


def test_empty_batches() -> None:
    for records in RECORDS:
        batch = UpdateBatch.empty(records=records, directed=False, batch_id=3)
        batch.validate()
        assert (batch.rows, batch.batch_id, batch.put_indptr.tolist()) == (0, 3, [0])
    UpdateBatch.from_rows([], [], []).validate()


def test_repr_is_one_line() -> None:
    batch = UpdateBatch.from_rows([1, 1, -1], [1, 5, 2], [1, 0, 3], dst_valid=[True, False, True])
    assert repr(batch) == (
        "<UpdateBatch by hand: directed simple, 3 rows (1 dropped, 0 overridden); "
        "edges +0 -1, vertices +1 -0; 0.0 MB>"
    )


def test_values_of_rows_that_insert_no_edge_are_not_looked_at() -> None:
    batch = UpdateBatch.from_rows(
        [-1, 1, 1],
        [1, 2, 3],
        [5, 0, 6],
        dst_valid=[True, False, True],
        weight=[np.nan, np.inf, 2],
        type=[2**31, -(2**31) - 1, 7],
        ts=[1, 2, 3],
        records="semantic",
    )
    assert batch.put_weight is not None
    assert batch.put_weight.tolist() == [2]
    assert batch.put_type is not None
    assert batch.put_type.tolist() == [7]


@pytest.mark.parametrize(("ids", "vertex"), [("any", 4), ("uint64", 4), ("string", "4")])
def test_a_vertex_row_is_no_self_loop(ids: str, vertex: Any) -> None:
    batch = UpdateBatch.from_rows(
        None, [vertex], [vertex], dst_valid=[False], ids=ids, self_loops="reject"
    )
    assert batch.put_vertices.size == 1
    assert batch.put_vertex_rows.tolist() == [True]
