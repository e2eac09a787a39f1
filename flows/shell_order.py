"""Files that a shell has put in order: ``log/*.parquet`` without quotes comes as a list of names.

A shell sorts names as text, so that ``part.10`` precedes ``part.2``, and a log of several addresses
is read in the order in which they are given.
"""

from collections.abc import Sequence
from itertools import pairwise

from ..io.log.paths.log_order import natural_key


def order_notes(addresses: Sequence[str]) -> list[str]:
    """Report files that were given one by one, in the order of text, where numbers have another.

    An order that is neither is meant so.
    """
    if list(addresses) != sorted(addresses):
        return []
    for before, after in pairwise(addresses):
        if natural_key(after) < natural_key(before):
            return [
                f"files were given one by one, {before} before {after}, and are applied so; if a "
                f"shell has put them in this order, quote the pattern, such as 'log/*.parquet', "
                f"and start over: it is read in the order of its numbers"
            ]
    return []
