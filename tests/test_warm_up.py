"""Whatever graph the settings ask for, it takes the rows that warm its worker up."""

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pytest

from emulated_device import EmulatedDevice
from graphtide.gpu_core.batch_rows import name_of_row
from graphtide.gpu_core.errors import ArenaFullError
from graphtide.gpu_core.generators.uniform import uniform_edges
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.gpu_core.raw_rows import raw_rows
from graphtide.pipeline import warm_up
from graphtide.pipeline.warm_up import warm_graph

#: Kernels of an arena that grows or is made tidy.
GROWTH = ("relocate.cu", "buddies.cu")

#: Directed without and with a reverse adjacency, and undirected.
DIRECTIONS = ({"reverse": False}, {"reverse": True}, {"directed": False})


@pytest.mark.parametrize("directions", DIRECTIONS)
@pytest.mark.parametrize("page_bytes", [None, 4096])
def test_no_setting_of_a_graph_is_too_much(
    directions: dict[str, bool], page_bytes: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest pages and the largest entries fit into what the graph may grow to."""
    applied: list[int] = []
    apply = DynamicGraph.apply

    def counted(graph: DynamicGraph, batch: Any) -> Any:
        report = apply(graph, batch)
        applied.append(report.rows)
        return report

    monkeypatch.setattr(DynamicGraph, "apply", counted)
    # As many as for a GPU, whose images are of the same sizes.
    monkeypatch.setattr(warm_up, "_HOST_ROWS", warm_up._GPU_ROWS)
    kinds = list(product(("simple", "semantic"), ("runs", "chain"), ("any", "dense")))
    for records, layout, ids in kinds:
        named = {"records": records, "layout": layout, "ids": ids, "page_bytes": page_bytes}
        warm_graph({"engine": "host", "self_loops": "reject", **named, **directions})
    assert len(applied) == 3 * len(kinds)


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
            op, src, dst, directed=True, records="simple", self_loops="drop", create_vertices=True,
            batch_id=batch_id, dense=ids == "dense", row_name=name_of_row,
        )  # fmt: skip
        graph.apply(feed.send(rows))
    memory = graph.memory()
    assert memory.arena_bytes - memory.regions["scratch"] > 1 << 16, "it did not grow"
    growth = {(file, name) for file, name in emulated_device.launches if file in GROWTH}
    assert growth
    assert growth - met == set()


#: Warms a conversion up, converts rows of the same types, and prints what that had to compile.
CONVERSION = """
import sys
from functools import partial
import numba
import numpy as np
import pyarrow as pa
from graphtide.io.csr import convert_table
from graphtide.gpu_core.packed_batch import packed_rows
from graphtide.gpu_core.raw_rows import raw_rows
from graphtide.pipeline.warm_up import warm_conversion

def forms():
    modules = [m for name, m in sys.modules.items() if name.startswith("graphtide.gpu_core.host.")]
    kernels = {f for m in modules for f in vars(m).values() if hasattr(f, "overloads")}
    return {(kernel.__name__, form) for kernel in kernels for form in kernel.overloads}

types, kind = sys.argv[1:3], {"directed": True, "records": "simple", "self_loops": "drop"}
kind |= {"create_vertices": True}
warm_conversion(kind, 8, dense=True, raw=True, id_types=frozenset([tuple(types)]))
before = forms()
assert len(before) > 10
for span in (10_000, 1 << 30):
    ids = np.random.default_rng(0).integers(0, span, (2, 50_000))
    op = np.resize(np.array([1, 1, -1], np.int8), 50_000)
    columns = {"src": ids[0].astype(types[0]), "dst": ids[1].astype(types[1])}
    for make in (packed_rows, raw_rows):
        table = pa.table({"op": op, **columns})
        convert_table(
            table, partial(make, dense=True), file="", first_row=0, batch_id=0, **kind
        )
print(*sorted(name for name, _ in forms() - before))
"""


@pytest.mark.parametrize("types", [("int64", "int64"), ("uint32", "uint32"), ("int32", "uint32")])
def test_a_conversion_compiles_nothing_for_ids_of_the_log(types: tuple[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", CONVERSION, *types], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_a_graph_that_left_no_memory_starts_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(graph: DynamicGraph, batch: Any) -> Any:
        msg = "the device has no such piece of memory left"
        raise ArenaFullError(msg)

    monkeypatch.setattr(DynamicGraph, "apply", refuse)
    warm_graph({"engine": "host"})


def test_rows_are_of_one_hub_and_no_self_loops() -> None:
    rows = warm_up._rows(1 << 10, 32)
    assert (rows["src"] != rows["dst"]).all()
    assert (rows["src"] == 0).sum() >= 32
