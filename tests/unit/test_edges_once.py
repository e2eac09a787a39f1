"""Edges of an undirected graph's rows, each once, against the rule applied to every entry."""

import numpy as np
import pytest

from graphtide.gpu_core.copies.edges_once import edges_once
from graphtide.gpu_core.copies.snapshot import fold


def rows_of_both_directions(count: int, edges: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some edges, loops among them, and vertices without any."""
    random = np.random.default_rng(count)
    pairs = random.integers(0, count, (edges, 2)) ** 2 // count
    both = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    degrees = np.bincount(both[:, 0], minlength=count)
    return np.concatenate([[0], np.cumsum(degrees)]), both[:, 1].astype(np.uint32)


# More rows than kernels work on in one thread, and fewer.
@pytest.mark.parametrize(("count", "edges"), [(1, 0), (1, 1), (9, 30), (9000, 70_000)])
def test_each_edge_is_kept_in_the_row_of_its_smaller_end(count: int, edges: int) -> None:
    indptr, columns = rows_of_both_directions(count, edges)
    degrees, kept, sources = edges_once(indptr, columns, with_sources=True)

    rows = np.repeat(np.arange(count), np.diff(indptr))
    expected = np.flatnonzero(rows <= columns)
    np.testing.assert_array_equal(sources, expected)
    np.testing.assert_array_equal(kept, columns[expected])
    np.testing.assert_array_equal(degrees, np.bincount(rows[expected], minlength=count))


def test_properties_of_any_type_go_with_their_edges() -> None:
    indptr, columns = rows_of_both_directions(50, 300)
    number = np.arange(columns.size)
    properties = {
        "weight": number.astype(np.float32),
        "flag": number % 3 == 0,
        "name": number.astype(str),
        "object": number.astype(str).astype(object),
    }
    _, kept, of_edges = fold(indptr, columns.view(np.int32), properties, directed=False)
    assert kept.dtype == np.int32
    once = np.repeat(np.arange(50), np.diff(indptr)) <= columns
    for name, column in properties.items():
        np.testing.assert_array_equal(of_edges[name], column[once])
        assert of_edges[name].dtype == column.dtype
