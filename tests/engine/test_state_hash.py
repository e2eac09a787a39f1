"""The state hash of a graph with many vertices, against its definition."""

import hashlib

import numpy as np
import pytest

from graphtide import DynamicGraph


@pytest.mark.parametrize("records", ["simple", "weighted"])
def test_state_hash_is_of_the_edges_in_the_order_of_their_ids(records: str) -> None:
    """States of earlier versions go on, so their digests must be found again: here by NumPy."""
    rng = np.random.default_rng(0)
    # More vertices than one thread sorts, in no order; rows of one entry, of a few, and of many.
    ids = rng.permutation(np.unique(rng.integers(-(1 << 62), 1 << 62, 70_000)))
    src, dst = ids[rng.integers(0, 50_000, (2, 100_000))]
    src[:3_000], src[3_000:3_040] = ids[0], ids[1]
    src, dst = np.unique(np.stack([src, dst])[:, src != dst], axis=1)
    weight = rng.random(src.size, np.float32)
    graph = DynamicGraph(records=records, engine="host")
    graph.insert_vertices(ids)
    graph.insert_edges(src, dst, weight=None if records == "simple" else weight)
    vertices = np.sort(ids)
    digest = hashlib.sha256(
        f"graphtide 2 directed=True records={records} vertices={ids.size}".encode()
    )
    degrees = np.bincount(np.searchsorted(vertices, src), minlength=ids.size)
    for column in (vertices, degrees.astype(np.int64), dst):
        digest.update(column.tobytes())
    if records == "weighted":
        digest.update(weight.tobytes())
    assert graph.state_hash() == digest.hexdigest()
