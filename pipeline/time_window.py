"""The sliding time window of a run: after each batch, edges not seen for too long are deleted.

The window's *clock* is the latest time of all rows so far that insert an edge. After each batch the
edges are deleted whose last time is earlier than the clock less the window's length, so what is in
the graph after a batch follows from the log and its plan alone. A checkpoint keeps the clock.

How a log is cut into batches decides neither which edges there are, nor their last times: a late
row whose time is out of the window leaves with the batch that it came in. An edge that would have
left between two rows of one batch keeps its first time, and the weight that it adds to.

Not here: how edges expire (`DynamicGraph.expire`), and what time a row has
(``io/log/batch_times.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dask.utils import parse_timedelta

from ..gpu_core.errors import ArenaFullError, EngineError, SettingsError
from ..gpu_core.graph import DynamicGraph
from ..gpu_core.report import BatchReport
from ..gpu_core.times import PER_SECOND, time_unit_named
from ..io.log.batch_times import TimeRange


@dataclass
class TimeWindow:
    """The window of one graph, as it stands after a batch."""

    #: In the graph's unit of time; None: edges stay.
    length: int | None = None
    #: Latest time so far; None: no row has inserted an edge yet.
    clock: int | None = None
    #: No edge is older than that; None: there is none.
    oldest: int | None = None

    @classmethod
    def of(
        cls, setting: str | None, time_unit: str | None, manifest: Mapping[str, Any] | None = None
    ) -> TimeWindow:
        """Make the window of a setting, as it was when a checkpoint was written.

        Parameters
        ----------
        setting
            As in `GraphSettings.time_window`.
        time_unit
            What the times of the graph count.
        manifest
            Of the checkpoint; None: nothing is applied yet.

        Raises
        ------
        SettingsError
            The setting is a time where the graph has integers, or the other way round.
        """
        if setting is None:
            return cls()
        kept = (manifest or {}).get("time_window") or {}
        return cls(_length(setting, time_unit), kept.get("clock"), kept.get("oldest"))

    def kept(self) -> dict[str, int | None] | None:
        """Values that a manifest keeps of it; None where there is no window."""
        return None if self.length is None else {"clock": self.clock, "oldest": self.oldest}

    def slide(
        self, graph: DynamicGraph, report: BatchReport, times: TimeRange | None
    ) -> BatchReport:
        """Delete the edges that left the window with a batch, and add their counts to the report.

        Parameters
        ----------
        graph
            The graph after the batch.
        report
            Of the batch.
        times
            Of its rows that insert an edge; None: there are none.

        Raises
        ------
        EngineError
            There is no memory to delete them: the graph is one that never was.
        """
        if self.length is None or times is None:
            return report
        self.clock = times.last if self.clock is None else max(self.clock, times.last)
        self.oldest = times.first if self.oldest is None else min(self.oldest, times.first)
        before = self.clock - self.length
        if self.oldest >= before:
            return report
        try:
            left = graph.expire(before)
        except ArenaFullError as error:
            msg = f"edges older than the window cannot be deleted: {error}"
            raise EngineError(msg) from error
        self.oldest = before
        return report._replace(
            expired=left.expired,
            edges_removed=report.edges_removed + left.edges_removed,
            num_edges=left.num_edges,
            pages_used=left.pages_used,
            pages_free=left.pages_free,
            largest_free_run=left.largest_free_run,
            page_bytes=left.page_bytes,
            rows_moved=report.rows_moved + left.rows_moved,
            rows_appended=report.rows_appended + left.rows_appended,
            rows_merged=report.rows_merged + left.rows_merged,
        )


def _length(setting: str, time_unit: str | None) -> int:
    """A window in the unit of the graph's times."""
    if time_unit is None:
        # No file has a time yet, so none can be older.
        return int(setting) if setting.isdecimal() else max(1, round(parse_timedelta(setting)))
    unit = time_unit_named(time_unit)
    if unit.resolution is None:
        if setting.isdecimal():
            return int(setting)
        wanted = f"are {unit}; use a number, in their unit"
    else:
        if not setting.isdecimal():
            return max(1, round(parse_timedelta(setting) * PER_SECOND[unit.resolution]))
        wanted = f"are {unit}; use a time such as 7d"
    msg = f"time_window: {setting} is not allowed, as the times of the log {wanted}"
    raise SettingsError(msg)
