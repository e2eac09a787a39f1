"""Watches the limits of a run: arena, host memory and disk, before the first batch and after it.

Before it there is an estimate of what the log needs (``needs.py``). While batches go on there is
the trend: a line through what was in use lately, by rows, predicts the batch that reaches a limit.

Host memory and disk may be used by others, so what counts is what was free when the run began, and
how much less is free now; checkpoints that were there by then are in use already. The disk is that
of the state; the memory is that of the machine where the graph is.

Nothing is refused here, and no warning is given: `Limit` says how it stands (``limits.py``).
"""

import shutil
import time
from collections import deque
from dataclasses import replace

from ...config.settings import RunSettings
from ..graph_worker.graph_status import GraphStatus
from ..run_files import RunFiles
from .limits import Limit
from .needs import RESULT_VERTEX_BYTES, Need, sizes_to_come

#: Seconds between two looks.
_LOOK_SECONDS = 1.0

#: Looks that a trend goes back, fewest that make one, and how many of them a whole log has at most.
_LOOKS, _FEWEST_LOOKS, _LOOKS_A_LOG = 16, 4, 200


class _Trend:
    """A line through what was in use lately, by rows."""

    def __init__(self, rows_between: int) -> None:
        self._rows_between = rows_between
        #: (rows, bytes in use), the oldest first.
        self._looks: deque[tuple[int, int]] = deque(maxlen=_LOOKS)

    def look(self, rows: int, used: int) -> None:
        """Take note, unless few rows have come since."""
        if not self._looks or rows - self._looks[-1][0] >= self._rows_between:
            self._looks.append((rows, used))

    def rows_until(self, most: int) -> int | None:
        """Rows at which ``most`` is reached; None where what is in use does not grow."""
        if len(self._looks) < _FEWEST_LOOKS:
            return None
        (first_rows, first), (rows, used) = self._looks[0], self._looks[-1]
        if used <= first:
            return None
        return rows + max(most - used, 0) * (rows - first_rows) // (used - first)


class LimitWatch:
    """Use of the resources of one run.

    Parameters
    ----------
    files
        Log and state of the run.
    settings
        Settings of the run.
    """

    def __init__(self, files: RunFiles, settings: RunSettings) -> None:
        self._files = files
        self._settings = settings
        self._need = Need(settings.graph)
        # Checkpoints that are there make room for those to come.
        self._disk_bytes = _free_disk(files) + files.checkpoint_bytes()
        self._host_bytes = 0
        self._look_due = 0.0
        self._trends: dict[str, _Trend] = {}
        #: Each as it stood at the newest look.
        self.now: tuple[Limit, ...] = ()

    def start(self, status: GraphStatus, *, on_host: bool) -> None:
        """A graph has been started: estimate what the log needs.

        ``on_host``: its arena is in host memory.
        """
        assert status.memory is not None
        files, need = self._files, self._need
        rows = files.log.rows_before(files.log.batches)
        before = files.log.rows_before(status.boundary)
        likely, most = sizes_to_come(before, rows - before, status.num_vertices, status.num_edges)
        self._trends = {
            each: _Trend(rows // _LOOKS_A_LOG + 1) for each in ("arena", "memory", "disk")
        }
        self._host_bytes = status.memory.host_free_bytes
        arena = need.arena(likely, most)
        copies = need.checkpoint(*likely), need.checkpoint(*most)
        # The arena of a graph that was restored is in use already.
        used = _used(need, status) if on_host else 0
        own_now = need.properties(status.num_vertices, status.num_edges)
        own = [max(need.properties(*size) - own_now, 0) for size in (likely, most)]
        memory = [
            (max(graph - used, 0) if on_host else 0) + copy + values
            for graph, copy, values in zip(arena, copies, own, strict=True)
        ]
        disk = [
            self._kept_checkpoints() * copy + self._results(status.boundary) * vertices
            for copy, (vertices, _) in zip(copies, (likely, most), strict=True)
        ]
        self.now = (
            Limit("arena", 0, need.usable(status.memory.limit_bytes), *arena),
            Limit("memory", 0, self._host_bytes, *memory),
            Limit("disk", 0, self._disk_bytes, *disk),
        )
        self._look_due = 0.0
        self.look(status)

    def _kept_checkpoints(self) -> int:
        """Checkpoints that are on the disk at once; those of a clock count as if two were kept."""
        settings, files = self._settings, self._files
        if settings.keep_checkpoints is not None:
            return settings.keep_checkpoints + 1
        every = settings.checkpoint_batches
        return 3 if every is None else -(-files.log.batches // every) + 1

    def _results(self, boundary: int) -> int:
        """Bytes of all results to come, for each vertex of the graph."""
        settings, left = self._settings, self._files.log.batches - boundary
        whole = settings.columns_every or 1
        # Changes are taken for what they are at most: half of the rows.
        share = 0 if settings.changes_beyond is None else 0.5
        times = 0.0
        for every in settings.cadences.values():
            count = 0 if every is None else left // every
            columns = min(count, left // whole)
            times += 1 + columns + share * (count - columns)
        return int(times * RESULT_VERTEX_BYTES)

    def look(self, status: GraphStatus) -> None:
        """Take note of how things stand, where a second has passed since they were."""
        now = time.monotonic()
        if now < self._look_due or status.memory is None or not self.now:
            return
        self._look_due = now + _LOOK_SECONDS
        used = {
            "arena": _used(self._need, status),
            "memory": max(self._host_bytes - status.memory.host_free_bytes, 0),
            "disk": max(self._disk_bytes - _free_disk(self._files), 0),
        }
        rows = self._files.log.rows_before(status.boundary)
        self.now = tuple(self._looked(each, rows, used[each.resource]) for each in self.now)

    def _looked(self, limit: Limit, rows: int, used: int) -> Limit:
        trend = self._trends[limit.resource]
        trend.look(rows, used)
        full = trend.rows_until(limit.most_bytes)
        batch = None if full is None else self._files.log.batch_of_row(full)
        return replace(limit, used_bytes=used, full_at_batch=batch)


def _used(need: Need, status: GraphStatus) -> int:
    """Bytes of the arena that a graph takes."""
    memory = status.memory
    assert memory is not None
    return need.used(status.num_vertices, memory.pages_used, memory.page_bytes)


def _free_disk(files: RunFiles) -> int:
    return shutil.disk_usage(files.state).free
