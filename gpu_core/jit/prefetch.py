"""Prefetch of cache lines in Numba kernels.

A kernel that walks rows reads each row's segment at an address that stands in the vertex record:
the processor cannot guess it, and waits for memory at every row. Kernels look a few rows ahead and
ask for the lines; measured, that halves the time of a batch of short rows. All lines of a short row
are asked for, because the processor's own prefetching begins only when the row is at its end (rows
of 16 entries anywhere in memory are read in half the time, rows of 100 in a third).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..layouts import first_word, strides
from .compile import borrowing

#: How many rows ahead a kernel looks that merges rows, and one that only reads them.
AHEAD = 12
FAR_AHEAD = 24
#: Words of a cache line, and of a row that are prefetched; the processor prefetches later ones.
_LINE = 16
_MOST = 128


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``; no effect if the index is out of range."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        position = builder.gep(view.data, [arguments[1]])
        pointer = builder.bitcast(position, cgutils.voidptr_t)
        number = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        # For writing, keep in all levels, data.
        builder.call(function, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@borrowing
def prefetch_words(array, begin, count):
    """Ask for ``count`` words from ``begin``, for the first eight lines of them at most."""
    prefetch(array, begin)
    # The end of the first two lines, without a branch: whether a row has a second line is chance.
    prefetch(array, begin + min(count - 1, _LINE))
    if count > 2 * _LINE:
        for word in range(begin + 2 * _LINE, begin + min(count, _MOST), _LINE):
            prefetch(array, word)


@borrowing
def prefetch_row(image, shape, vertex):
    """Ask for the neighbors of a vertex; reads its record. No effect beyond the table."""
    if vertex < shape.vertex_count:
        record = shape.vertex_base + vertex * shape.vertex_words
        segment, degree = (
            image[record + shape.first_word],
            np.int64(image[record + shape.degree_word]),
        )
        step, _ = strides(shape, degree)
        prefetch_words(image, first_word(shape, image[record], segment, degree), degree * step)
