"""A state directory without a run, and what is in its files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from graphtide.io.log.log_listing import LogFile
from graphtide.io.log.plan import BatchPlan
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.plan_files import write_plan
from graphtide.io.state.state_settings import StateSettings

#: What defines the graph of the state.
IDENTITY: dict[str, Any] = {
    "directed": True,
    "records": "simple",
    "weights": "float32",
    "ids": "any",
    "reverse": True,
    "self_loops": "drop",
    "create_vertices": True,
    "on_repeat": "last",
    "properties": {},
    "vertex_properties": {},
    "time_window": None,
}


def made(
    path: Path, *, is_moved_log: bool = False, may_add_words: bool = False, **changes: Any
) -> StateDirectory:
    """A state of IDENTITY at path, or of other settings."""
    state = StateDirectory(path)
    settings = replace(StateSettings(IDENTITY, "/log", columns={}, time_unit=None), **changes)
    with state.lock():
        state.create_or_open(settings, is_moved_log=is_moved_log, may_add_words=may_add_words)
    return state


def contents(path: Path) -> dict[str, bytes]:
    """Files of a folder, by their paths in it."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.*")}


def with_a_plan(path: Path) -> StateDirectory:
    """A state with a plan of two parts."""
    state = made(path)
    files = [LogFile("a", 1, "f", 10, (10,)), LogFile("b", 1, "g", 5, (5,))]
    plan = BatchPlan().extended(files[:1], 3)
    write_plan(state, plan)
    write_plan(state, plan.extended(files, 3))
    return state
