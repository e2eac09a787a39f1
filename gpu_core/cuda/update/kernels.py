"""Kernel handles that the apply path launches, and the thresholds that kernels go by."""

from __future__ import annotations

from typing import Final
from weakref import WeakKeyDictionary

from ...image.fields import Field
from ...records import RECORDS
from ..device.device import Device
from ..device.packed_arguments import packer
from ..device.stream_words import new_words
from ..memory.arena import DeviceArena
from ..structs import THRESHOLDS
from .facts import DIRECTED_KERNELS, PLAIN_KERNELS

#: What the names of files with kernels for long rows begin with.
_LONG: Final = "long_rows"
#: What the names of files with kernels for rows on pages begin with.
_PAGED: Final = "paged"

_KERNELS: Final = packer(*[name for _, name in (*DIRECTED_KERNELS * 2, *PLAIN_KERNELS)])
_THRESHOLD_WORDS: Final = packer(*("long_degree", "long_entries", "old_tile") * 2)
_TICKET_WORDS: Final = packer("tickets", "ticket")

#: Macros of ``rows.cuh`` with other values than there: for tests.
_OTHER_THRESHOLDS: dict[str, int] = {}

_DEFINES: Final = {record.words: (("ENTRY_WORDS", record.words),) for record in RECORDS.values()}


def long_degree(words: int) -> int:
    """Old entries, of ``words`` words, up to which a row is not long."""
    return 512 if words == 1 else 256


def thresholds(words: int) -> dict[str, int]:
    """Lengths that the kernels go by where they are not given others."""
    return {"LONG_DEGREE": long_degree(words), **THRESHOLDS, **_OTHER_THRESHOLDS}


def defines_of(words: int) -> tuple[tuple[str, int], ...]:
    """Macros that the kernels of a direction are compiled with."""
    if _OTHER_THRESHOLDS:
        return (("ENTRY_WORDS", words), *_OTHER_THRESHOLDS.items())
    return _DEFINES[words]


#: Handles and thresholds that were packed for the graphs of a device, by what they follow from.
_PACKED: WeakKeyDictionary[Device, dict[tuple[object, ...], bytes]] = WeakKeyDictionary()


class UpdateKernels:
    """Handles of the kernels of one graph, packed for `facts.KERNELS`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._packed = _PACKED.setdefault(device, {})
        #: By which blocks find out which of them is the last, and the memory that these are in.
        words, self._memory = new_words(device)
        self._tickets = _TICKET_WORDS(words.tickets, words.ticket)

    def pack(self, arena: DeviceArena, *, with_long: bool) -> bytes:
        """Pack the handles, `facts.KERNELS`.

        Those for long rows are 0 unless asked for: they are compiled when such rows are first met.
        So are those that this graph never takes: rows on pages have kernels of their own.
        """
        entry_words = arena.entry_words("out"), arena.entry_words("in")
        on_runs, dense = not arena.layout.is_paged, arena[Field.DENSE_IDS]
        key = entry_words, on_runs, dense, with_long, *_OTHER_THRESHOLDS.items()
        if key not in self._packed:
            handle, handles, lengths = self._device.kernel, [], []
            for words in entry_words:
                lengths += [thresholds(words)[name] for name in ("LONG_DEGREE", *THRESHOLDS)]
                for file, name in DIRECTED_KERNELS:
                    taken = name == "close_batch" or on_runs != file.startswith(_PAGED)
                    if file.startswith(_LONG):
                        taken = with_long
                    elif file == "few_rows.cu":
                        taken = taken and words == 1
                    # Tests lower no bounds of rows on pages.
                    defines = _DEFINES[words] if file.startswith(_PAGED) else defines_of(words)
                    handles.append(handle(file, name, defines) if taken else 0)
            for file, name in PLAIN_KERNELS:
                taken = file != "dictionary.cu" or not dense
                handles.append(handle(file, name) if taken else 0)
            self._packed[key] = _KERNELS(*handles) + _THRESHOLD_WORDS(*lengths)
        return self._packed[key] + self._tickets
