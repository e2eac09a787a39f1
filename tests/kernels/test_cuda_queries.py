"""Questions to the CUDA engine, and the graph copied as a CSR, as its host twin answers them."""

from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.cuda.queries import queries
from graphtide.gpu_core.cuda.queries.export import csr_of
from graphtide.gpu_core.cuda.queries.vertex_order import LISTED, ids_in_order, order_by_id
from graphtide.gpu_core.image.fields import NONE
from graphtide.gpu_core.records import RECORDS
from graphtide.testing import engine_of
from image_engine import KINDS, ImageEngine, changed_graph


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", list(RECORDS))
def test_queries_as_on_the_host(device: Any, kind: dict[str, Any], records: str) -> None:
    graph = changed_graph(records=records, **kind)
    host, engine = engine_of(graph), ImageEngine(device, graph)
    to_device, to_host = device.to_device, device.to_host
    draws = np.random.default_rng(1).integers(0, host.vertex_count + 3, (2, 700)).astype(np.uint32)
    draws[:, ::50] = NONE
    # Half of the pairs are edges.
    indptr, columns, _ = host.csr(np.arange(host.vertex_count))
    sources = np.repeat(np.arange(host.vertex_count, dtype=np.uint32), np.diff(indptr))
    draws[:, 1::2] = np.stack([sources, columns])[:, : 350 * 8 : 8]
    found = to_host(queries.find_entries(engine, *map(to_device, draws))) >= 0
    assert found.dtype == np.bool_
    assert found.tolist() == host.has_edges(*draws).tolist()
    assert found[1::2].all()
    assert not found[::2].all()

    for direction in ["out", "in"] if engine.has_reverse else ["out"]:
        degrees = to_host(queries.degrees_of(engine, to_device(draws[0]), direction))
        assert degrees.tolist() == host.degrees(draws[0], direction).tolist()
        for some in (draws[0], draws[0][:0], draws[0][:1]):
            expected = host.neighbors(some, direction)
            copied = queries.copy_neighbors(engine, to_device(some), direction)
            for mine, theirs in zip(copied, expected, strict=True):
                assert mine.dtype == theirs.dtype
                assert to_host(mine).tolist() == theirs.tolist()

    # Words of entries that are gone still stand behind the ends of rows.
    last = indptr[1:][np.diff(indptr) > 1] - 1
    gone = np.stack([sources[last], columns[last]])
    ids = engine_of(graph).user_ids()
    graph.delete_edges(*ids[gone])
    behind = ImageEngine(device, graph)
    assert (to_host(queries.find_entries(behind, *map(to_device, gone))) == -1).all()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
@pytest.mark.parametrize("records", list(RECORDS))
@pytest.mark.parametrize("is_ordered", [True, False])
def test_csr_as_on_the_host(
    device: Any, kind: dict[str, Any], records: str, is_ordered: bool
) -> None:
    graph = changed_graph(records=records, **kind)
    engine = ImageEngine(device, graph)
    order = np.flatnonzero(engine_of(graph).present())
    if not is_ordered:
        order = order[::-1].copy()
    indptr, columns, properties = csr_of(engine.workspace, engine.arena, engine.record, order)
    expected_indptr, expected_columns, expected_properties = engine_of(graph).csr(order)
    assert device.to_host(indptr).tolist() == expected_indptr.tolist()
    assert device.to_host(columns).tolist() == expected_columns.tolist()
    assert list(properties) == list(expected_properties)
    for name, expected in expected_properties.items():
        assert properties[name].dtype == expected.dtype
        assert device.to_host(properties[name]).tolist() == expected.tolist(), name


def test_vertices_in_order_where_some_are_gone(device: Any) -> None:
    """Over several blocks, of which some are empty, and the last one is not full."""
    indices = np.concatenate([np.arange(3, 2 * LISTED, 97), [5 * LISTED + 33]])
    graph = DynamicGraph(ids="dense", engine="host")
    graph.insert_vertices(np.arange(indices[-1] + 1))
    graph.delete_vertices(np.setdiff1d(np.arange(indices[-1]), indices))
    engine = ImageEngine(device, graph)
    order = order_by_id(device, engine.arena)
    assert order.dtype == np.uint32
    assert device.to_host(order).tolist() == indices.tolist()
    assert device.to_host(ids_in_order(device, engine.arena, order)).tolist() == indices.tolist()
    # Whoever needs no order is given none.
    graph.insert_vertices(np.arange(indices[-1]))
    assert order_by_id(device, ImageEngine(device, graph).arena) is None
