"""Launch context: addresses and facts that the compiled apply path needs, kept between batches.

They are words one behind the other: `launched_batch.py` takes the address of the first.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ..device.launches import empty_list
from ..device.packed_arguments import address
from ..memory import free_runs
from ..memory.arena import DeviceArena
from ..memory.batch_report import DeviceReport
from ..structs import BLOCK, MOST_TILES
from .facts import BOUNDS, FACTS, pack_image
from .kernels import UpdateKernels
from .pages.listed_rows import ListedRows
from .rows.long_rows import LongRows

#: What lies at the address, int64 each; `FACTS` follow.
_FIELDS: Final = (
    # Addresses of the driver's functions, the engines' stream, `device.Device.overlaps`.
    "launch", "synchronize", "stream", "overlaps",
    # Addresses of the list of launches, of the header's mirror and of the report.
    "launches", "header", "report",
)  # fmt: skip
LAUNCH, SYNCHRONIZE, STREAM, OVERLAPS, LAUNCHES, HEADER, REPORT = range(len(_FIELDS))
FACTS_AT: Final = len(_FIELDS)
CONTEXT_WORDS: Final = FACTS_AT + FACTS.itemsize // 8
#: Words of `FACTS` that its parts begin at.
OFFSETS: Final = {name: FACTS.fields[name][1] // 8 for name in FACTS.names or ()}  # type: ignore[index]

#: Rows of a batch that one launch may apply, at most: others are for tests.
MOST_FEW_ROWS: int = BLOCK


class LaunchContext:
    """Words at one address, and what they name."""

    def __init__(self) -> None:
        self._words = np.zeros(CONTEXT_WORDS, np.int64)
        self.address = address(self._words)
        #: int64[]: `FACTS`, and the same as a record.
        self.facts: npt.NDArray[np.int64] = self._words[FACTS_AT:]
        self.record: npt.NDArray[np.void] = self.facts.view(FACTS)
        #: The list that the launches of a batch are written to.
        self.launches: npt.NDArray[np.int64] = empty_list()
        #: `DeviceArena.image_number` of the image that is known, 0: of none; and the number of
        #: `state.UpdateState.expected`.
        self.image_number = self.expected_number = 0
        #: What is named by address, to be kept.
        self._held: tuple[object, ...] = ()

    def renew(
        self,
        arena: DeviceArena,
        stream: int,
        report: DeviceReport,
        kernels: UpdateKernels,
        expected: LongRows | ListedRows,
        *,
        create_vertices: bool,
    ) -> None:
        """Bring it up to date with a graph, before launches are written to its stream."""
        device = arena.device
        self._held = held = self.launches, arena.header, report.words
        self._words[:FACTS_AT] = (
            *device.enter(), stream, device.overlaps, *map(address, held)
        )  # fmt: skip
        handles = kernels.pack(arena, with_long=expected.finds_long)
        for name, packed in (("image", pack_image(arena)), ("kernels", handles)):
            words = np.frombuffer(packed, np.int64)
            self.facts[OFFSETS[name] : OFFSETS[name] + words.size] = words
        bounds = (
            create_vertices, MOST_TILES, free_runs.FEW_RUNS, MOST_FEW_ROWS, *expected.bounds
        )  # fmt: skip
        self.set_call(**dict(zip(BOUNDS, bounds, strict=True)))
        self.image_number, self.expected_number = arena.image_number, expected.number

    def call(self, name: str) -> int:
        """Field of `facts.CALL`."""
        return int(self.record["call"][name][0])

    def set_call(self, **fields: int) -> None:
        """Set fields of `facts.CALL`."""
        for name, value in fields.items():
            self.record["call"][name] = value
