"""Whatever graph the settings ask for, it takes the rows that warm its worker up."""

from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, product
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.batch.net_effect.repeats import REPEATS
from graphtide.gpu_core.batch.raw_rows import raw_rows
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import ArenaFullError
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.kind import row_meaning
from graphtide.gpu_core.layouts import LAYOUTS
from graphtide.pipeline.workers import warm_up
from graphtide.pipeline.workers.forking.fork_server import start_fork_server
from graphtide.pipeline.workers.warm_up import warm_graph
from warm_workers import code_of_batches, code_of_maintained

#: Kernels of an arena that grows or is made tidy.
GROWTH = ("relocate.cu", "buddies.cu")

#: Directed without and with a reverse adjacency, and undirected.
DIRECTIONS = ({"reverse": False}, {"reverse": True}, {"directed": False})


#: The largest pages meet each layout in each direction, kinds of ids by turns.
SETTINGS = [
    *((*each, 4096) for each in product(DIRECTIONS, LAYOUTS)),
    *((*each, None) for each in zip(cycle(DIRECTIONS), LAYOUTS, strict=False)),
]


@pytest.mark.parametrize(
    ("directions", "layout", "page_bytes", "ids"),
    [
        (*each, ids)
        for each, ids in zip(SETTINGS, cycle(("any", "dense", "string", "dense")), strict=False)
    ],
)
def test_no_setting_of_a_graph_is_too_much(
    directions: dict[str, bool],
    layout: str,
    page_bytes: int | None,
    ids: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The largest pages and the largest entries fit into what the graph may grow to.

    Smaller entries do so the more: no row takes more pages of them. Names are a few, as their keys
    collide in the table of names: to enter those of all rows takes minutes.
    """
    applied: list[int] = []
    apply = DynamicGraph.apply

    def counted(graph: DynamicGraph, batch: Any) -> Any:
        report = apply(graph, batch)
        applied.append(report.rows)
        assert batch.names is None or len(batch.names.strings) <= 2 * warm_up._FEW_ROWS
        return report

    monkeypatch.setattr(DynamicGraph, "apply", counted)
    # As many as for a GPU, whose images are of the same sizes.
    monkeypatch.setattr(warm_up, "_HOST_ROWS", warm_up._GPU_ROWS)
    named = {"records": "semantic", "layout": layout, "ids": ids, "page_bytes": page_bytes}
    warm_graph({"engine": "host", "self_loops": "reject", **named, **directions})
    assert len(applied) == 3 + (ids == "string")


@pytest.mark.parametrize("engine", ["host", "cuda"])
def test_edges_expire_where_those_of_the_run_will(
    engine: str, emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a batch comes after it, of which the host engine takes note by a kernel of its own."""
    done: list[int] = []
    apply, expire = DynamicGraph.apply, DynamicGraph.expire

    def applied(graph: DynamicGraph, batch: Any) -> Any:
        done.append(0)
        return apply(graph, batch)

    def expired(graph: DynamicGraph, before: Any) -> Any:
        report = expire(graph, before)
        done.append(report.expired)
        return report

    monkeypatch.setattr(DynamicGraph, "apply", applied)
    monkeypatch.setattr(DynamicGraph, "expire", expired)
    way = {"engine": engine, "records": "semantic", "time_unit": "timestamp[us]", "reverse": False}
    warm_graph(way, expires=True)
    assert done[-2] > 0 == done[-1]
    done.clear()
    warm_graph({**way, "records": "weighted", "time_unit": None})
    assert not any(done)


@pytest.mark.parametrize("ids", ["dense", "any"])
def test_a_graph_that_grows_for_the_first_time_knows_the_kernels_for_it(
    ids: str, emulated_device: EmulatedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up, "_ARENA_BYTES", 1 << 17)
    monkeypatch.setattr(warm_up, "_GPU_ROWS", 1 << 13)
    way: dict[str, Any] = {"engine": "cuda", "ids": ids, "reverse": False}
    warm_graph(way, raw=True)
    met = set(emulated_device.launches)

    graph = DynamicGraph(**way, arena_bytes=1 << 16, max_arena_bytes=1 << 26)
    feed = graph.feed()
    assert feed is not None
    for batch_id, numbers in enumerate(np.split(np.arange(40_000, dtype=np.uint64), 10)):
        src, dst = uniform_edges(numbers, 1 << 8)
        op = np.where(numbers % 10 == 9, -1, 1).astype(np.int8)
        rows = raw_rows(
            op, src, dst, row_meaning(), batch_id=batch_id, dense=ids == "dense",
        )  # fmt: skip
        graph.apply(feed.send(rows))
    memory = graph.memory()
    assert memory.arena_bytes - memory.regions["scratch"] > 1 << 16, "it did not grow"
    growth = {(file, name) for file, name in emulated_device.launches if file in GROWTH}
    assert growth
    assert growth - met == set()


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("ids", ["any", "dense"])
@pytest.mark.parametrize("types", [("int64", "int64"), ("int32", "int32"), ("int32", "uint32")])
def test_batches_need_no_code_that_a_warm_cpu_worker_has_not(
    types: tuple[str, str], ids: str, raw: bool
) -> None:
    """In a process of its own, forked as workers are: this one has met much else."""
    start_fork_server()
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        assert pool.submit(code_of_batches, ids, types, raw=raw).result() == set()


@pytest.mark.parametrize("directed", [True, False])
def test_what_is_maintained_needs_no_kernel_that_a_warm_graph_worker_has_not(
    *, directed: bool
) -> None:
    """Else the first batches of a first run would wait for seconds, while kernels are compiled."""
    names = ("pagerank", "clustering", "weakly_connected_components")
    start_fork_server()
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        assert pool.submit(code_of_maintained, names, directed=directed).result() == set()


def test_a_graph_that_left_no_memory_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def refuse(graph: DynamicGraph, batch: Any) -> Any:
        refused.append(batch)
        msg = "the device has no such piece of memory left"
        raise ArenaFullError(msg)

    monkeypatch.setattr(DynamicGraph, "apply", refuse)
    warm_graph({"engine": "host"})
    assert refused


def test_rows_for_a_gpu_are_more_than_cupy_scans_without_sums_of_sums() -> None:
    batch = warm_up._net_effect(rows := warm_up._rows(warm_up._GPU_ROWS), row_meaning())
    assert min(batch.put_indices.size, rows["dst"].max() + 1) > 512 * 512


def test_rows_are_of_one_hub_and_no_self_loops() -> None:
    rows = warm_up._rows(1 << 10, 32)
    assert (rows["src"] != rows["dst"]).all()
    assert (rows["src"] == 0).sum() >= 32


@pytest.mark.parametrize(("records", "on_repeat"), [
    ("simple", "last"), ("weighted", "last"), ("semantic", "last"), ("weighted", "sum"),
])  # fmt: skip
@pytest.mark.parametrize("directed", [True, False])
def test_batches_of_a_warm_graph_are_what_their_rows_come_to(
    *, directed: bool, records: str, on_repeat: str
) -> None:
    rows = warm_up._rows(1 << 10, 32)
    kind: dict[str, Any] = {"directed": directed, "records": records, "on_repeat": on_repeat}
    made = warm_up._net_effect(rows, row_meaning(**kind))
    expected = UpdateBatch.from_rows(**rows, **kind)
    assert (made.rows, made.overridden) == (expected.rows, expected.overridden)
    arrays = expected._arrays()
    # Of edges that come again the times, and the sums: that needs the kernels of the closed form.
    for name in ("put_first", "put_reset", *REPEATS):
        arrays.pop(name, None)
    for name, array in arrays.items():
        np.testing.assert_array_equal(getattr(made, name), array, err_msg=name)
