"""A function that several processes compile at the same time, and what each of them saw."""

import os
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event

from graphtide.gpu_core.jit import shared_cache
from graphtide.gpu_core.jit.compile import compiled


def total(values: Any, times: int) -> Any:
    """Sum, ``times`` over."""
    result = values.dtype.type(0)
    for _ in range(times):
        for value in values:
            result += value
    return result


class _Compiles(event.Listener):
    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"].py_func is total:
            self.count += 1

    def on_end(self, event: Any) -> None:
        pass


def _compiled_in(folder: Path) -> Any:
    numba.config.CACHE_DIR = str(folder)
    # On a busy machine the others may take longer than users are to wait.
    shared_cache._MOST_SECONDS = 1000.0  # type: ignore[misc]
    return compiled(total)


def compile_and_call(folder: Path, names: list[str], gate: Path) -> tuple[int, list[float]]:
    """Wait for the gate to be opened; compiles seen, and a sum for each of the types."""
    function = _compiled_in(folder)
    listener = _Compiles()
    event.register("numba:compile", listener)
    (folder / f"ready-{os.getpid()}").touch()
    parent = os.getppid()
    while not gate.exists():
        # Killed tests leave nobody who would open it.
        assert os.getppid() == parent
    sums = [float(function(np.arange(5, dtype=name), 2)) for name in names]
    event.unregister("numba:compile", listener)
    return listener.count, sums


def fail_and_call(folder: Path) -> str:
    """Ask for a signature that cannot be compiled, twice."""
    function = _compiled_in(folder)
    told = ""
    for _ in range(2):
        try:
            function("no array", 1)
        except numba.TypingError as error:
            told = type(error).__name__
    return told
