"""Utilization: the share of a time span in which each part of a run was busy.

One accounting for all who ask: `graphtide bench pipeline`, and the page of the dashboard.

===============  ==================================================================================
part             is busy for
===============  ==================================================================================
``CPU workers``  what reads, conversions and hand-overs of batches took, by the number of workers
``graph``        what applying batches took, on the graph worker's thread
``client``       the processor time of the process that runs the loop (and the scheduler, where
                 both are one process)
``analytics``    the time in which batches waited for results
``disk``         the time in which batches waited for a checkpoint: to be copied or written
===============  ==================================================================================

What is busiest is the limit, if it is busy enough to be what all others wait for. Batches that wait
half of the time say by themselves what for.
"""

from collections.abc import Mapping

#: A busy share from which on a part counts as the limit, and one of what batches wait for.
FULL = 0.85
WAITED_FOR = 0.5

#: Stage of a batch on a CPU worker -> its name in prose.
LOAD_STAGES: Mapping[str, str] = {
    "read": "reading",
    "convert": "conversion",
    "transfer": "hand-over",
}

#: Parts whose seconds are told under another name than their own.
_SECONDS_OF: Mapping[str, str] = {
    "graph": "apply",
    "client": "client",
    "analytics": "analytics",
    "disk": "disk",
}


def busy_shares(seconds: Mapping[str, float], span: float, cpu_workers: int) -> dict[str, float]:
    """Share of ``span`` seconds for which each part was busy.

    Parameters
    ----------
    seconds
        Seconds by stage (`gpu_core.report.STAGES`), and those of ``client``, ``analytics`` and
        ``disk``, as far as they are known: all within the span.
    span
        Seconds, ``> 0``.
    cpu_workers
        CPU workers, ``>= 1``.
    """
    loads = sum(seconds.get(stage, 0.0) for stage in LOAD_STAGES)
    others = {part: seconds[name] / span for part, name in _SECONDS_OF.items() if name in seconds}
    return {"CPU workers": loads / (cpu_workers * span), **others}


def busiest(shares: Mapping[str, float]) -> str | None:
    """The part that limits a run; None where none is busy enough."""
    least = {"analytics": WAITED_FOR, "disk": WAITED_FOR}
    full = {part: share for part, share in shares.items() if share >= least.get(part, FULL)}
    return max(full, key=lambda part: full[part]) if full else None


def largest_stage(seconds: Mapping[str, float]) -> str:
    """The stage that CPU workers spend most time in, in prose."""
    return LOAD_STAGES[max(LOAD_STAGES, key=lambda stage: seconds.get(stage, 0.0))]
