"""What one process does alone, without a cluster, dies half-way, or finds a damaged file.

=============  ===================================================================================
point          what happens
=============  ===================================================================================
``death``      the process dies before one of its operations on files, once or twice; in half of the
               cases the power fails with it. What is read then is the old or the new, the step is
               done again, and all is as if nothing had happened: state, log, what was written
``damage``     a file of state or log is damaged, and a run goes on with it. It ends as the
               undisturbed one, or is refused with the state untouched; so it ends once the file is
               put back. What a run does not need may stay damaged where ``status`` names it
=============  ===================================================================================

All kinds of logs and states take part, and all steps that write (``scenes.py``). Dozens of points
take a process of their own together, and each of its steps a child of that.
"""

import contextlib
import hashlib
import io
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

from graphtide.flows.cli import main
from graphtide.gpu_core.errors import GraphtideError

from . import faults
from .cases import Bench, Failure
from .damage import DAMAGES, OTHER_LOGS
from .logs import FILES
from .outcomes import files_of
from .scenes import SCENES, Stage

#: Points of one call of `case`, unless the command line says otherwise: the more, the cheaper, as
#: what points with a scene and a step have in common is made once.
POINTS = 50

#: Seconds that the points of a call may take, for each of them.
_POINT_SECONDS = 12

#: Seconds after which a step has waited for something, and is ended.
_STEP_SECONDS = 90

#: Exit status of a child that has said what is wrong.
_WRONG = 78

#: What may differ where a file is damaged: the log itself, and checkpoints that were skipped.
_OF_DAMAGE = ("log", "checkpoints")

#: What a step begins with; what was left of the power cut.
_NOW, _AFTER, _KEPT = Path("now"), Path("after"), Path("now.kept")

#: File with the counts of what was tried.
_TRIED = "tried.json"


def case(bench: Bench, seed: int, count: int = POINTS) -> dict[str, int]:
    """Try so many points; gives what was tried, and how often."""
    return points(bench, range(seed * count, (seed + 1) * count))


def points(bench: Bench, numbers: Collection[int]) -> dict[str, int]:
    """Try points in one process; gives what was tried, and how often."""
    bench.begin()
    job = bench.forker.call("alone.try_points", bench.folder, numbers=list(numbers))
    done = bench.ended(job, 120 + _POINT_SECONDS * len(numbers))
    if done.status:
        raise Failure(f"the process ended with {done.status}, {done.stderr[-2000:]}")
    tried: dict[str, int] = json.loads((bench.folder / _TRIED).read_text())
    if done.stdout:
        raise Failure(f"{done.stdout}tried: {tried}")
    return tried


def try_points(numbers: Iterable[int]) -> None:
    """Try points in this process and folder; prints what went wrong, writes what was tried."""
    tried: dict[str, int] = {}
    for number in numbers:
        draw = random.Random(number)
        kind, name = draw.choice(sorted(_POINTS)), draw.choice(sorted(SCENES))
        step = draw.choice(SCENES[name].steps) if kind == "death" else "run"
        files = draw.choice([0, 2, FILES - 1]) if kind == "death" else draw.randrange(1, FILES + 1)
        if step != "run":
            files = FILES
        point = _Point(name, Stage(_NOW, SCENES[name], step, files), draw)
        try:
            _POINTS[kind](point)
        except Failure as failure:
            print(f"point {number} ({point.told}): {failure}", flush=True)
        for what, times in ((f"{kind} in {step}", 1), ("processes died", point.deaths)):
            tried[what] = tried.get(what, 0) + times
    Path(_TRIED).write_text(json.dumps(tried))


class _Point:
    """One step that is disturbed.

    What is the same for all points with a scene and a step is made once, in this folder:
    ``before-…``, what it begins with, ``count-…``, how many operations on files it has, and
    ``wanted-…``, what it comes to.
    """

    def __init__(self, name: str, stage: Stage, draw: random.Random) -> None:
        self._stage, self._draw = stage, draw
        #: How often the process has died; a second time may find less to do than it takes.
        self.deaths = 0
        self.told = f"{name}, {stage.step}, {stage.files} files applied"
        key = hashlib.sha256(self.told.encode()).hexdigest()[:8]
        self._before, self._count, self._wanted = (
            Path(f"{each}-{key}") for each in ("before", "count", "wanted")
        )

    # -- deaths

    def die(self) -> None:
        """Die, see what is there, do it again, and compare."""
        self._prepare()
        operations = int(self._count.read_text())
        for _ in range(self._draw.choice([1, 1, 2])):
            kind, at = self._draw.choice(["crash", "power"]), self._draw.randrange(operations)
            self.told += f", {kind} at {at} of {operations}"
            self._die(kind, at)
            _in_child(self._stage.look, "what is there")
        self._must_end_well("in the end")

    def _die(self, kind: str, at: int) -> None:
        for rest in (_AFTER, _KEPT):
            shutil.rmtree(rest, ignore_errors=True)

        def do() -> None:
            faults.install({"kind": kind, "paths": [str(_NOW)], "at": at, "seed": at})
            self._stage.do()

        has_died = _in_child(do, "dying") == faults.CRASHED
        self.deaths += has_died
        if has_died and kind == "power":
            shutil.rmtree(_NOW)
            _AFTER.rename(_NOW)

    # -- damage

    def damage(self) -> None:
        """Damage a file, run, put it back, and run again."""
        self._prepare()
        place = self._drawn_file()
        is_unread = place.parent == self._stage.log and int(place.name[:4]) >= self._stage.files
        names = [name for name in DAMAGES if not is_unread or name not in OTHER_LOGS]
        name = self._draw.choice(names)
        self.told += f", {place}: {name}"
        original = place.read_bytes()
        damaged = DAMAGES[name](original, place, self._draw)
        place.unlink()
        if damaged is not None:
            place.write_bytes(damaged)
        before = files_of(self._stage.state)
        shutil.rmtree("told", ignore_errors=True)
        _in_child(self._run_on, "damaged")
        told = Path("told").read_text()
        if told.startswith("refused") and not is_unread:
            if files_of(self._stage.state) != before:
                raise Failure(f"{told}, and yet the state was changed")
        elif not told.startswith("refused"):
            found = json.loads(told)
            differs = [each for each in found["outcome"] if self._differs(found["outcome"], each)]
            status = "".join(found["status"].split())
            is_reported = place.name in status or place.parent.name in status
            is_reported = is_reported or "lacksreports" in status
            if differs and not is_reported:
                raise Failure(f"status does not name it, and yet {differs} differ")
            if place.parent == self._stage.log and self._stage.scene.mend:
                return  # left out, to be requeued
        if place.parent.exists():  # else it was of a checkpoint that was released meanwhile
            place.write_bytes(original)
        self._must_end_well("put back", _OF_DAMAGE[1:])

    def _differs(self, found: dict[str, Any], what: str) -> bool:
        wanted: dict[str, Any] = json.loads(self._wanted.read_text())
        return what not in _OF_DAMAGE and found[what] != wanted[what]

    def _run_on(self) -> None:
        """Run, and write down what has come of it."""
        try:
            self._stage.do()
        except GraphtideError as error:
            Path("told").write_text(f"refused: {error}")
            return
        try:
            outcome: dict[str, Any] = self._stage.outcome()
        except GraphtideError as error:
            outcome = {"graph": str(error)}
        status = _status(self._stage.state)
        Path("told").write_text(json.dumps({"outcome": outcome, "status": status}))

    def _drawn_file(self) -> Path:
        """One file; each folder of the state, and a log with checksums, is as likely as others."""
        groups: dict[str, list[Path]] = {}
        for path in sorted(self._stage.state.rglob("*")):
            if path.is_file() and path.name != "lock":
                groups.setdefault(path.relative_to(self._stage.state).parts[0], []).append(path)
        if self._stage.scene.is_checked:
            groups["log"] = sorted(self._stage.log.iterdir())
        return self._draw.choice(groups[self._draw.choice(sorted(groups))])

    # -- both

    def _prepare(self) -> None:
        """Put what the step begins with in place."""
        shutil.rmtree(_NOW, ignore_errors=True)
        if not self._before.exists():
            # In this process: kernels are loaded once, for all children that will be.
            self._stage.begin()
            shutil.copytree(_NOW, self._before)
            _in_child(self._count_operations, "undisturbed")
            self._wanted.write_text(json.dumps(self._stage.do_all()))
            shutil.rmtree(_NOW)
        shutil.copytree(self._before, _NOW)

    def _count_operations(self) -> None:
        fault = {"kind": "count", "paths": [str(_NOW)], "file": str(self._count)}
        operations = faults.install(fault)
        self._stage.do()
        assert operations is not None
        operations.write_count()

    def _must_end_well(self, when: str, but: Collection[str] = ()) -> None:
        found = Path("found")

        def do() -> None:
            found.write_text(json.dumps(self._stage.do_all()))

        _in_child(do, when)
        ours, wanted = json.loads(found.read_text()), json.loads(self._wanted.read_text())
        for what, value in wanted.items():
            if ours[what] != value and what not in but:
                raise Failure(f"{when}: {what} is {ours[what]} rather than {value}")


_POINTS: dict[str, Callable[[_Point], None]] = {"death": _Point.die, "damage": _Point.damage}


def _status(state: Path) -> str:
    """What ``graphtide status`` says, however it ends."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        with contextlib.suppress(SystemExit):
            main(["status", str(state)])
    return said.getvalue()


def _in_child(do: Callable[[], None], when: str) -> int:
    """Run a function in a child, which ends without clean-up; gives its exit status."""
    child = os.fork()
    if child == 0:
        status = _WRONG
        signal.alarm(_STEP_SECONDS)
        try:
            do()
            status = 0
        except BaseException as error:  # whatever it is, the child must not go on
            Path("error").write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == _WRONG:
        raise Failure(f"{when}: {Path('error').read_text()}")
    if status == -signal.SIGALRM:
        raise Failure(f"{when}: it did not end within {_STEP_SECONDS} s")
    if status not in (0, faults.CRASHED):
        raise Failure(f"{when}: the process ended with {status}")
    return status
