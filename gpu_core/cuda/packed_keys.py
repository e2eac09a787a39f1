"""Bits of the keys that a batch's entries are sorted by: ``Layout`` of ``kernels/halves.cu``."""

import struct
from typing import Final, NamedTuple

#: Three uint32, aligned as 8-byte words.
_LAYOUT: Final = struct.Struct("3I4x").pack
_KIND_BITS: Final = 2
_KEY_BITS: Final = 64


class KeyLayout(NamedTuple):
    """Bits of a key; row and column have ``bits`` each."""

    bits: int
    kind_bits: int
    number_bits: int
    #: Whether the number of the put travels beside the key.
    with_values: bool

    @property
    def column_shift(self) -> int:
        """Lowest bit of the column."""
        return self.kind_bits + self.number_bits

    @property
    def row_shift(self) -> int:
        """Lowest bit of the row."""
        return self.bits + self.column_shift

    @property
    def high_bit(self) -> int:
        """Bits of a key."""
        return self.bits + self.row_shift

    @property
    def argument(self) -> bytes:
        """As kernels take it, packed."""
        return _LAYOUT(self.bits, self.kind_bits, self.number_bits)


def layout_for(vertex_count: int, *, mixed: bool, most: int, with_source: bool) -> KeyLayout:
    """Layout of keys; ``most``: numbers of puts are below this."""
    bits = max(int(vertex_count - 1).bit_length(), 1)
    kind_bits = _KIND_BITS if mixed else 0
    number_bits = max(int(most - 1).bit_length(), 1) if with_source else 0
    if 2 * bits + kind_bits + number_bits > _KEY_BITS:
        return KeyLayout(bits, kind_bits, 0, with_values=True)
    return KeyLayout(bits, kind_bits, number_bits, with_values=False)
