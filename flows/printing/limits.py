"""Limits of a run in words: how arena, memory and disk stand, and warnings of those that are short.

A run is warned once of each, when the log likely needs more than there is, and when nine tenths are
in use. It goes on: the estimate may be wrong, others may give room, and a run that does end there
leaves a state from which the same command goes on.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ...gpu_core.printable import amount
from .text import TIED

if TYPE_CHECKING:
    from ...pipeline.monitoring.limits import Limit

#: Resource -> what it is called, and what gives more of it.
_WORDS = {
    "arena": ("the arena", "raise max_arena_bytes (also in the run that goes on from this state)"),
    "memory": (
        "the memory of the graph worker's machine",
        "free memory there, or lower window or batch_rows",
    ),
    "disk": ("the disk of the state", "make room there, or keep fewer checkpoints or results"),
}


class LimitWarnings:
    """Warnings of a run, each given once."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()

    def new(self, limits: "Iterable[Limit]") -> Iterator[tuple[str, str]]:
        """``(resource, sentence)`` of each warning that was not given yet."""
        for limit in limits:
            texts = {}
            if limit.is_on_edge:
                texts["edge"] = edge_text(limit)
            elif limit.is_likely_short:
                texts["short"] = short_text(limit)
            for kind, text in texts.items():
                if (limit.resource, kind) not in self._reported:
                    self._reported.add((limit.resource, kind))
                    yield limit.resource, text


def short_text(limit: "Limit") -> str:
    """That a log likely needs more than there is."""
    name, cure = _WORDS[limit.resource]
    return (
        f"{name} is likely too small for the whole log: that takes some "
        f"{_tied(limit.likely_bytes)}, if its rows are new edges, and {_tied(limit.most_bytes)} "
        f"are there; {cure}"
    )


def edge_text(limit: "Limit") -> str:
    """That a limit is nearly reached."""
    name, cure = _WORDS[limit.resource]
    at = "" if limit.full_at_batch is None else f", and full at about batch {limit.full_at_batch:,}"
    return f"{name} is nearly full: {share_text(limit)}{at}; {cure}"


def share_text(limit: "Limit") -> str:
    """Use of a resource, as text."""
    share = limit.used_bytes / max(limit.most_bytes, 1)
    return f"{_tied(limit.used_bytes)} of {_tied(limit.most_bytes)} ({share:.0%})"


def _tied(size: int) -> str:
    return amount(size).replace(" ", TIED)


def limits_text(limits: "Iterable[Limit]") -> str:
    """All of them, and when which is full."""
    parts = []
    for limit in limits:
        full = limit.full_at_batch
        at = "" if full is None else f", full at about batch{TIED}{full:,}"
        parts.append(f"{limit.resource}{TIED}{share_text(limit)}{at}")
    return "; ".join(parts)
