"""Options of the benchmarks that measure workloads.

Light: what measures is imported when a benchmark begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .measuring.selection import Selection


@dataclass(frozen=True)
class BenchOptions:
    """What the command line gives such a benchmark."""

    #: Names of workloads; none: those that the benchmark takes by default.
    workloads: Sequence[str]
    engine: str
    repeats: int
    #: Bits taken off every size.
    smaller: int

    def selection(self, default: Sequence[str]) -> Selection:
        """The workloads, by ``default`` these; checked when the selection begins."""
        from .measuring.selection import Selection

        return Selection(self.workloads, default, self.repeats, self.smaller)
