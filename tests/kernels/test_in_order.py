"""Values of all widths by vertex index, put in the order of users' ids."""

from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.analytics.in_order import values_in_order
from graphtide.gpu_core.cuda.memory.workspace import Workspace


@pytest.mark.parametrize("dtype", ["bool", "uint32", "float32", "int64", "float64"])
def test_values_of_any_width_are_put_in_order(device: Any, dtype: str) -> None:
    random = np.random.default_rng(5)
    # All bytes of a value are of its own, and so are all of a bool's.
    values = random.integers(0, 256, 700 * np.dtype(dtype).itemsize, np.uint8).view(dtype)
    if dtype == "bool":
        values = random.random(700) < 0.5
    workspace = Workspace(device, None)  # type: ignore[arg-type]  # no scratch is taken
    for count in (0, 1, 513):
        order = random.permutation(700)[:count].astype(np.uint32)
        given = device.to_device(values), device.to_device(order)
        found = values_in_order(workspace, *given, None).values
        assert found.dtype == dtype
        assert found.tobytes() == values[order].tobytes()
    found = values_in_order(workspace, device.to_device(values), None, None).values
    assert found.tobytes() == values.tobytes()
