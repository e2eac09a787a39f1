"""Rows of a checkpoint in the order of users' ids, against NumPy's sort of each."""

import numpy as np
import pytest

from graphtide.gpu_core.copies.rows_in_order import rows_in_order

#: Of each way that a row is sorted, and of the borders between them.
LENGTHS = (0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 1500)


@pytest.mark.parametrize("with_sources", [False, True])
def test_rows_of_any_length_come_in_order_and_each_in_itself(*, with_sources: bool) -> None:
    random = np.random.default_rng(5)
    # More than kernels work on in one thread.
    degrees = np.concatenate([random.permutation(LENGTHS), random.integers(0, 12, 6000)])
    # Two vertices are gone, with no row and no neighbor.
    degrees[[3, 700]] = 0
    there = np.setdiff1d(np.arange(degrees.size), [3, 700])
    order = random.permutation(there)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    columns = np.concatenate(
        [random.choice(there, size, replace=False) for size in degrees.tolist()]
    ).astype(np.uint32)
    found = rows_in_order(order, starts, columns, with_sources=with_sources)

    ranks = np.zeros(degrees.size, np.int64)
    ranks[order] = np.arange(order.size)
    rows = [np.arange(starts[vertex], starts[vertex + 1]) for vertex in order.tolist()]
    sources = np.concatenate([row[np.argsort(ranks[columns[row]])] for row in rows])
    np.testing.assert_array_equal(found.columns, ranks[columns[sources]])
    np.testing.assert_array_equal(found.sources, sources if with_sources else [])
