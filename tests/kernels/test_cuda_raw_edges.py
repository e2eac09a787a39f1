"""Batches made of raw edges on the device: those that the host makes of the same rows."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphtide.gpu_core.batch.raw_rows import RawRows, raw_rows
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.convert import edge_buckets
from graphtide.gpu_core.cuda.convert.edge_order import Bounds, EdgeRows, folded
from graphtide.gpu_core.cuda.convert.feed import Feed
from graphtide.gpu_core.cuda.convert.raw_edges import Skew, begin_edges
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.memory.scratch import DeviceScratch
from graphtide.gpu_core.cuda.structs import BUCKET_KEYS
from graphtide.gpu_core.cuda.update.batch import DeviceBatch, upload
from graphtide.gpu_core.errors import EngineError, GraphtideError
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.records import RECORDS
from same_batch import assert_same_batch
from strategies import ANY_IDS, DENSE_IDS


def converted(
    device: Any, op: Any, src: Any, dst: Any, *, dense: bool, bounds: Bounds | None = None,
    skew: Skew | None = None, batch_id: int = -1, columns: dict[str, Any] | None = None,
    **meaning: Any,
) -> DeviceBatch:  # fmt: skip
    """What the device makes of rows, which are checked on the host; ``None``: it finds bounds."""
    rows = raw_rows(
        op, src, dst, row_meaning(**meaning), dense=dense, batch_id=batch_id, **columns or {}
    )
    assert isinstance(rows, RawRows)
    arrays = {name: device.to_device(column) for name, column in rows.arrays.items()}
    return begin_edges(device, replace(rows, arrays=arrays, bounds=bounds), skew).batch()


def check(
    device: Any, op: Any, src: Any, dst: Any, *, dense: bool, bounds: Bounds | None = None,
    skew: Skew | None = None, **arguments: Any,
) -> DeviceBatch:  # fmt: skip
    """Compare it with what the host makes of the rows."""
    twin = UpdateBatch.from_rows(op, src, dst, **arguments)
    columns = {name: arguments.pop(name, None) for name in ("weight", "type", "ts")}
    ours = converted(
        device, op, src, dst, dense=dense, bounds=bounds, skew=skew, columns=columns, **arguments
    )
    assert_same_batch(device, ours, upload(Staging(device), twin, dense=dense))
    return ours


def columns_of(random: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    return {
        "weight": random.random(count),
        "type": random.integers(-5, 5, count).astype(np.int32),
        "ts": random.integers(-(2**62), 2**62, count),
    }


@given(data=st.data())
@settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_rows_that_meet_come_to_what_they_do_on_the_host(device: Any, data: st.DataObject) -> None:
    dense = data.draw(st.booleans())
    pool = data.draw(
        st.lists(st.sampled_from(DENSE_IDS if dense else ANY_IDS), min_size=1, max_size=4)
    )
    count = data.draw(st.integers(0, 40))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    src, dst = random.choice(np.array(pool, np.int64), (2, count))
    op = random.choice(np.array([1, 1, -1], np.int8), count) if data.draw(st.booleans()) else None
    directed = data.draw(st.booleans())
    check(
        device, op, src, dst, dense=dense, directed=directed,
        self_loops=data.draw(st.sampled_from(("drop", "keep") if directed else ("drop",))),
        records=data.draw(st.sampled_from(list(RECORDS))),
        create_vertices=data.draw(st.booleans()), batch_id=data.draw(st.integers(-1, 3)),
        **columns_of(random, count),
    )  # fmt: skip


@pytest.mark.parametrize("records", ["simple", "weighted", "semantic"])
@pytest.mark.parametrize(("low", "high"), [(0, 700), (-(2**29), 2**29), (-(2**63), 2**63 - 1)])
@pytest.mark.parametrize("mixed", [False, True])
def test_rows_of_several_blocks(
    device: Any, records: str, low: int, high: int, mixed: bool
) -> None:
    """Keys that hold the whole row, the edge alone, or only the source."""
    random = np.random.default_rng(7)
    count = 9_000
    src, dst = random.integers(low, high, (2, count))
    # One edge takes turns for more than a tile, many edges meet twice.
    src[2_000:5_000], dst[2_000:5_000] = 3, 4
    src[6_000:7_000], dst[6_000:7_000] = src[:1_000], dst[:1_000]
    op = random.choice(np.array([1, -1], np.int8), count) if mixed else None
    check(device, op, src, dst, dense=low == 0, records=records, **columns_of(random, count))


@pytest.mark.parametrize(("high", "directed", "records", "mixed"), [
    (700, True, "simple", False),
    (700, True, "semantic", True),
    (2**20, True, "simple", True),
    (2**20, True, "semantic", False),
    (2**20, False, "simple", False),
    (2**20, False, "semantic", True),
])  # fmt: skip
def test_many_rows_are_dealt_into_buckets_by_two_passes(
    device: Any, monkeypatch: pytest.MonkeyPatch, high: int, directed: bool, records: str,
    mixed: bool,
) -> None:  # fmt: skip
    """Here so few are many; one edge has more rows than a warp has lanes."""
    monkeypatch.setattr(edge_buckets, "_MEAN_KEYS", 20)
    skew = Skew()
    random = np.random.default_rng(11)
    src, dst = random.integers(0, high, (2, 9_000))
    src[500:900], dst[500:900] = 3, 4
    src[6_000:7_000], dst[6_000:7_000] = src[:1_000], dst[:1_000]
    op = random.choice(np.array([1, -1], np.int8), src.size) if mixed else None
    bounds = Bounds(0, high, 0, high)
    rows = EdgeRows(
        op, src, dst, src.size, bounds if directed else folded(bounds), not directed,
        records != "simple",
    )  # fmt: skip
    buckets = edge_buckets.buckets_for(device, rows)
    assert buckets is not None
    assert buckets.bits > 8
    check(
        device, op, src, dst, dense=True, records=records, directed=directed,
        skew=skew, **columns_of(random, src.size),
    )  # fmt: skip
    assert skew.left == 0


@pytest.mark.parametrize("create_vertices", [True, False])
def test_end_points_of_edges_that_come_and_go_stay(device: Any, create_vertices: bool) -> None:
    """They may have the largest id of all that is put, and be the only ones that are put."""
    op, src, dst = np.array([1, 1, -1, -1], np.int8), np.array([0, 5, 5, 3]), np.array([1, 7, 7, 9])
    for rows in (slice(0, 4), slice(1, 4)):
        ours = check(
            device, op[rows], src[rows], dst[rows], dense=True, create_vertices=create_vertices
        )
        assert ours.put_vertices.size == 2 * create_vertices


def test_a_long_run_that_ends_with_an_insert_begins_behind_its_last_delete(device: Any) -> None:
    op = np.ones(3_000, np.int8)
    op[[5, 2_500]] = -1
    ends = np.full(3_000, 1)
    ours = check(device, op, ends, 2 * ends, dense=True, records="semantic", ts=np.arange(3_000))
    assert device.to_host(ours.put_first).tolist() == [2_501]
    assert device.to_host(ours.put_reset).tolist() == [1]


@pytest.mark.parametrize("high", [0, 9, 700, 2**31 - 1])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("records", ["simple", "weighted"])
@pytest.mark.parametrize("is_known", [True, False])
def test_columns_of_32_bits_come_to_the_same(
    device: Any, high: int, directed: bool, records: str, is_known: bool
) -> None:
    random = np.random.default_rng(8)
    op = random.choice(np.array([1, -1], np.int8), 6_000)
    src, dst = random.integers(0, high, (2, op.size), dtype=np.uint32, endpoint=True)
    bounds = Bounds(0, high, 0, high) if is_known else None
    check(device, op, src, dst, dense=True, directed=directed, records=records, bounds=bounds)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("span", [2**32 - 1, 2**32, 2**62])
def test_bounds_may_be_wider_than_columns_of_32_bits(
    device: Any, span: int, directed: bool
) -> None:
    random = np.random.default_rng(9)
    src, dst = random.integers(0, 2**32 - 1, (2, 6_000), dtype=np.uint32, endpoint=True)
    bounds = Bounds(-span, span, 0, span)
    check(device, None, src, dst, dense=False, directed=directed, bounds=bounds)


def test_an_id_beyond_the_bounds_that_were_given_is_refused(device: Any) -> None:
    ids = np.array([3, 8])
    make = partial(converted, device, None, ids, ids, dense=True, self_loops="keep")
    for bounds in (Bounds(0, 7, 0, 8), Bounds(4, 8, 0, 8), Bounds(0, 8, 4, 8), Bounds(0, 8, 0, 4)):
        with pytest.raises(GraphtideError, match=r"an id lies beyond the bounds \("):
            make(bounds=bounds)
    # Nothing of it is left for the next batch.
    assert make().put_top == 8


def test_the_device_is_asked_for_bounds_that_nobody_knows_and_for_nothing_else(
    emulated_device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    for name in ("read_words", "to_host"):
        read = getattr(emulated_device, name)
        monkeypatch.setattr(
            emulated_device, name, lambda a, read=read: (asked.append(a.size), read(a))[1]
        )
    ids = np.arange(5_000, dtype=np.uint32)
    op = np.where(ids % 3, 1, -1).astype(np.int8)
    for bounds, size in ((Bounds(0, 5_000, 0, 5_000), []), (None, [4])):
        asked.clear()
        converted(emulated_device, op, ids, ids[::-1].copy(), dense=True, bounds=bounds)
        assert asked == size


@pytest.mark.parametrize(("low", "high", "mixed"), [(0, 1 << 20, False), (-(2**29), 2**29, True)])
def test_rows_whose_sources_lie_side_by_side_are_sorted_without_buckets(
    device: Any, low: int, high: int, mixed: bool
) -> None:
    """More rows of neighboring sources than a bucket has room for: the batch begins again."""
    skew = Skew()
    random = np.random.default_rng(8)
    count = 2 * BUCKET_KEYS
    src, dst = random.integers(low, high, (2, count))
    op = random.choice(np.array([1, -1], np.int8), count) if mixed else None
    check(device, op, src, dst, dense=False, skew=skew)
    assert skew.left == 0, "rows that are spread overfill a bucket"
    src[: BUCKET_KEYS + 1] = low + 1
    for batch in (1, 2):
        check(device, op, src, dst, dense=False, skew=skew)
        assert skew.left == 64 - batch, "buckets are tried again at once"


def test_a_batch_that_overfills_a_bucket_says_nothing_of_another_graph_s(device: Any) -> None:
    """As of the one that a graph's worker warms up with."""
    random = np.random.default_rng(9)
    ends = random.integers(0, 1 << 20, (2, 2 * BUCKET_KEYS))
    ends[0, 1:] = 5
    skewed = raw_rows(None, *ends, row_meaning(), dense=True, batch_id=-1)
    feeds = [Feed(Staging(device), dense=True) for _ in range(2)]
    feeds[0].send(skewed).batch()
    assert [feed.skew.left for feed in feeds] == [63, 0]


@pytest.mark.parametrize("count", [20, BUCKET_KEYS])
def test_what_is_found_by_launches_that_broke_off_is_not_said_of_the_next_batch(
    device: Any, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Sorted, or partitioned into buckets: the last kernel refuses the arguments of another one."""
    ids = np.arange(count)
    make = partial(converted, device, None, ids, np.roll(ids, 1), dense=True)
    take = device.kernel

    def other(source: str, kernel: str, *defines: Any) -> int:
        last = kernel in ("group_edges", "group_buckets")
        return take("raw_edges.cu", "mark_switches") if last else take(source, kernel, *defines)

    monkeypatch.setattr(edge_buckets, "_KERNELS_OF", {})
    with monkeypatch.context() as broken:
        broken.setattr(device, "kernel", other)
        with pytest.raises((EngineError, AssertionError), match="mark_switches"):
            make(bounds=Bounds(0, 7, 0, 7))
    edge_buckets._KERNELS_OF.clear()
    assert make(bounds=Bounds(0, count, 0, count)).put_top == count - 1


def test_a_batch_is_made_without_arrays(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels take its lists by their addresses; who looks at one gets what lies there."""
    made = []
    array_at = DeviceScratch.array_at
    monkeypatch.setattr(
        DeviceScratch, "array_at", lambda *where: (made.append(where), array_at(*where))[1]
    )
    ids = np.arange(5_000, dtype=np.uint32)
    rows = raw_rows(None, ids, np.roll(ids, 1), row_meaning(), dense=True, batch_id=0)
    ours = Feed(Staging(device), dense=True).send(rows).batch()
    assert not made
    assert ours.facts
    assert ours.put_rows is ours.put_rows
    assert device.to_host(ours.put_rows).tolist() == ids.tolist()
    assert len(made) == 1
