"""Weights below 2^-126 count: CuPy has NVRTC take such floats for 0.

That no kernel does is checked where kernels are (`gpu_core/cuda/check.py`).
"""

from typing import Any

import numpy as np
import pytest

from graphtide import DynamicGraph
from graphtide.gpu_core.batch.raw_rows import raw_rows
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.cuda.convert.feed import Feed
from graphtide.gpu_core.cuda.device.staging import Staging
from graphtide.gpu_core.kind import row_meaning

#: The smallest float32, and the largest that is not normal.
LEAST, MOST = 2.0**-149, 2.0**-126 - 2.0**-149


def _graph(**kind: Any) -> DynamicGraph:
    return DynamicGraph(records="weighted", **kind)


@pytest.mark.parametrize("weight", [LEAST, MOST])
def test_the_smallest_weights_count_in_algorithms(engine: str, weight: float) -> None:
    graph = _graph(ids="dense")
    graph.insert_edges([0, 1, 0, 2], [1, 2, 2, 3], weight=[weight, weight, 2 * weight, 0.0])
    assert graph.sssp(0).distance.tolist() == [0.0, weight, 2 * weight, 2 * weight]
    assert graph.spmv(np.ones(4)).value.tolist() == [3 * weight, weight, 0.0, 0.0]
    ranks = graph.pagerank(weight="weight").pagerank
    other = _graph(ids="dense")
    other.insert_edges([0, 1, 0, 2], [1, 2, 2, 3], weight=[1.0, 1.0, 2.0, 0.0])
    assert np.allclose(ranks, other.pagerank(weight="weight").pagerank, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("rule", "expected"), [("sum", 3 * LEAST), ("min", LEAST), ("max", 2 * LEAST)]
)
def test_the_smallest_weights_are_combined(engine: str, rule: str, expected: float) -> None:
    graph = _graph(ids="dense", on_repeat=rule)
    graph.insert_edges([0, 0], [1, 1], weight=[0.0 if rule == "sum" else LEAST, LEAST])
    graph.insert_edges([0], [1], weight=[2 * LEAST])
    assert graph.edges().properties["weight"].tolist() == [expected]


@pytest.mark.parametrize("records", ["weighted", "weighted64"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_smallest_weights_of_rows_that_the_device_converts_are_kept(
    device: Any, records: str, dtype: Any
) -> None:
    weights = np.array([LEAST, MOST, 0.1, 1.5 * LEAST, -LEAST]).astype(dtype)
    src, dst = np.arange(5), np.arange(1, 6)
    meaning = row_meaning(records=records)
    rows = raw_rows(None, src, dst, meaning, dense=True, batch_id=-1, weight=weights)
    batch = Feed(Staging(device), dense=True).send(rows).batch()
    expected = UpdateBatch.from_rows(None, src, dst, weight=weights, records=records)
    kept = batch.data["put_weight"]
    assert device.to_host(kept).tolist() == expected.put_weight.tolist()
    assert batch.rounded == expected.rounded
