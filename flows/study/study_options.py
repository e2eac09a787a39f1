"""Options of the studies that measure workloads.

Light: what measures is imported when a study begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .plots import check_plot

if TYPE_CHECKING:
    from ..bench.measuring.selection import Selection


@dataclass(frozen=True)
class StudyOptions:
    """What the command line gives such a study."""

    #: Names of workloads; none: those that the study takes by default.
    workloads: Sequence[str]
    repeats: int
    #: Bits taken off every size.
    smaller: int
    #: File that is drawn, too.
    plot: str | None

    def selection(self, default: Sequence[str]) -> Selection:
        """The workloads, by ``default`` these.

        Raises
        ------
        SettingsError
            The plot cannot be drawn. The rest is checked when the selection begins.
        """
        from ..bench.measuring.selection import Selection

        check_plot(self.plot)
        return Selection(self.workloads, default, self.repeats, self.smaller)
