"""docs/architecture.md lists the functions that one batch enters; both engines are traced."""

import gc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from numba.core.registry import CPUDispatcher

import graphtide
from emulated_device import EmulatedDevice
from graphtide import DynamicGraph, UpdateBatch

ROOT = Path(graphtide.__file__).parent
PAGE = ROOT / "docs" / "architecture.md"


def listed(engine: str) -> list[tuple[str, str]]:
    """(file, function) of each line of the block ``trace ENGINE``."""
    block = re.search(rf"```trace {engine}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert block is not None
    return [(file, function) for file, function in map(str.split, block[1].splitlines())]


def entered(call: Callable[[], object]) -> list[tuple[str, str]]:
    """(file, function) of the package's functions that a call enters, in order."""
    seen = []

    def note(code: CodeType, _: object = None) -> None:
        path = Path(code.co_filename)
        if path.is_relative_to(ROOT):
            seen.append((path.relative_to(ROOT).as_posix(), code.co_qualname))

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            note(frame.f_code)

    if sys.version_info < (3, 12):
        sys.setprofile(note_call)
        try:
            call()
        finally:
            sys.setprofile(None)
        return seen
    # Since then compiled functions tell tools that monitor alone, and only if they are told to:
    # by this or by NUMBA_ENABLE_SYS_MONITORING. What was imported first is frozen (`conftest.py`),
    # and no longer among the collector's objects.
    gc.unfreeze()
    for function in gc.get_objects():
        if isinstance(function, CPUDispatcher):
            function._enable_sysmon = True
    events, tool = sys.monitoring, sys.monitoring.PROFILER_ID
    events.use_tool_id(tool, "path of a batch")
    events.register_callback(tool, events.events.PY_START, note)
    events.set_events(tool, events.events.PY_START)
    try:
        call()
    finally:
        events.set_events(tool, events.events.NO_EVENTS)
        events.free_tool_id(tool)
    return seen


@pytest.mark.parametrize("engine", ["host", "cuda"])
def test_a_batch_takes_the_path_that_the_page_shows(
    engine: str, emulated_device: EmulatedDevice
) -> None:
    random = np.random.default_rng(1)

    def batch(op: list[int], vertices: int) -> UpdateBatch:
        src, dst = random.integers(0, vertices, (2, 600))
        return UpdateBatch.from_rows(src=src, dst=dst, op=random.choice(op, 600).astype(np.int8))

    graph = DynamicGraph(engine=engine)  # type: ignore[arg-type]
    # Twice what is traced, so that nothing compiles meanwhile.
    for _ in range(2):
        graph.apply(batch([1], 300))
        graph.apply(batch([1, -1], 400 if engine == "host" else 300))
    traced = batch([1, -1], 500 if engine == "host" else 300)
    found = iter(entered(lambda: graph.apply(traced)))
    path = listed(engine)
    # A search in an iterator goes on where the one before ended: the order counts.
    assert [step for step in path if step not in found] == []
    assert len(path) <= 15
    assert len({Path(file).parent for file, _ in path}) <= 6
