"""Limits of a run as they are reported: use of a resource now, and as expected.

Not here: where the figures come from (``limit_watch.py``), and what is said of them
(``flows/printing/limits.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Share of a limit beyond which a run is on the edge of it.
EDGE = 0.9


@dataclass(frozen=True)
class Limit:
    """Use of one resource, and its limit."""

    #: ``arena``, ``memory`` of the graph worker's machine, or ``disk`` of the state.
    resource: str
    #: Bytes in use, by the graph or since the run began; and bytes that can be.
    used_bytes: int
    most_bytes: int
    #: Bytes that will be in use at the end of the log, likely and at most.
    likely_bytes: int
    at_most_bytes: int
    #: Batch in which the limit is reached, by the trend; None: not before the end of the log.
    full_at_batch: int | None = None

    @property
    def is_on_edge(self) -> bool:
        """Whether a tenth or less is left."""
        return self.used_bytes >= EDGE * self.most_bytes

    @property
    def is_likely_short(self) -> bool:
        """Whether the log likely needs more than there is."""
        return self.likely_bytes > self.most_bytes


def reported_limits(values: Mapping[str, Any]) -> tuple[Limit, ...]:
    """The limits among the values that a run publishes (`Progress.values`)."""
    return tuple(Limit(**each) for each in values.get("limits", ()))
