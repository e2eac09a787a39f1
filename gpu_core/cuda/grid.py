"""Sizes of grids: how many blocks cover so many items."""

from typing import Final

from .device.declarations import constant

_SOURCE: Final = "block.cuh"

#: Lanes of a warp.
WARP: Final = constant(_SOURCE, "WARP")
#: Threads of a block, of kernels that have no reason for another number.
THREADS: Final = constant(_SOURCE, "THREADS")


def blocks_for(items: int, block: int = THREADS) -> int:
    """Blocks of ``block`` items that cover ``items``."""
    return -(-items // block)
