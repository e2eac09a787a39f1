"""History of a run on the scheduler: what its feed reported (`run_feed.py`), as time series.

A run may go on for weeks: when there are many samples, every second one of those that are not
recent is dropped. Nothing is lost by that but detail, because all numbers count up.

Not here: how it is shown (``dashboard_page.py``).
"""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...gpu_core.report import STAGES
from .busy import busiest, busy_shares, largest_stage

#: Samples from which on they are thinned, and those of them, the newest, that are spared.
_MOST, _RECENT = 600, 100

#: What is said of *now* looks back so many seconds, and so many batches, where there are as many.
_NOW_SECONDS, _NOW_BATCHES = 10.0, 4

#: Seconds without a word after which a run that has not ended is called silent.
_SILENT_SECONDS = 10.0

#: Seconds without a batch after which a run that has nothing to do is drawn with a rate of 0.
_PAUSE_SECONDS = 5.0

#: Fields of a sample that are drawn as they are.
_STATES = ("vertices", "edges", "loading", "waiting")

#: Batches of which each result is kept.
_RESULTS = 1000

#: Stages of a run that has come to its end.
ENDED = ("end", "failed")


class Sample(NamedTuple):
    """Numbers of a run at one moment; all but the last two count up."""

    #: Since 1970.
    seconds: float
    recoveries: int
    #: Batches and rows applied; rows of this run alone.
    batches: int
    rows: int
    #: Stage or part -> seconds, and batches that stages are of, see `Picture`.
    spent: Mapping[str, float]
    timed: int
    cpu_workers: int
    vertices: int
    edges: int
    #: Batches that are read, and that wait for their turn.
    loading: int
    waiting: int


class RunHistory:
    """Messages that one run published.

    Parameters
    ----------
    values
        The first message.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.samples: list[Sample] = []
        #: The newest message, and its number, by which a page finds whether there is news.
        self.newest = values
        self.number = 0
        #: Name of a result -> batch -> its values.
        self.results: dict[str, dict[int, Mapping[str, Any]]] = {}
        self._heard = 0.0
        self.add(values)

    def add(self, values: Mapping[str, Any]) -> None:
        """Take in a message."""
        self.newest = values
        self.number += 1
        self._heard = time.monotonic()
        picture = values.get("picture")
        if picture is None:
            return
        self.samples.append(
            Sample(
                values["time"], picture["recoveries"], values["batches_done"], values["rows_done"],
                picture["seconds"], picture["timed"], picture["cpu_workers"],
                values["num_vertices"], values["num_edges"], picture["loading"],
                picture["waiting"],
            )
        )  # fmt: skip
        if len(self.samples) > _MOST:
            del self.samples[1:-_RECENT:2]
        # Each message has the newest result of each name, of whatever batch.
        for name, found in picture["findings"].items():
            of_name = self.results.setdefault(name, {})
            of_name[found["batch"]] = found
            if len(of_name) > _RESULTS:
                del of_name[min(of_name)]

    @property
    def is_over(self) -> bool:
        """Whether the run has come to its end, well or not."""
        return self.newest["stage"] in ENDED

    @property
    def silent_seconds(self) -> float | None:
        """Seconds since the last word of a run that goes on; None: it was a moment ago."""
        seconds = time.monotonic() - self._heard
        return None if self.is_over or seconds < _SILENT_SECONDS else seconds

    # -- now

    def _now(self) -> tuple[Sample, Sample] | None:
        """Two samples between which is what happens now; None: there is nothing to compare."""
        if not self.samples:
            return None
        before = newest = self.samples[-1]
        for each in reversed(self.samples[:-1]):
            if each.recoveries != newest.recoveries:
                break
            before = each
            is_long = newest.seconds - before.seconds >= _NOW_SECONDS
            if is_long and newest.batches - before.batches >= _NOW_BATCHES:
                break
        return (before, newest) if newest.seconds > before.seconds else None

    def busy(self) -> dict[str, float]:
        """Part -> share of the time now for which it is busy (`busy.py`); empty: not known."""
        now = self._now()
        if now is None or now[1].cpu_workers < 1:
            return {}
        before, newest = now
        spent = _between(before, newest)
        return busy_shares(spent, newest.seconds - before.seconds, newest.cpu_workers)

    def limit(self) -> tuple[str | None, str]:
        """The part that limits the run now, if one does; and what CPU workers do most."""
        busy, now = self.busy(), self._now()
        if not busy or now is None:
            return None, ""
        return busiest(busy), largest_stage(_between(*now))

    def rows_per_second(self) -> float:
        """Rows applied a second, now."""
        now = self._now()
        if now is None:
            return 0.0
        before, newest = now
        return (newest.rows - before.rows) / (newest.seconds - before.seconds)

    def over_batches(self, analytic: str, value: str) -> tuple[list[int], list[float]]:
        """Batches, and the values of this name of the first result of an analytic that has some."""
        for of_name in self.results.values():
            found = {
                at: each[value]
                for at, each in of_name.items()
                if each["analytic"] == analytic and each.get(value) is not None
            }
            if found:
                batches = sorted(found)
                return batches, [float(found[batch]) for batch in batches]
        return [], []


def _between(before: Sample, after: Sample) -> dict[str, float]:
    """Seconds spent between two samples of one life of the graph."""
    return {name: after.spent[name] - before.spent.get(name, 0.0) for name in after.spent}


def series(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """Columns over time, of equal length.

    ``seconds`` since the first sample; ``rate``: rows a second since the point before;
    ``vertices``, ``edges``; ``loading``, ``waiting``: batches; for each stage the mean seconds of a
    batch, of the newest that are timed. NaN where a graph was lost in between, or no batch was
    applied; but a pause is a rate of 0.
    """
    names = ("seconds", "rate", *_STATES, *STAGES)
    columns: dict[str, list[float]] = {name: [] for name in names}
    for before, each in _points(samples):
        columns["seconds"].append(each.seconds - samples[0].seconds)
        for name in _STATES:
            columns[name].append(getattr(each, name))
        seconds = 0.0 if before is None else each.seconds - before.seconds
        if before is None or before.recoveries != each.recoveries or seconds <= 0:
            for name in ("rate", *STAGES):
                columns[name].append(math.nan)
            continue
        has_batches = each.batches > before.batches
        is_rate = has_batches or _is_pause(before, each)
        columns["rate"].append((each.rows - before.rows) / seconds if is_rate else math.nan)
        spent, timed = _between(before, each), each.timed - before.timed
        for stage in STAGES:
            column = columns[stage]
            if timed:
                column.append(spent.get(stage, 0.0) / timed)
            else:
                # Batches that were applied are not timed yet.
                column.append(column[-1] if has_batches else math.nan)
    return columns


def _points(samples: Sequence[Sample]) -> Iterator[tuple[Sample | None, Sample]]:
    """Samples that are drawn, each with the one before: where something happened, and pauses.

    A batch may take longer than the time between two samples: the rate between them would be 0.
    """
    before: Sample | None = None
    for each in samples:
        is_news = before is None or (each.batches, each.recoveries) != (
            before.batches,
            before.recoveries,
        )
        is_pause = before is not None and _is_pause(before, each)
        if is_news or is_pause or each is samples[-1]:
            yield before, each
            before = each


def _is_pause(before: Sample, after: Sample) -> bool:
    """Whether nothing was to be done for long: no batch is read, and none waits or is applied."""
    is_idle = after.loading + after.waiting == 0
    return is_idle and after.seconds - before.seconds >= _PAUSE_SECONDS
