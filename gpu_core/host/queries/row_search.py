"""Binary search in sorted arrays and adjacency lists."""

import numpy as np

from ...jit.compile import borrowing

#: Entries that are looked at one by one, before a search by bisection.
NEAR = 16


@borrowing
def first_in_row(columns, start, step, low, high, target):
    """First of the entries ``low … high - 1`` of a row that is not below ``target``.

    Entry ``i`` is ``columns[start + i * step]``.
    """
    while low < high:
        middle = (low + high) >> 1
        if columns[start + middle * step] < target:
            low = middle + 1
        else:
            high = middle
    return low


@borrowing
def nearest_in_row(columns, start, step, low, high, target):
    """As `first_in_row`, of an entry that is probably among the first ones."""
    near = min(high, low + NEAR)
    while low < near and columns[start + low * step] < target:
        low += 1
    return first_in_row(columns, start, step, low, high, target) if low == near else low


@borrowing
def first_not_below(items, low, high, bound):
    """First position of increasing ``items[low:high]`` that is not below ``bound``."""
    return first_in_row(items, np.int64(0), np.int64(1), low, high, bound)


@borrowing
def gallop(columns, start, length, step, at, target):
    """First entry of a row from ``at`` on that is not below ``target``, which is probably near."""
    stride = np.int64(1)
    while at + stride <= length and columns[start + (at + stride - 1) * step] < target:
        at += stride
        stride <<= 1
    return first_in_row(columns, start, step, at, min(at + stride - 1, length), target)
