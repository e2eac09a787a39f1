"""The client dies before one of its operations on files, and sometimes the power fails with it.

==============  =================================================================================
begins as       what there is when the run begins that dies
==============  =================================================================================
``fresh``       no state
``half-way``    a state of the first files, and more of the log
``grown``       a state of all files but the last
``double``      a state that a run has left that died as well
``mended``      the same, and the last file was mended if nothing of it is applied
==============  =================================================================================

Afterwards a run must come to what the undisturbed one comes to. Before it, now and then, ``status``
must make sense of what is there.
"""

import random
import shutil
from typing import Any

from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory

from .cases import Bench, Failure
from .faults import CRASHED
from .logs import BATCH_ROWS, FILES, MENDED, ROWS, Kind

_BEGINNINGS = {"fresh": 0, "half-way": FILES // 2, "grown": FILES - 1, "double": 0, "mended": 2}

#: First batch of the last file.
_LAST_FILE = (FILES - 1) * ROWS // BATCH_ROWS


def case(bench: Bench, seed: int) -> str:
    """Crash once or twice; gives what was tried."""
    draw = random.Random(seed)
    kind, beginning = bench.any_kind(draw), draw.choice(sorted(_BEGINNINGS))
    fault = draw.choice(["crash", "power"])
    bench.begin()
    bench.give(kind, _BEGINNINGS[beginning])
    operations = _operations(bench, kind, _BEGINNINGS[beginning])
    last = None
    _crash(bench, kind, fault, draw, operations)
    if beginning in ("double", "mended"):
        if beginning == "mended" and _applied(bench) <= _LAST_FILE:
            last = draw.choice(sorted(MENDED))
            bench.mend(kind, last)
        _crash(bench, kind, draw.choice(["crash", "power"]), draw, operations)
    if draw.random() < 0.2:
        _ask(bench)
    tried = f"{beginning}, {fault}"
    bench.must_end_well(kind, last, f"{tried}, {kind.name}, last file {last}")
    return tried


def _crash(bench: Bench, kind: Kind, name: str, draw: random.Random, operations: int) -> None:
    fault: dict[str, Any] = {
        "kind": name, "paths": [str(bench.state)], "at": draw.randrange(operations),
        "seed": draw.random(),
    }  # fmt: skip
    done = bench.command(*bench.words(kind), fault=fault)
    # It may have had less to do than the run whose operations were counted.
    if done.status not in (0, CRASHED):
        raise Failure(f"operation {fault['at']}, {name}: {done.status}, {done.stderr[-2000:]}")
    if name == "power" and done.status == CRASHED:
        shutil.rmtree(bench.state, ignore_errors=True)  # it may not be there yet
        if bench.folder.joinpath("after").exists():
            bench.folder.joinpath("after").rename(bench.state)
    shutil.rmtree(bench.folder / "state.kept", ignore_errors=True)


def _operations(bench: Bench, kind: Kind, files: int) -> int:
    """How many operations the undisturbed run has from there on."""

    def count() -> int:
        file = bench.folder.parent / "count"
        words = bench.words(kind)
        fault = {"kind": "count", "paths": [str(bench.state)], "file": str(file)}
        done = bench.command(*words, fault=fault)
        if done.status:
            raise Failure(f"undisturbed, and yet: {done.stderr}")
        bench.begin()
        bench.give(kind, files)
        return int(file.read_text())

    return bench.remembered(("operations", kind.name, files), count)


def _applied(bench: Bench) -> int:
    if not bench.state.exists():
        return 0
    newest = newest_checkpoint(StateDirectory(bench.state))
    return newest.boundary if newest else 0


def _ask(bench: Bench) -> None:
    there = StateDirectory(bench.state).exists()
    done = bench.command("status", "state")
    if there and done.status == 0 and not done.stderr:
        return
    if there:
        raise Failure(f"status after the crash: {done.status}, {done.stderr[-2000:]}")
    bench.must_be_refused(done, "status after the crash")
