"""Binary search in sorted arrays and adjacency lists."""

import numpy as np

from ....jit.compile import inlined


@inlined
def gallop(columns, start, length, step, at, target):
    """First entry of a row from ``at`` on that is not below ``target``."""
    stride = np.int64(1)
    while at + stride <= length and columns[start + (at + stride - 1) * step] < target:
        at += stride
        stride <<= 1
    end = min(at + stride - 1, length)
    while at < end:
        middle = (at + end) >> 1
        if columns[start + middle * step] < target:
            at = middle + 1
        else:
            end = middle
    return at


@inlined
def first_not_below(items, low, high, bound):
    """First position of increasing ``items[low:high]`` that is not below ``bound``."""
    while low < high:
        middle = (low + high) >> 1
        if items[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low
