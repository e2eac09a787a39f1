"""Values of all widths by vertex index, put in the order of users' ids."""

from typing import Any

import numpy as np
import pytest

from graphtide.gpu_core.cuda.analytics.centrality.kept_ranks import KeptRanks
from graphtide.gpu_core.cuda.analytics.in_order import values_in_order
from graphtide.gpu_core.cuda.device.devices import open_device
from graphtide.gpu_core.cuda.device.stream import StreamLock
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


@pytest.mark.gpu
@pytest.mark.parametrize("read", ["values", "largest", "ranks", "largest ranks"])
def test_a_result_is_complete_on_whatever_stream_it_is_read(read: str) -> None:
    """CUDA does not order a stream that does not block with that of the engines."""
    device = open_device()
    write_late = device.xp.RawKernel(
        'extern "C" __global__ void write_late(double* values) {'
        "  const long long begin = clock64(); while (clock64() - begin < 200000000) {}"
        "  values[threadIdx.x] = threadIdx.x + 1.0; }",
        "write_late",
    )
    values = device.xp.zeros(5)
    with StreamLock(device):
        write_late((1,), (5,), (values,))
        kept = values_in_order(Workspace(device, None), values, None, None)  # type: ignore[arg-type]
    ranks = KeptRanks(device, values, None)
    with device.xp.cuda.Stream(non_blocking=True):
        if read == "values":
            assert kept.values.tolist() == [1, 2, 3, 4, 5]
        elif read == "ranks":
            assert ranks.by_vertex()[1].tolist() == [1, 2, 3, 4, 5]
        else:
            found = kept.largest(2) if read == "largest" else ranks.largest(2)
            assert [each.tolist() for each in found] == [[4, 3], [5, 4]]
