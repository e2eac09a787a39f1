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
``cores``        the mean of this machine's cores, at work for any process; known where all
                 workers are on it
===============  ==================================================================================

What is busiest is the limit, if it is busy enough to be what all others wait for. Batches that wait
half of the time say by themselves what for. Where all cores are at work, more CPU workers win
nothing, and a part that seems to have time left has none.
"""

from collections.abc import Mapping

import psutil
from dask.system import CPU_COUNT

#: A busy share from which on a part counts as the limit, and one of what batches wait for.
FULL = 0.85
WAITED_FOR = 0.5

#: Stage of a batch on a CPU worker -> its name in prose.
LOAD_STAGES: Mapping[str, str] = {
    "read": "reading",
    "convert": "conversion",
    "transfer": "hand-over",
}

#: Parts whose seconds are reported under another name than their own.
_SECONDS_OF: Mapping[str, str] = {
    "graph": "apply",
    "client": "client",
    "analytics": "analytics",
    "disk": "disk",
    "cores": "cores",
}


def busy_shares(seconds: Mapping[str, float], span: float, cpu_workers: int) -> dict[str, float]:
    """Share of ``span`` seconds for which each part was busy.

    Parameters
    ----------
    seconds
        Seconds by stage (`gpu_core.report.STAGES`), and those of ``client``, ``analytics``,
        ``disk`` and ``cores``, as far as they are known: all within the span.
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
    cores = full.pop("cores", None)
    part = max(full, key=lambda part: full[part]) if full else None
    return "cores" if cores is not None and part in (None, "CPU workers") else part


def core_seconds() -> float | None:
    """Seconds for which a core of this machine was at work since it began, in the mean.

    None: this process may use a part of them only, of which nothing is known.
    """
    cores = psutil.cpu_count()
    if cores is None or cores != CPU_COUNT:
        return None
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # Time of guests is in that of their users already.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return float(sum(times) - guests - idle) / cores


def largest_stage(seconds: Mapping[str, float]) -> str:
    """The stage that CPU workers spend most time in, in prose."""
    return LOAD_STAGES[max(LOAD_STAGES, key=lambda stage: seconds.get(stage, 0.0))]
