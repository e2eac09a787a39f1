"""Options of the studies that measure workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..bench.bench_options import WorkloadOptions
from .plots import check_plot

if TYPE_CHECKING:
    from ..bench.measuring.selection import Selection


@dataclass(frozen=True)
class StudyOptions(WorkloadOptions):
    """What the command line gives such a study."""

    #: File that is drawn, too.
    plot: str | None

    def selection(self, default: Sequence[str]) -> Selection:
        """The workloads, by ``default`` these.

        Raises
        ------
        SettingsError
            The plot cannot be drawn. The rest is checked when the selection begins.
        """
        check_plot(self.plot)
        return super().selection(default)
