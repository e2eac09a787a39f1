"""Check that a user's cluster, scheduler and workers, has the same graphtide as this process.

Not here: how they are asked (``cluster.py``).
"""

import time
from collections.abc import Callable, Mapping
from importlib import metadata
from importlib.metadata import version
from math import inf
from typing import NoReturn

from ...gpu_core.errors import ClusterError

#: Seconds until a worker that went away meanwhile is asked again.
_ASK_AGAIN_SECONDS = 0.2


def check_versions(ask: Callable[[], Mapping[str, object]], timeout_seconds: float) -> None:
    """Refuse workers that have another graphtide than this process, or none.

    One that goes away meanwhile is passed over, and its successor asked, where one comes soon.

    Parameters
    ----------
    ask
        Gives the version that each worker has by its address, or why it does not say.
    timeout_seconds
        How long a successor may take to come. It counts from the first answer that is missing:
        that of a worker that is stopped takes as long as Dask needs to give it up.

    Raises
    ------
    ClusterError
        One has another graphtide, or none, or is there and does not say.
    """
    ours = version("graphtide")
    deadline = inf
    unanswered: set[str] = set()
    while True:
        answers = ask()
        for address, answer in sorted(answers.items()):
            if not isinstance(answer, OSError):
                _refuse_version(f"worker {address}", answer, ours)
        before = unanswered
        unanswered = {at for at, answer in answers.items() if isinstance(answer, OSError)}
        if not unanswered:
            return
        deadline = min(deadline, time.monotonic() + timeout_seconds)
        if before and time.monotonic() > deadline:
            # Those that were not asked before are just going away.
            for address in sorted(unanswered & before):
                _refuse_unreachable(address, answers[address])
            return
        time.sleep(_ASK_AGAIN_SECONDS)


def check_scheduler_version(address: str, answer: object) -> None:
    """Refuse a scheduler that has another graphtide than this process, or none.

    It unpickles the tasks that it passes on, and fails each one whose functions it does not find.

    Raises
    ------
    ClusterError
        It has another one, or none, or does not say.
    """
    _refuse_version(f"the scheduler {address}", answer, version("graphtide"))


def _refuse_version(which: str, answer: object, ours: str) -> None:
    if answer == ours:
        return
    if isinstance(answer, metadata.PackageNotFoundError):
        found = "has no graphtide"
    elif isinstance(answer, BaseException):
        found = f"does not say which graphtide it has ({answer!r})"
    else:
        found = f"has graphtide {answer}"
    msg = f"{which} {found}, this process has {ours}; install {ours} on scheduler and all workers"
    raise ClusterError(msg)


def _refuse_unreachable(address: str, answer: object) -> NoReturn:
    msg = (
        f"worker {address} of the cluster cannot be asked which graphtide it has ({answer}); look "
        f"whether it runs, end it if not, and run again"
    )
    raise ClusterError(msg)
