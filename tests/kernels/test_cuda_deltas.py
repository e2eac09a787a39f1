"""From the ids of a batch to its deltas on the device: each step against the host's twin.

The graphs are small and crowded, so that batches create, delete, recreate and recycle; a few cases
are larger than a tile, so that several blocks share the work.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_deltas import assert_same_delta, deltas_of, mode_of
from engine_views import EngineView, host_engine
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.device.sorting import sorting
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.cuda.queries.queries import indices_of
from graphtide.gpu_core.cuda.structs import BUCKET_KEYS, ORDERED_ENTRIES
from graphtide.gpu_core.cuda.update.assisted.map_ids import check_fits, map_with_host
from graphtide.gpu_core.cuda.update.assisted.mapped import Mapped
from graphtide.gpu_core.cuda.update.batch import DeviceBatch, upload
from graphtide.gpu_core.cuda.update.modes import Mode
from graphtide.gpu_core.errors import BatchError
from graphtide.gpu_core.host.engine import HostEngine
from graphtide.gpu_core.host.queries import queries as host_queries
from graphtide.gpu_core.host.update import deltas as host_deltas
from graphtide.gpu_core.host.update import map_ids as host_map_ids
from graphtide.gpu_core.image.fields import NONE, BatchStatus, Field
from graphtide.gpu_core.records import RECORDS
from strategies import ANY_IDS, DENSE_IDS, batches, examples, pools

SETTINGS = settings(
    max_examples=examples(25),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
DIRECTIONS = ({"reverse": False}, {"reverse": True}, {"directed": False})


def batch_of_rows(rows: list[Any], engine: HostEngine, **arguments: Any) -> UpdateBatch:
    return UpdateBatch.from_rows(
        [row.op for row in rows],
        [row.src for row in rows],
        [row.src if row.dst is None else row.dst for row in rows],
        dst_valid=[row.dst is not None for row in rows],
        weight=[row.weight for row in rows],
        type=[row.type for row in rows],
        ts=[row.ts for row in rows],
        directed=engine.directed,
        records=engine.record.name,
        **arguments,
    )


NO_EDGES = np.empty((0, 2), np.int64)


def batch_of_edges(
    engine: HostEngine, put: np.ndarray, delete: np.ndarray = NO_EDGES
) -> UpdateBatch:
    edges = np.concatenate([put, delete])
    return UpdateBatch.from_rows(
        np.repeat([1, -1], [len(put), len(delete)]),
        edges[:, 0],
        edges[:, 1],
        ts=np.arange(len(edges)),
        directed=engine.directed,
        records=engine.record.name,
    )


def batch_of_triples(rows: list[tuple[int, int, int | None]], **arguments: Any) -> UpdateBatch:
    """Rows (op, src, dst); dst None: about the vertex src."""
    return UpdateBatch.from_rows(
        [op for op, _, _ in rows],
        [src for _, src, _ in rows],
        [src if dst is None else dst for _, src, dst in rows],
        dst_valid=[dst is not None for _, _, dst in rows],
        **arguments,
    )


def on_device(view: EngineView, batch: UpdateBatch) -> DeviceBatch:
    return upload(view.staging, batch, dense=view.kind.dense_ids)


def map_by_host(
    view: EngineView, batch: UpdateBatch | DeviceBatch, *, create_vertices: bool = True
) -> Mapped:
    if isinstance(batch, UpdateBatch):
        batch = on_device(view, batch)
    view = view.creating(create_vertices)
    check_fits(view, batch)
    return map_with_host(view, batch)


def assert_same_mapping(view: EngineView, ours: Mapped, twin: Any, batch: UpdateBatch) -> None:
    host = view.device.to_host
    names = (
        "put_rows", "put_columns", "delete_rows", "delete_indptr", "delete_columns", "put_vertices",
        "deleted", "created", "created_ids",
    )  # fmt: skip
    for name in names:
        np.testing.assert_array_equal(host(getattr(ours, name)), getattr(twin, name), name)
    assert ours.recycled == twin.recycled
    assert ours.vertex_count == twin.vertex_count
    assert ours.ordered == twin.ordered
    assert host(ours.put_row_count).tolist() == [twin.put_rows.size]
    assert host(ours.delete_row_count).tolist() == [twin.delete_rows.size]
    for rows, indptr in (
        (ours.put_entry_rows, batch.put_indptr),
        (ours.delete_entry_rows, twin.delete_indptr),
    ):
        expected = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        np.testing.assert_array_equal(host(rows), expected)

    put_again = np.concatenate([twin.put_rows, twin.put_columns, twin.put_vertices])
    np.testing.assert_array_equal(host(ours.gone), np.setdiff1d(twin.deleted, put_again))
    fresh = np.concatenate([twin.created, twin.deleted])
    there = ~np.isin(twin.put_vertices, fresh)
    assert ours.row_puts == batch.put_vertex_rows.sum()
    assert ours.row_puts_found == (batch.put_vertex_rows & there).sum()
    assert ours.row_deletes_found == (batch.delete_vertex_rows & twin.delete_found).sum()


def check(device: Any, engine: HostEngine, batch: UpdateBatch) -> Mode:
    """One batch, mapped and arranged as on the host; the image is not touched.

    By the host's help, and by kernels alone where these do not find that it is needed.

    Returns
    -------
    Mode
        In which the batch is applied.
    """
    view = EngineView(device, engine)
    before = view.host_image()
    twin = host_map_ids.map_ids(engine.arena, batch, create_vertices=True)
    expected = host_deltas.deltas_of(engine, twin, batch)

    def check_deltas(mapped: Mapped | None, mode: Mode) -> None:
        longest = max((np.diff(half.indptr).max(initial=0) for _, half in expected), default=0)
        expectations = (False, True) if longest <= ORDERED_ENTRIES else (True,)
        for long_expected, in_buckets in product(expectations, (False, True)):
            found = deltas_of(
                view, ours, mapped, mode=mode, long_expected=long_expected, in_buckets=in_buckets
            )
            status = view.status()
            if mapped is None and status != BatchStatus.OK:
                raise UnknownIdsError
            assert status == BatchStatus.OK
            with_entries = [(name, half) for name, half in expected if half.rows.size]
            assert [delta.direction for delta in found] == [name for name, _ in with_entries]
            for delta, (_, half) in zip(found, with_entries, strict=True):
                assert_same_delta(view, delta, half)
        np.testing.assert_array_equal(view.host_image(), before)

    ours = on_device(view, batch)
    mapped = map_by_host(view, ours)
    assert_same_mapping(view, mapped, twin, batch)
    check_deltas(mapped, Mode.ASSISTED)
    mode = mode_of(view, ours, create_vertices=True)
    if mode is not Mode.ASSISTED:
        try:
            check_deltas(None, mode)
        except UnknownIdsError:
            assert mode is Mode.COMMON
            return Mode.ASSISTED
    return mode


class UnknownIdsError(Exception):
    """Kernels have found ids that nobody knows."""


@given(data=st.data())
@SETTINGS
def test_batches_are_mapped_and_halved_as_on_the_host(device: Any, data: st.DataObject) -> None:
    ids = data.draw(st.sampled_from(("any", "dense")))
    engine = host_engine(
        data.draw(st.sampled_from(list(RECORDS))),
        dense=ids == "dense",
        soa=data.draw(st.booleans()),
        **data.draw(st.sampled_from(DIRECTIONS)),
    )
    pool = data.draw(pools(ids))
    for _ in range(data.draw(st.integers(1, 4))):
        batch = batch_of_rows(data.draw(batches(pool)), engine)
        check(device, engine, batch)
        engine.apply(batch)


def random_edges(seed: int, count: int, vertices: int, *, hub: bool = False) -> np.ndarray:
    edges = np.random.default_rng(seed).integers(0, vertices, (count, 2))
    if hub:
        edges[: count // 2, 0] = 7
    return edges


@pytest.mark.parametrize("direction", DIRECTIONS, ids=("out", "both", "undirected"))
@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_batches_of_several_blocks(
    device: Any, direction: dict[str, bool], dense: bool, records: str
) -> None:
    """Puts, deletes, and both, in rows of one entry and in a hub of thousands."""
    engine = host_engine(records, dense=dense, **direction)
    vertices = 600
    first = random_edges(1, 5_000, vertices, hub=True)
    every = np.stack([np.arange(vertices), (np.arange(vertices) + 1) % vertices], axis=1)
    engine.apply(batch_of_edges(engine, np.concatenate([first, every])))
    puts = random_edges(2, 6_000, vertices, hub=True)
    deletes = np.concatenate([first[:2_500], random_edges(3, 500, vertices)])
    nothing = puts[:0]
    for pair in ((puts, nothing), (nothing, deletes), (puts, deletes), (nothing, nothing)):
        mode = check(device, engine, batch_of_edges(engine, *pair))
        assert mode is Mode.COMMON, "every id is there: the host need not wait"


def turned_into(engine: HostEngine, columns: np.ndarray, device: Any) -> tuple[int, Any, Any]:
    """Status and reverse deltas, ours and the host's, of new edges to these vertices."""
    sources = np.roll(np.arange(columns.size), -3_210)  # no loops: see its caller
    batch = batch_of_edges(engine, np.stack([sources, columns], axis=1))
    twin = host_map_ids.map_ids(engine.arena, batch, create_vertices=True)
    view = EngineView(device, engine)
    found = deltas_of(view, on_device(view, batch))
    return view.status(), found[1], host_deltas.deltas_of(engine, twin, batch)[1][1]


def test_a_bucket_of_rows_that_is_overfull_is_told(device: Any) -> None:
    """The largest bucket that a block sorts, and one of a key more: the lowest 25 of 6,400."""
    engine = host_engine(dense=False, reverse=True)
    count = 6_400
    every = np.arange(count)
    engine.apply(batch_of_edges(engine, np.stack([every, np.roll(every, 7)], axis=1)))
    columns = np.where(every < BUCKET_KEYS, every % 25, count - 1)
    status, ours, twin = turned_into(engine, columns, device)
    assert status == BatchStatus.OK
    assert_same_delta(EngineView(device, engine), ours, twin)
    columns[BUCKET_KEYS] = 3
    status, _, _ = turned_into(engine, columns, device)
    assert status == BatchStatus.OVERFULL


@pytest.mark.parametrize("direction", DIRECTIONS, ids=("out", "both", "undirected"))
def test_deleted_hubs_are_found_by_tiles(device: Any, direction: dict[str, bool]) -> None:
    """More dangling references than a tile holds, and a scan that crosses tiles."""
    engine = host_engine("weighted", dense=False, **direction)
    others = np.arange(100, 3_400)
    spokes = np.stack([others, np.full(others.size, 7)], axis=1)
    edges = np.concatenate([spokes, spokes[:500, ::-1], random_edges(4, 2_000, 50)])
    engine.apply(batch_of_edges(engine, edges))
    batch = UpdateBatch.from_rows(
        [-1, -1, 1, -1], [7, 101, 7, 99_999], [0, 0, 101, 5], dst_valid=[False, False, True, True],
        directed=engine.directed, records="weighted",
    )  # fmt: skip
    assert check(device, engine, batch) is Mode.ASSISTED
    ours = map_by_host(EngineView(device, engine), batch)
    assert ours.deleted.size - ours.gone.size == 2


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
def test_unknown_ids_set_the_status_and_nothing_else(device: Any, dense: bool) -> None:
    engine = host_engine(dense=dense)
    engine.apply(batch_of_edges(engine, np.array([[0, 2], [2, 5]])))
    cases = {
        "a source": [(1, 4, 2)], "a destination": [(1, 0, 4)], "a vertex": [(1, 4, None)],
    }  # fmt: skip
    if not dense:
        # Of dense ids the largest one tells it beforehand.
        cases |= {"a row to delete from": [(-1, 9, 0)], "a column to delete": [(-1, 0, 9)]}
    for what, rows in cases.items():
        view = EngineView(device, engine)
        batch = upload(Staging(device), batch_of_triples(rows), dense=dense)
        before = view.host_image()
        # Later launches begin before it is known: nothing may leave the table.
        for delta in deltas_of(view, batch):
            assert delta.rows.size <= delta.max_rows, what
            assert dense or (delta.rows < view.vertex_count).all(), what
            assert dense or (delta.columns < view.vertex_count).all(), what
        assert view.status() == BatchStatus.UNKNOWN_IDS, what
        np.testing.assert_array_equal(view.host_image(), before, what)


def test_deletes_of_absent_dense_vertices_are_no_stumbling_block(device: Any) -> None:
    """Vertex 3 has a record and is not there: its edges are missing, as on the host."""
    engine = host_engine(dense=True)
    engine.apply(batch_of_edges(engine, np.array([[0, 5]])))
    batch = batch_of_edges(engine, NO_EDGES, np.array([[3, 4]]))
    assert check(device, engine, batch) is Mode.COMMON


@pytest.mark.parametrize(("dense", "bad"), [(True, -1), (True, NONE), (True, 2**40)])
def test_ids_that_cannot_be_indices_are_refused_as_on_the_host(
    device: Any, dense: bool, bad: int
) -> None:
    engine = host_engine(dense=dense)
    batch = batch_of_edges(engine, np.array([[0, bad]]))
    with pytest.raises(BatchError) as twin:
        host_map_ids.map_ids(engine.arena, batch, create_vertices=True)
    with pytest.raises(BatchError) as ours:
        map_by_host(EngineView(device, engine), batch)
    assert str(ours.value) == str(twin.value)


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
def test_a_batch_made_for_other_ids_is_refused(device: Any, dense: bool) -> None:
    engine = host_engine(dense=dense)
    batch = upload(Staging(device), batch_of_edges(engine, np.array([[0, 1]])), dense=not dense)
    with pytest.raises(BatchError, match=r"is for ids=.*, the graph has ids="):
        map_by_host(EngineView(device, engine), batch)


def test_too_many_vertex_records_are_refused_as_on_the_host(device: Any) -> None:
    engine = host_engine(dense=True)
    batch = batch_of_edges(engine, np.array([[0, 1 << 31]]))
    with pytest.raises(BatchError) as twin:
        host_map_ids.map_ids(engine.arena, batch, create_vertices=True)
    with pytest.raises(BatchError) as ours:
        map_by_host(EngineView(device, engine), batch)
    assert str(ours.value) == str(twin.value)


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
@pytest.mark.parametrize("rows", [
    [(1, 0, 4)], [(1, 9, 2)], [(1, 9, None), (1, 9, 4)], [(-1, 2, None), (1, 0, 2)],
])  # fmt: skip
def test_missing_end_points_are_named_as_on_the_host(
    device: Any, dense: bool, rows: list[tuple[int, int, int | None]]
) -> None:
    engine = host_engine(dense=dense)
    engine.apply(batch_of_edges(engine, np.array([[0, 2], [2, 5]])))
    batch = batch_of_triples(rows, create_vertices=False)
    with pytest.raises(BatchError, match="which is not in the graph") as twin:
        host_map_ids.map_ids(engine.arena, batch, create_vertices=False)
    with pytest.raises(BatchError) as ours:
        map_by_host(EngineView(device, engine), batch, create_vertices=False)
    assert str(ours.value) == str(twin.value)


def test_vertex_rows_satisfy_the_end_points_that_they_insert(device: Any) -> None:
    engine = host_engine()
    batch = UpdateBatch.from_rows(
        [1, 1, 1], [9, 4, 9], [9, 4, 4], dst_valid=[False, False, True], create_vertices=False
    )
    mapped = map_by_host(EngineView(device, engine), batch, create_vertices=False)
    assert device.to_host(mapped.created_ids).tolist() == [4, 9]


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
def test_deleted_vertices_increase_by_index_not_by_id(device: Any, dense: bool) -> None:
    engine = host_engine(dense=dense)
    engine.apply(batch_of_edges(engine, np.array([[5, 7]])))
    engine.apply(batch_of_edges(engine, np.array([[1, 2], [5, 2]])))
    rows = [(-1, id_, None) for id_ in (1, 2, 5, 7)]
    check(device, engine, batch_of_triples(rows))
    ours = map_by_host(EngineView(device, engine), batch_of_triples(rows))
    assert device.to_host(ours.deleted).tolist() == ([1, 2, 5, 7] if dense else [0, 1, 2, 3])


@pytest.mark.parametrize("dense", [True, False], ids=("dense", "any"))
def test_indices_of_ids(device: Any, dense: bool) -> None:
    engine = host_engine(dense=dense)
    pool = DENSE_IDS if dense else ANY_IDS
    edges = np.array([(src, dst) for src in pool[:5] for dst in pool[5:-1] if src != dst])
    engine.apply(batch_of_edges(engine, edges))
    ids = np.array([*ANY_IDS, *DENSE_IDS, *range(64), 4_000, NONE, NONE + 1], np.int64)
    found = indices_of(EngineView(device, engine), device.to_device(ids))
    np.testing.assert_array_equal(device.to_host(found), host_queries.indices_of(engine.arena, ids))
    assert found.dtype == np.uint32


def test_numbers_of_puts_travel_beside_keys_that_are_full(device: Any) -> None:
    """Two indices of 31 bits leave no room for the number of a put."""
    engine = host_engine("weighted", dense=True)
    view = EngineView(device, engine)
    edges = random_edges(5, 5_000, 3_000)
    edges[:, 1] += 1
    batch = batch_of_edges(engine, edges)
    mapped = map_by_host(view, batch)
    twin = host_map_ids.map_ids(engine.arena, batch, create_vertices=True)
    mapped.vertex_count = twin.vertex_count = 1 << 31
    expected = host_deltas.deltas_of(engine, twin, batch)
    for delta, (_, half) in zip(deltas_of(view, mapped.batch, mapped), expected, strict=True):
        assert_same_delta(view, delta, half)


def test_rows_that_are_as_long_as_can_be_put_in_order(device: Any) -> None:
    """Rows over the ends of tiles, of as many entries as are ordered without a sort by column."""
    engine = host_engine("weighted", dense=False, directed=False)
    random = np.random.default_rng(3)
    every = np.arange(1_500)
    engine.apply(batch_of_edges(engine, np.stack([every, np.roll(every, 700)], axis=1)))
    count = ORDERED_ENTRIES - 20
    hubs = np.repeat(np.arange(6), count)
    others = np.concatenate([10 + random.permutation(1_400)[:count] for _ in range(6)])
    batch = batch_of_edges(engine, np.stack([hubs, others], axis=1))
    assert check(device, engine, batch) is Mode.COMMON


#: Keys and multiprocessors: one block, few keys a block in several groups of blocks, several tiles
#: of many keys a block.
SORTS = [*((count, 2) for count in (0, 1, 1024, 1025, 4096, 4097, 9_000, 40_000)), (40_000, 16)]


@pytest.mark.parametrize(("count", "multiprocessors"), SORTS)
@pytest.mark.parametrize("bits", [(0, 0), (5, 12), (3, 27), (0, 64)])
@pytest.mark.parametrize("with_values", [False, True])
def test_keys_are_sorted_stably_by_some_of_their_bits(
    device: Any, count: int, multiprocessors: int, bits: tuple[int, int], with_values: bool
) -> None:
    if hasattr(device, "shuffle"):
        device.multiprocessors = multiprocessors
    low, high = bits
    random = np.random.default_rng(count)
    keys = random.integers(0, 1 << 64, count, np.uint64)
    # Few values: many keys agree in the bits.
    keys[::2] &= np.uint64(0x8000000000000421)
    numbers = np.arange(count, dtype=np.uint32)
    values = device.to_device(numbers) if with_values else None
    sorted_keys, sorted_values = sorting.sort_keys(
        device, device.to_device(keys), low, high, values=values
    )
    digits = keys >> np.uint64(low) & np.uint64((1 << (high - low)) - 1)
    order = np.argsort(digits, kind="stable")
    np.testing.assert_array_equal(device.to_host(sorted_keys), keys[order])
    if with_values:
        np.testing.assert_array_equal(device.to_host(sorted_values), numbers[order])


def test_launches_of_a_batch_whose_vertices_are_there(emulated_device: Any) -> None:
    """Few launches: a small batch is bound by them."""
    device = emulated_device
    for settings_, dense, expected in (
        ({"reverse": False}, True, 0),
        ({"reverse": True}, True, 4),
        ({"directed": False}, True, 4),
        ({"reverse": False}, False, 2),
        ({"reverse": True}, False, 5),
    ):
        engine = host_engine(dense=dense, **settings_)
        edges = np.array([[0, 2], [2, 5], [1, 3], [4, 5]])
        engine.apply(batch_of_edges(engine, edges))
        view = EngineView(device, engine)
        batch = upload(Staging(device), batch_of_edges(engine, edges), dense=dense)
        device.launches.clear()
        deltas_of(view, batch)
        assert len(device.launches) == expected, device.launches


def test_an_uploaded_batch_is_the_batch(device: Any) -> None:
    engine = host_engine("semantic", dense=True)
    batch = UpdateBatch.from_rows(
        [1, 1, -1, -1, 1, -1], [3, 3, 9, 4, 8, 6], [5, 2, 1, 4, 8, 6],
        dst_valid=[True, True, True, False, False, False], ts=[7, 8, 9, 10, 11, 12],
        weight=[0.5, 2, 0, 0, 0, 0], type=[1, -2, 0, 0, 0, 0], records="semantic", batch_id=5,
    )  # fmt: skip
    for dense in (True, False):
        ours = upload(Staging(device), batch, dense=dense)
        assert isinstance(ours, DeviceBatch)
        for name, array in batch._arrays().items():
            found = getattr(ours, name)
            np.testing.assert_array_equal(device.to_host(found), array, name)
            narrow = name.endswith("indptr") or (dense and not name.endswith(("_first", "_last")))
            if array.dtype == np.int64:
                assert found.dtype == (np.uint32 if narrow else np.int64), name
        assert (ours.batch_id, ours.rows, ours.dropped) == (5, batch.rows, batch.dropped)
        assert device.to_host(ours.put_row_count).tolist() == [1]
        assert device.to_host(ours.delete_row_count).tolist() == [1]
        assert ours.put_vertex_row_count == batch.put_vertex_rows.sum()
        assert ours.delete_vertex_row_count == batch.delete_vertex_rows.sum()
        assert (ours.put_top, ours.delete_top) == ((8, 9) if dense else (None, None))
    assert engine.arena[Field.VERTEX_COUNT] == 0
