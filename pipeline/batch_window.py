"""Default batch size and window: rows a batch, and batches in flight.

What an engine is fastest with, as measured: see docs/benchmarks.md.
"""

from ..config.settings import RunSettings
from .workers.local_cluster import uses_gpu
from .workers.roles import Roles

#: Rows a batch, at most.
HOST_BATCH_ROWS = 1_000_000
CUDA_BATCH_ROWS = 4_000_000
#: The same where a GPU converts: a batch costs the graph worker some 3 ms of messages besides.
RAW_BATCH_ROWS = 8_000_000

#: Batches for each task that CPU workers perform at once: one is read, and another is there when
#: that is done.
_LOADS_A_TASK = 2
#: Batches for each CPU worker that are being read, or wait for those before them to be applied; and
#: where a GPU converts, which they seldom wait for. Its batches are large: to lock twice as much
#: memory for them took 2.5 s.
_WINDOW_A_WORKER = 4
_RAW_WINDOW_A_WORKER = 2


def is_raw(settings: RunSettings) -> bool:
    """Whether rows go to a GPU as they are: not if this machine, where the graph is, has none."""
    return settings.convert == "gpu" and (settings.scheduler is not None or uses_gpu(settings))


def batch_rows(settings: RunSettings) -> int:
    """Rows of a batch, at most."""
    if settings.batch_rows is not None:
        return settings.batch_rows
    if not uses_gpu(settings):
        return HOST_BATCH_ROWS
    return RAW_BATCH_ROWS if is_raw(settings) else CUDA_BATCH_ROWS


def window_size(settings: RunSettings, roles: Roles) -> int:
    """Batches that may be asked for beyond those applied."""
    if settings.window is not None:
        return settings.window
    each = _RAW_WINDOW_A_WORKER if is_raw(settings) else _WINDOW_A_WORKER
    return each * roles.cpu_workers + 2


def max_loads(roles: Roles) -> int:
    """Batches that may be loaded at once."""
    return _LOADS_A_TASK * roles.cpu_tasks
