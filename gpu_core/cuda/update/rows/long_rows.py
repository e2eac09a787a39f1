"""Scratch for long rows of batches on runs, learned from earlier batches.

Rows that are too long for one group of lanes (``rows.cuh``) take launches and scratch of their own;
these are provided for only while such rows are met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ....image.fields import WORD_BYTES, BatchField
from ...memory.batch_report import DeviceReport

#: Batches without long rows after which none are expected any more.
QUIET_BATCHES: Final = 64


@dataclass
class LongRows:
    """What is provided for long rows; on pages `ListedRows` stands in its place."""

    #: Whether they are looked for; without, a batch that has some begins again.
    expected: bool = False
    #: uint32 words for old entries of rows that stay in place and are moved within it.
    staging_words: int = 0
    #: Batches since the last one with long rows.
    quiet: int = 0
    #: Grows whenever something else is expected.
    number: int = 0

    @property
    def finds_long(self) -> bool:
        """Whether kernels for long rows are taken."""
        return self.expected

    @property
    def bounds(self) -> tuple[int, ...]:
        """The last fields of `facts.BOUNDS`."""
        return self.expected, self.staging_words, 0, 0, 0, 0

    def provide(self, report: DeviceReport) -> None:
        """Expect long rows, for a batch that has some and found too little provided for them."""
        words = report[BatchField.SCRATCH_BYTES] // WORD_BYTES
        self.expected, self.quiet, self.number = True, 0, self.number + 1
        self.staging_words = max(self.staging_words, words + words // 4)

    def record(self, report: DeviceReport) -> None:
        """Record how many long rows an applied batch had, if they were looked for."""
        if not self.expected:
            return
        self.quiet = 0 if report[BatchField.LONG_ROWS] else self.quiet + 1
        if self.quiet >= QUIET_BATCHES:
            self.forget()

    def forget(self) -> None:
        """Expect none: a refused batch may have demanded more than there can be."""
        self.expected, self.staging_words, self.quiet = False, 0, 0
        self.number += 1
