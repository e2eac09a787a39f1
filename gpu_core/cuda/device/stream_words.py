"""Words of device memory that are 0 between launches: counters by which blocks number themselves.

Launches of one stream run one after the other and share theirs; so each stream has its own. So
has a graph for its updates (`update/kernels.py`), of which many batches know the addresses: they
are not renewed when another graph's launches fail.
"""

from contextlib import suppress
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from .device import Array, Device
from .packed_arguments import address

#: Tickets of a sort.
_TICKETS: Final = 256


class StreamWords(NamedTuple):
    """Addresses of uint32 words for launches of one stream, 0 while none of them runs."""

    #: Of sorts.
    tickets: int
    #: Of `is_last_block`; and by which blocks number themselves in the order in which they begin.
    ticket: int
    block_numbers: int
    #: What launches that belong together find fault with.
    faults: int


#: Of each device and stream, since work of two streams may run at the same time; and their memory.
_WORDS_OF: WeakKeyDictionary[Device, dict[int, tuple[StreamWords, Array]]] = WeakKeyDictionary()


def words_of_stream(device: Device) -> StreamWords:
    """Words of the current stream."""
    return _words_of(device)[0]


def renew_words(device: Device) -> None:
    """Give the current stream new words, as a list of launches was not started to its end.

    What those that were started find fault with would be taken for the next batch's. They are
    waited for, so nothing uses the memory that they were given.
    """
    with suppress(Exception):  # a device that broke is at rest
        device.synchronize()
    _WORDS_OF[device].pop(device.stream, None)


def ticket_of(device: Device) -> Array:
    """uint32[1]: `StreamWords.ticket`."""
    return _words_of(device)[1][_TICKETS : _TICKETS + 1]


def _words_of(device: Device) -> tuple[StreamWords, Array]:
    of_streams = _WORDS_OF.setdefault(device, {})
    stream = device.stream
    if stream not in of_streams:
        of_streams[stream] = new_words(device)
    return of_streams[stream]


def new_words(device: Device) -> tuple[StreamWords, Array]:
    """Make such words; returns them with their memory, which must be kept as long."""
    memory = device.to_device(np.zeros(_TICKETS + 3, np.uint32))
    first = address(memory)
    others = (first + 4 * (_TICKETS + number) for number in range(3))
    return StreamWords(first, *others), memory
