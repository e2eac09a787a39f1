"""Commands in processes of their own that begin with all imported, so that one takes a moment.

A `Forker` starts one process that imports graphtide, starts no thread, and forks a child for each
job: a command line, or a function of the package ``torture``. The child leads a session of its own
and ends as any process does, so that all that it has started is found by its session.
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

#: Folder of this package and of the helpers that it takes.
_TESTS = Path(__file__).resolve().parents[1]

_PROGRAM = f"""
import sys
sys.path[:0] = [{str(_TESTS)!r}, {str(_TESTS / "helpers")!r}]
from torture.forked import serve
serve()
"""

#: So that nothing that is imported starts a thread: the process is forked.
_ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}

#: Lines of progress, of commands that take longer than 10 s.
PROGRESS = re.compile(r"^\d\d:\d\d:\d\d  .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    #: Exit status; negative: the signal.
    status: int
    stdout: str
    stderr: str
    seconds: float


class TooLongError(Exception):
    """A job did not end in time; it was killed, with all that it had started."""


class Job:
    """A job that goes on; made by `Forker`."""

    def __init__(self, forker: "Forker", folder: Path, pid: int) -> None:
        self.pid = pid
        self._forker, self._folder = forker, folder
        self._started = time.monotonic()

    def wait(self, seconds: float) -> Ended:
        """Wait for its end, so long at most."""
        status = self._forker.ending(seconds)
        if status is None:
            kill_session(self.pid)
            self._forker.ending(60)
            msg = f"it did not end within {seconds:.0f} s"
            raise TooLongError(f"{msg}; stderr so far: {self._text('stderr')[-2000:]!r}")
        taken = time.monotonic() - self._started
        stderr = PROGRESS.sub("", self._text("stderr"))
        return Ended(status, self._text("stdout"), stderr, taken)

    def _text(self, name: str) -> str:
        return (self._folder / name).read_text(errors="replace")


class Forker:
    """The process that jobs are forked from; one job at a time.

    Parameters
    ----------
    folder
        For what the jobs print; it must be there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: Whether a job's end has not been heard of yet.
        self._is_busy = False
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**_without_dask(os.environ), **_ONE_THREAD, "COLUMNS": "80"},
        )
        self._read = b""

    def close(self) -> None:
        """End the process, and a job that goes on."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def command(self, *words: object, cwd: Path, fault: dict[str, Any] | None = None) -> Job:
        """Start ``graphtide WORDS…``, with a fault of `faults.install` in its process."""
        return self._start({"words": list(map(str, words)), "cwd": str(cwd), "fault": fault})

    def call(self, function: str, cwd: Path, **arguments: Any) -> Job:
        """Start ``torture.MODULE.FUNCTION(**arguments)``, named ``MODULE.FUNCTION``."""
        return self._start({"call": function, "cwd": str(cwd), "arguments": arguments})

    def _start(self, job: dict[str, Any]) -> Job:
        assert self._process.stdin is not None
        if self._is_busy:
            # Nobody has waited for the last one, which was killed.
            assert self.ending(60) is not None, "the last job has not ended"
        self._process.stdin.write(json.dumps({**job, "output": str(self._folder)}).encode() + b"\n")
        self._process.stdin.flush()
        answer = self.answer(60)
        assert answer is not None, "the process that jobs are forked from does not answer"
        self._is_busy = True
        return Job(self, self._folder, answer["pid"])

    def ending(self, seconds: float) -> int | None:
        """Exit status of the job; None where it does not end in time."""
        answer = self.answer(seconds)
        self._is_busy = answer is None
        return None if answer is None else answer["status"]

    def answer(self, seconds: float) -> dict[str, int] | None:
        """The next line of the process; None where none comes in time."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._read:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            assert read, "the process that jobs are forked from has died"
            self._read += read
        line, _, self._read = self._read.partition(b"\n")
        answer: dict[str, int] = json.loads(line)
        return answer


def _without_dask(environment: Any) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("DASK_")}


def serve() -> None:
    """Fork a child for each line of standard input; in a child, do the job and return."""
    for name in _IMPORTED:
        import_module(name)
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _do(job)
            return
        _say(pid=pid)
        _say(status=os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


_IMPORTED = (
    "graphtide.flows.start",
    "graphtide.flows.cli",
    "graphtide.flows.commands.run",
    "graphtide.flows.commands.status",
    "graphtide.flows.printing.summary",
    "graphtide.flows.printing.run_reports",
    "graphtide.flows.commands.verify",
    "graphtide.flows.commands.export",
    "graphtide.pipeline.ingest",
    "graphtide.pipeline.tasks",
    # What these import when it is needed.
    "jsonschema",
    "pandas",
    "pyarrow.dataset",
    "pyarrow.pandas_compat",
    "torture.alone",
    "torture.faults",
    "torture.fuzz",
)


def _say(**values: int) -> None:
    os.write(1, json.dumps(values).encode() + b"\n")


def _do(job: dict[str, Any]) -> None:
    """Become the job's process."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["cwd"])
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    paths = ("/dev/null", f"{job['output']}/stdout", f"{job['output']}/stderr")
    for number, path in enumerate(paths):
        descriptor = os.open(path, flags if number else os.O_RDONLY)
        os.dup2(descriptor, number)
        os.close(descriptor)
    if "call" in job:
        module, _, name = job["call"].rpartition(".")
        getattr(import_module(f"torture.{module}"), name)(**job["arguments"])
        return
    sys.argv = ["graphtide", *job["words"]]
    from graphtide.flows.start import main
    from torture import faults

    if job["fault"] is not None:
        faults.install(job["fault"])
    main()


def session_of(leader: int) -> list[int]:
    """Processes of a session that have not ended, its leader among them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            fields = _stat(int(folder.name))
            if fields is not None and int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(folder.name))
    return sorted(found)


def parent_of(pid: int) -> int | None:
    """The parent of a process; None where it has ended."""
    fields = _stat(pid)
    return None if fields is None else int(fields[1])


def kill_session(leader: int) -> None:
    """Kill all processes of a session that a job leads."""
    for pid in session_of(leader):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _stat(pid: int) -> list[str] | None:
    """State, parent, group, session and more of a process; None where it is gone."""
    try:
        # The name in parentheses may hold anything.
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
