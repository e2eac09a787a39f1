"""Live status of a run: ``STATE/running.json``, for ``graphtide status``.

The run writes it every few seconds and removes it at its end. It is read without a lock, and
believed only while the process that wrote it is there: a run that was killed leaves its last words.
It is renamed into place, but not brought to the disk: after a power cut it is not believed.
"""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..durable import TEMPORARY
from ..hashed_json import DamagedJsonError, json_text, read_json
from ..process_identity import process_identity

_NAME = "running.json"

#: Seconds between two writings.
_INTERVAL_SECONDS = 2.0


class RunningFile:
    """The file of one run.

    Parameters
    ----------
    state
        Folder of the state, which the run has locked.
    """

    def __init__(self, state: Path) -> None:
        self._path = state / _NAME
        self._process = process_identity(os.getpid())
        self._started = time.time()
        self._due = float("-inf")

    @property
    def is_due(self) -> bool:
        """Whether it is time to publish again."""
        return time.monotonic() >= self._due

    def publish(self, values: Mapping[str, Any], *, at_once: bool = False) -> None:
        """Write these values, unless others were written a moment ago or it is to be ``at_once``.

        A disk that is full ends a run where it keeps something, not here.
        """
        now = time.monotonic()
        if now < self._due and not at_once:
            return
        self._due = now + _INTERVAL_SECONDS
        times = {"started": self._started, "written": time.time()}
        temporary = self._path.with_name(_NAME + TEMPORARY)
        with suppress(OSError):
            temporary.write_text(json_text({**self._process, **times, **values}), encoding="utf-8")
            os.replace(temporary, self._path)

    def remove(self) -> None:
        """Take it away: the run ends."""
        self._path.unlink(missing_ok=True)
        self._path.with_name(_NAME + TEMPORARY).unlink(missing_ok=True)


def read_running(state: Path) -> dict[str, Any] | None:
    """Progress of the run of a state; None where none goes on, or none was published.

    Has ``started`` and ``written`` in seconds since 1970, and the values of `RunningFile.publish`.
    """
    try:
        values = read_json(state / _NAME, must_have_hash=True)
        writer = {name: values.pop(name) for name in ("pid", "start", "boot")}
    except (FileNotFoundError, DamagedJsonError, KeyError):
        return None
    is_there = bool(writer["start"]) and process_identity(writer["pid"]) == writer
    return values if is_there else None
