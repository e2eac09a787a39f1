"""Read every entry of a graph once, where it lies, in the order of vertices: the least of any scan.

On the host each thread walks a range of rows, and asks for them ahead as the engine's own kernels
do; on a GPU eight lanes walk a row, and a block a long one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...gpu_core.face.adjacency_view import AdjacencyView
from ...gpu_core.jit.compile import compiled
from ...gpu_core.jit.parallel import for_ranges
from ...gpu_core.jit.prefetch import FAR_AHEAD, prefetch_words

_THREADS = 256
_BLOCKS_A_MULTIPROCESSOR = 8
#: Rows with more entries are a block's.
_LONG = 1024

_KERNEL = r"""
extern "C" __global__ void scan(
        const unsigned* __restrict__ words, const long long* __restrict__ begins,
        const long long* __restrict__ degrees, long long rows,
        const long long* __restrict__ long_rows, long long long_count, unsigned long long* sum) {
    unsigned long long total = 0;
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (long long row = thread / 8; row < rows; row += (long long)gridDim.x * blockDim.x / 8) {
        if (degrees[row] > LONG) continue;
        const unsigned* entries = words + begins[row];
        for (long long i = thread % 8; i < degrees[row]; i += 8) total += entries[i];
    }
    for (long long k = blockIdx.x; k < long_count; k += gridDim.x) {
        const unsigned* entries = words + begins[long_rows[k]];
        for (long long i = threadIdx.x; i < degrees[long_rows[k]]; i += blockDim.x)
            total += entries[i];
    }
    for (int other = 16; other > 0; other /= 2) total += __shfl_down_sync(~0u, total, other);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, total);
}
"""


@compiled
def _scan_rows(low: int, high: int, words: Any, begins: Any, degrees: Any) -> Any:
    """Sum of the neighbors of rows ``low … high - 1``."""
    total = np.uint64(0)
    for row in range(low, high):
        ahead = row + FAR_AHEAD
        if ahead < begins.size:
            prefetch_words(words, begins[ahead], degrees[ahead])
        for i in range(begins[row], begins[row] + degrees[row]):
            total += np.uint64(words[i])
    return total


def scan_of(view: AdjacencyView) -> Callable[[], Any]:
    """Callable that finds the sum of all neighbors, which ``int`` makes of what it returns.

    The entries of a row lie side by side (``step`` 1).
    """
    words, begins, degrees = view.words, view.begins, view.degrees
    if isinstance(words, np.ndarray):
        return lambda: sum(for_ranges(_scan_rows, begins.size, words, begins, degrees))
    import cupy

    kernel = cupy.RawKernel(_KERNEL, "scan", (f"-DLONG={_LONG}",))
    long_rows = cupy.flatnonzero(degrees > _LONG)
    blocks = _BLOCKS_A_MULTIPROCESSOR * cupy.cuda.Device().attributes["MultiProcessorCount"]

    def scan() -> Any:
        total = cupy.zeros((), cupy.uint64)
        kernel(
            (blocks,), (_THREADS,),
            (words, begins, degrees, begins.size, long_rows, long_rows.size, total),
        )  # fmt: skip
        return total

    return scan
