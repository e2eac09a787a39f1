"""Rewrite short rows, those that fit lanes, in registers.

Part of   the apply path: deltas -> plan -> arena.prepare, arena.take -> **commit**
Reads     a row and its entries of the batch
Writes    the segment that the row will lie in
Keeps     rows sorted by neighbor
"""

from ...jit.compile import borrowing
from .lanes import FEW, load_few, load_many, store
from .plan import merge_lanes


@borrowing
def merge_short(image, base, degree, longest, delta, batch, to, after):
    """Merge a row of ``degree`` entries at word ``base`` with entries of the batch.

    Parameters
    ----------
    longest
        The most entries that this may come to.
    batch
        First and end of the row's entries in the delta.
    to, after
        Word of the first of the entries that are written, and their number.
    """
    begin, end = batch
    if longest <= FEW:
        few = load_few(image, base, degree)
        lanes, _, _, _, _, _ = merge_lanes(few, few, begin, end, delta.columns, delta.kinds)
        store(image, to, after, lanes)
    else:
        many = load_many(image, base, degree)
        wide, _, _, _, _, _ = merge_lanes(many, many, begin, end, delta.columns, delta.kinds)
        store(image, to, after, wide)
