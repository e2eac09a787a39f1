"""Sparse matrix-vector product on the host: rows in place, on all threads.

A product reads the entries once, so a copy would cost more than the product. Only where rows of
in-neighbors are asked for and not stored is one made (`compact_rows.py`).
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...jit.compile import compiled
from ...jit.parallel import for_ranges
from ...jit.prefetch import FAR_AHEAD, prefetch_words
from ...rows import Adjacencies
from .parts.compact_rows import ROW_COST, blocks_of_rows, in_rows
from .parts.weighted_rows import weighted_rows

Vector = npt.NDArray[np.float64]


def multiply(
    workspace: None, adjacencies: Adjacencies, x: Vector, *, transpose: bool, weighted: bool
) -> Vector:
    """float64[vertex_count]: ``A x``, or ``A^T x``; 0 for absent vertices.

    Parameters
    ----------
    adjacencies
        Rows, with weights if ``weighted``.
    x
        float64[vertex_count].
    """
    rows = adjacencies.into if transpose else adjacencies.out
    y = np.empty(adjacencies.out.count)
    if rows is None:
        transposed = in_rows(adjacencies, weighted=weighted)
        rows = replace(
            adjacencies.out, columns=transposed.indices, step=1, begin=transposed.indptr[:-1],
            degree=np.diff(transposed.indptr).astype(np.uint32), weights=transposed.weight,
            weight_begin=transposed.indptr[:-1],
        )  # fmt: skip
    bounds = blocks_of_rows(rows.degree.astype(np.int64) + ROW_COST)
    for_ranges(
        multiply_rows, bounds.size - 1, bounds, weighted_rows(rows, weighted=weighted), x, y,
        serial_items=2,
    )  # fmt: skip
    return y


@compiled
def multiply_rows(low, high, bounds, rows, x, y):
    """Multiply the rows of blocks ``low … high - 1``."""
    begin, degree, columns, step, weights, weight_begin = rows
    weighted = weights.size > 0
    last = begin.size - 1
    for row in range(bounds[low], bounds[high]):
        ahead = min(row + FAR_AHEAD, last)
        prefetch_words(columns, begin[ahead], np.int64(degree[ahead]) * step)
        entries, base = np.int64(degree[row]), begin[row]
        total = 0.0
        # y[row] = sum of w x
        if weighted:
            weight_base = weight_begin[row]
            for i in range(entries):
                weight = np.float64(weights[weight_base + i * step])
                total += weight * x[columns[base + i * step]]
        else:
            for i in range(entries):
                total += x[columns[base + i * step]]
        y[row] = total
