"""Read and write eight bytes of a string at a time, at any address."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit.compile import inlined

#: Bytes behind the last string of an array that `copy_bytes` writes to.
SLACK = 8


@intrinsic
def word_at(typing_context: Any, data: Any, at: Any) -> Any:
    """Eight bytes from ``data[at]`` on as uint64, wherever they begin; all must be there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        position = builder.gep(view.data, [arguments[1]])
        word = builder.bitcast(position, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(data, types.intp), generate


@inlined
def padded_word(data, at, end):
    """Eight bytes of a string that goes to ``end``, zeros behind it."""
    left = end - at
    if left >= 8:
        return word_at(data, at)
    if at + 8 <= data.size:
        return word_at(data, at) & ((np.uint64(1) << np.uint64(8 * left)) - np.uint64(1))
    word = np.uint64(0)
    for byte in range(left):
        word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    return word


@intrinsic
def put_word(typing_context: Any, data: Any, at: Any, word: Any) -> Any:
    """Write eight bytes from ``data[at]`` on; all must be there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        position = builder.gep(view.data, [arguments[1]])
        pointer = builder.bitcast(position, ir.IntType(64).as_pointer())
        builder.store(arguments[2], pointer, align=1)
        return context.get_dummy_value()

    return types.void(data, types.intp, types.uint64), generate


@inlined
def copy_bytes(data, begin, end, out, position):
    """Copy a string to ``out[position]``, and up to `SLACK` bytes without a meaning behind it."""
    for at in range(begin, end, 8):
        put_word(out, position, padded_word(data, at, end))
        position += 8
