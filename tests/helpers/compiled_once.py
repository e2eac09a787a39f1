"""A function that several processes compile at the same time, and what each of them saw."""

import os
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event

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


def compile_and_call(folder: Path, names: list[str], gate: Path) -> tuple[int, list[float]]:
    """Wait for the gate to be opened; compiles seen, and a sum for each of the types."""
    numba.config.CACHE_DIR = str(folder)
    function = compiled(total)
    listener = _Compiles()
    event.register("numba:compile", listener)
    (folder / f"ready-{os.getpid()}").touch()
    while not gate.exists():
        pass
    sums = [float(function(np.arange(5, dtype=name), 2)) for name in names]
    event.unregister("numba:compile", listener)
    return listener.count, sums


def fail_and_call(folder: Path) -> str:
    """Ask for a signature that cannot be compiled, twice."""
    numba.config.CACHE_DIR = str(folder)
    function = compiled(total)
    told = ""
    for _ in range(2):
        try:
            function("no array", 1)
        except numba.TypingError as error:
            told = type(error).__name__
    return told
