"""Sort packed 64-bit keys on all cores: cut by sampled pivots, then NumPy's vector sort a part.

NumPy sorts on one core, without the GIL; so the keys are dealt out to as many parts as there are
threads, each part smaller than the next, and the parts are sorted side by side.
"""

import numpy as np
import numpy.typing as npt

from .compile import compiled
from .parallel import for_ranges, ranges_of, run_all, thread_count

UInt64s = npt.NDArray[np.uint64]

#: Below this many keys one core is faster.
_SMALL = 1 << 16
_SAMPLE = 1024


def sort_keys(keys: UInt64s) -> UInt64s:
    """Return the keys in increasing order; the array given may be overwritten."""
    parts = thread_count()
    if keys.size < _SMALL or parts < 2:
        keys.sort()
        return keys
    sample = np.sort(keys[:: keys.size // _SAMPLE])
    pivots = sample[np.arange(1, parts) * sample.size // parts]
    starts = np.array([low for low, _ in ranges_of(keys.size)], np.int64)
    counts = np.array(for_ranges(count_parts, keys.size, keys, pivots))
    # Part by part, and within a part range by range.
    ends = np.cumsum(counts.T.ravel())
    offsets = (ends - counts.T.ravel()).reshape(counts.T.shape).T.copy()
    dealt = np.empty_like(keys)
    for_ranges(deal, keys.size, keys, pivots, starts, offsets, dealt)
    bounds = [0, *ends.reshape(counts.T.shape)[:, -1].tolist()]
    run_all([dealt[low:high].sort for low, high in zip(bounds[:-1], bounds[1:], strict=True)])
    return dealt


@compiled
def count_parts(low, high, keys, pivots):
    """int64: how many of ``keys[low:high]`` fall into each part."""
    counts = np.zeros(pivots.size + 1, np.int64)
    for i in range(low, high):
        part = 0
        for pivot in pivots:
            part += keys[i] >= pivot
        counts[part] += 1
    return counts


@compiled
def deal(low, high, keys, pivots, starts, offsets, out):
    """Copy ``keys[low:high]`` to their parts, in order."""
    to = offsets[0].copy()
    for i in range(starts.size):
        if starts[i] == low:
            to[:] = offsets[i]
    for i in range(low, high):
        part = 0
        for pivot in pivots:
            part += keys[i] >= pivot
        out[to[part]] = keys[i]
        to[part] += 1
