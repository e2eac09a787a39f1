"""Arrays as compiled kernels take them."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Scalar = TypeVar("Scalar", bound=np.generic)


def readonly(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """A view that cannot be written, so that Numba compiles a kernel for one type of it only."""
    view = array.view()
    view.setflags(write=False)
    return view
