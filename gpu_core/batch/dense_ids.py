"""Dense ids, which are vertex indices: int64 in a batch, 32 bits in the image."""

import numpy as np
import numpy.typing as npt

from ..errors import BatchError
from ..image.fields import MAX_VERTICES
from ..jit.compile import compiled
from ..jit.parallel import SERIAL_ITEMS, for_ranges
from ..printable import batch_shown


def to_indices(
    ids: npt.NDArray[np.int64],
    out: npt.NDArray[np.uint32],
    batch_id: int,
    *,
    serial_items: int = SERIAL_ITEMS,
) -> int:
    """Copy dense ids to 32 bits; returns the largest, -1 where there is none.

    Raises
    ------
    BatchError
        An id is no vertex index.
    """
    top = -1
    for bits, largest in for_ranges(narrow_ids, ids.size, ids, out, serial_items=serial_items):
        if not 0 <= bits < MAX_VERTICES:
            check_range(batch_id, int(ids.min()), int(ids.max()))
        top = max(top, int(largest))
    return top


def check_range(batch_id: int, smallest: int, largest: int) -> None:
    """Refuse dense ids of which some are no vertex index."""
    if smallest < 0 or largest >= MAX_VERTICES:
        msg = (
            f"{batch_shown(batch_id)}: id {smallest if smallest < 0 else largest} cannot be a "
            f"vertex index (0 … {MAX_VERTICES - 1}); use ids='any' for ids of any size"
        )
        raise BatchError(msg)


@compiled
def narrow_ids(low, high, ids, out):
    """Copy dense ids to 32 bits.

    Returns
    -------
    bits, largest : int64
        All bits that are set in any of the ids copied, negative where one is; and the largest of
        them, if all are below 2^32.
    """
    bits = np.int64(0)
    largest = np.uint32(0)
    # Unsigned indices: Numba then leaves out the step for those below 0.
    for i in range(np.uint64(low), np.uint64(high)):
        value = ids[i]
        bits |= value
        narrow = np.uint32(value)
        # Of 32 bits, so that twice as many fit a vector register.
        largest = max(largest, narrow)
        out[i] = narrow
    return bits, np.int64(largest)


def check_vertex_count(batch_id: int, count: int) -> None:
    """Refuse a batch after which the graph would have more vertex records than an image holds.

    Raises
    ------
    BatchError
        ``count`` is more than `image.fields.MAX_VERTICES`.
    """
    if count > MAX_VERTICES:
        msg = (
            f"{batch_shown(batch_id)}: the graph would have {count:,} vertex records, a graph has "
            f"at most {MAX_VERTICES:,}"
        )
        raise BatchError(msg)
