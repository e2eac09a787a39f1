"""Compare and swap, for kernels whose threads write to one array."""

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic
def compare_and_swap(
    typing_context: Any, array: Any, index: Any, expected: Any, desired: Any
) -> Any:
    """Write ``desired`` to ``array[index]`` if ``expected`` is there; tell whether it was.

    The two values have the type of the items, which are integers. What a thread wrote before is
    seen by those that see the new item.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(view.data, [arguments[1]])
        swapped = builder.cmpxchg(place, arguments[2], arguments[3], "acq_rel", "monotonic")
        return builder.extract_value(swapped, 1)

    return types.boolean(array, types.intp, array.dtype, array.dtype), generate
