"""Options of what measures workloads, benchmarks and studies.

Light: what measures is imported when it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .measuring.selection import Selection


@dataclass(frozen=True)
class WorkloadOptions:
    """What the command line gives all of them."""

    #: Names of workloads; none: those that are taken by default.
    workloads: Sequence[str]
    repeats: int
    #: Bits taken off every size.
    smaller: int

    def selection(self, default: Sequence[str]) -> Selection:
        """The workloads, by ``default`` these; checked when the selection begins."""
        from .measuring.selection import Selection

        return Selection(self.workloads, default, self.repeats, self.smaller)


@dataclass(frozen=True)
class BenchOptions(WorkloadOptions):
    """What it gives a benchmark."""

    engine: str
