"""Partition of keys by their upper bits into buckets that one block each can sort.

A sort of many keys then takes one or two passes over them instead of one for each digit, and the
blocks that sort go on with their keys, where they are. Buckets fit a block's memory where the keys
are spread over their range; where they are not, one may be overfull. Kernels: ``key_buckets.cuh``.
"""

from typing import Final

from ....jit.compile import inlined
from ...structs import BUCKET_KEYS, DIGIT_BITS

#: Keys of a bucket on the mean at most: buckets of keys that are drawn alike differ.
MEAN_KEYS: Final = BUCKET_KEYS * 9 // 10
#: Bits that keys are partitioned by: one pass of the sort, or two.
_LEAST_BITS: Final = DIGIT_BITS
_MOST_BITS: Final = 2 * DIGIT_BITS

#: Batches that are sorted at once, after one that has overfilled a bucket.
_SORTED_AT_ONCE: Final = 64


@inlined
def bucket_bits(count, highest, bits, mean_keys):
    """Number of uppermost bits by which keys are partitioned into buckets that hold them.

    Parameters
    ----------
    count
        How many keys there are.
    highest, bits
        The largest number that they are sorted by, and how many bits these numbers have.
    mean_keys
        `MEAN_KEYS`, or less in tests.

    Returns
    -------
    int
        0: no buckets have room.
    """
    for of_bucket in range(_LEAST_BITS, min(bits, _MOST_BITS) + 1):
        if buckets_of(highest, bits, of_bucket) * mean_keys >= count:
            return of_bucket
    return 0


@inlined
def buckets_of(highest, bits, of_bucket):
    """Number of buckets; arguments as of `bucket_bits`."""
    return (highest >> bits - of_bucket) + 1


class Skew:
    """Whether batches of one kind overfill buckets: their like are sorted at once for a while."""

    def __init__(self) -> None:
        #: Batches to come that are not partitioned into buckets.
        self.left = 0

    def permits_buckets(self) -> bool:
        """Whether the next batch may be partitioned into buckets; it is taken for begun."""
        if self.left == 0:
            return True
        self.left -= 1
        return False

    def meet(self) -> None:
        """Take note of a batch that has overfilled a bucket."""
        self.left = _SORTED_AT_ONCE
