"""Bounds the memory that Dask's spans of a run take on the scheduler.

Dask deletes a task group that has no task any more, and makes another one of its name for the next
task; but the span that both belong to (``distributed/spans.py``) holds each of them, and a record
of each submission, for as long as the scheduler is there. A run that follows a log would leave 5 kB
with each file. So groups that are gone are added up, one for each name.

Not here: what belongs to the span of a run (``pipeline/graph_client/in_flight.py``).
"""

from collections.abc import Mapping
from typing import Any

from distributed import Scheduler, SchedulerPlugin
from distributed.scheduler import TaskGroup
from distributed.spans import Span
from tornado.ioloop import PeriodicCallback

#: Name that the spans of runs begin with.
SPAN = "graphtide"

_INTERVAL_MILLISECONDS = 10_000


class SpanGroups(SchedulerPlugin):
    """Adds groups that are gone up, now and then."""

    name = "graphtide-spans"
    #: A second run on the scheduler finds that of the first.
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        """Begin; the thread is that of the scheduler."""
        self._scheduler = scheduler
        self._callback = PeriodicCallback(self.add_up, _INTERVAL_MILLISECONDS)
        self._callback.start()

    async def close(self) -> None:
        """Stop."""
        self._callback.stop()

    def add_up(self) -> None:
        """Leave one group of each name in spans of runs, beside those that have tasks.

        What is read has no public name. Where a Dask keeps spans otherwise, they grow as it lets
        them: a scheduler of others is not to log an error of ours again and again.
        """
        try:
            self._add_up()
        except (AttributeError, LookupError):
            self._callback.stop()

    def _add_up(self) -> None:
        for span in self._scheduler.extensions["spans"].spans_search_by_tag[SPAN]:
            _add_up_groups(span, self._scheduler.task_groups)
            if span._metadata is not None:
                kinds: list[dict[str, Any]] = []
                for each in span._metadata["collections"]:
                    if each not in kinds:
                        kinds.append(each)
                span._metadata["collections"] = kinds


def _add_up_groups(span: Span, living: Mapping[str, TaskGroup]) -> None:
    sums: dict[str, TaskGroup] = {}
    for group in [each for each in span.groups if living.get(each.name) is not each]:
        sum_ = sums.setdefault(group.name, group)
        group.dependencies.clear()
        if sum_ is group:
            continue
        for state, count in group.states.items():
            sum_.states[state] += count
        for action, duration in group._all_durations_us.items():
            sum_._all_durations_us[action] += duration
        for kind, count in group._types.items():
            sum_._types[kind] += count
        sum_._duration_us += group._duration_us
        sum_._size += group._size
        sum_.nbytes_total += group.nbytes_total
        # 0: nothing was computed.
        sum_.start = min(filter(None, (sum_.start, group.start)), default=0.0)
        sum_.stop = max(sum_.stop, group.stop)
        span.groups.remove(group)
