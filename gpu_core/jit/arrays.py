"""Arrays as compiled kernels take them, and where they are made."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)

#: Gives uint8[n] that one array is to be made in, or None where it has none.
Memory = Callable[[int], npt.NDArray[np.uint8] | None]


def empty_in(memory: Memory | None, count: int, dtype: Any) -> npt.NDArray[Any]:
    """``numpy.empty(count, dtype)``, in memory that is given, where there is some."""
    made = None if memory is None else memory(count * np.dtype(dtype).itemsize)
    return np.empty(count, dtype) if made is None else made.view(dtype)


def readonly(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A view that cannot be written, so that Numba compiles a kernel for one type of it only."""
    view = array.view()
    view.flags.writeable = False
    return view
