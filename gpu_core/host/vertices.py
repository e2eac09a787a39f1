"""Small kernels over the vertex table: who is there, who is new, who mentions a deleted vertex."""

import numpy as np

from ..image import PRESENT_BIT
from ..layouts import next_segment, open_adjacency, segment_base, strides
from .compile import compiled

_PRESENT = np.uint32(PRESENT_BIT)


@compiled
def present_flags(low, high, image, shape, out):
    """bool for vertex indices ``low … high - 1``: is the vertex in the graph?"""
    for vertex in range(low, high):
        out[vertex] = image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0


@compiled
def is_present(low, high, image, shape, indices, out):
    """bool for each of ``indices[low:high]``; an index beyond the table is not there."""
    for i in range(low, high):
        vertex = np.int64(indices[i])
        out[i] = (
            vertex < shape.vertex_count
            and image[shape.vertex_base + vertex * shape.vertex_words] & _PRESENT != 0
        )


@compiled
def largest(low, high, values):
    """Return the largest of ``values[low:high]``, -1 where there is none."""
    top = np.int64(-1)
    for i in range(low, high):
        top = max(top, np.int64(values[i]))
    return top


@compiled
def narrow_ids(low, high, ids, out):
    """Copy dense ids to 32 bits.

    Returns
    -------
    smallest, largest : int64
        Of the ids copied, for a check of their range.
    """
    smallest = np.int64(0)
    top = np.int64(-1)
    for i in range(low, high):
        value = ids[i]
        smallest = min(smallest, value)
        top = max(top, value)
        out[i] = np.uint32(value)
    return smallest, top


@compiled
def degrees_of(low, high, image, shape, indices, out):
    """Degree of each of ``indices[low:high]``; 0 beyond the table."""
    for i in range(low, high):
        _, degree, _, _ = open_adjacency(image, shape, np.int64(indices[i]))
        out[i] = degree


@compiled
def copy_neighbours(low, high, image, shape, indices, indptr, out):
    """Write the adjacency of each of ``indices[low:high]`` to ``out[indptr[i]:indptr[i + 1]]``."""
    for i in range(low, high):
        segment, degree, entries, pages = open_adjacency(image, shape, np.int64(indices[i]))
        step, _ = strides(shape, entries)
        at = indptr[i]
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                out[at] = image[base + entry * step]
                at += 1
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)


@compiled
def count_mentions(low, high, image, shape, deleted):
    """Entries of rows ``low … high - 1`` that name a deleted vertex, deleted rows left out."""
    count = 0
    for vertex in range(low, high):
        if deleted[vertex]:
            continue
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                count += deleted[image[base + entry * step]]
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)
    return count


@compiled
def list_mentions(image, shape, deleted, rows, columns):
    """Write what `count_mentions` counts, in order of the rows."""
    at = 0
    for vertex in range(shape.vertex_count):
        if deleted[vertex]:
            continue
        segment, degree, entries, pages = open_adjacency(image, shape, vertex)
        step, _ = strides(shape, entries)
        while degree > 0:
            base = segment_base(shape, segment, pages)
            for entry in range(min(degree, entries)):
                neighbour = image[base + entry * step]
                if deleted[neighbour]:
                    rows[at] = vertex
                    columns[at] = neighbour
                    at += 1
            degree -= entries
            if degree > 0:
                segment = next_segment(image, shape, segment)
