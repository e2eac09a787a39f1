"""Compare and swap, for kernels whose threads write to one array."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def compare_and_swap(
    typing_context: Any, array: Any, index: Any, expected: Any, desired: Any
) -> Any:
    """Write ``desired`` to ``array[index]`` if ``expected`` is there; returns whether it was.

    The two values have the type of the items, which are integers or float64; floats are compared by
    their bits. What a thread wrote before is seen by those that see the new item.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        position = builder.gep(view.data, [arguments[1]])
        old, new = arguments[2:]
        if isinstance(array.dtype, types.Float):
            # Processors swap whole numbers alone.
            bits = ir.IntType(array.dtype.bitwidth)
            position = builder.bitcast(position, bits.as_pointer())
            old, new = (builder.bitcast(each, bits) for each in (old, new))
        swapped = builder.cmpxchg(position, old, new, "acq_rel", "monotonic")
        return builder.extract_value(swapped, 1)

    return types.boolean(array, types.intp, array.dtype, array.dtype), generate
