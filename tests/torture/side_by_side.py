"""Several processes that try cases, each with a folder, seeds and a report of its own.

All processes of a run of ``python -m torture``, whoever started them, have a word in the
environment that they began with. In the end those that are left are found by it, and killed.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from .forked import parent_of
from .reports import added_up, counts_of, read_report, write_report

_WORD = "GRAPHTIDE_TORTURE"

#: Seconds between two looks at the reports.
_LOOK_SECONDS = 1.0

#: Seconds that the processes have to end their cases when they are told to.
_END_SECONDS = 15.0

#: … and that others have to end once their client or parent has.
_LEAVE_SECONDS = 3.0


def side_by_side(
    jobs: int,
    words: list[str],
    folder: Path,
    names: dict[str, str],
    report: Path,
    first_seed: int | None,
) -> bool:
    """Run so many processes, and keep the sum of their reports; gives whether all ended in order.

    Parameters
    ----------
    jobs
        Their number.
    words
        Of their command line, but seeds, folder and report.
    folder
        Where theirs are made.
    names
        The kinds of cases that they take -> what reports call them.
    report
        What there was before, and what is added to.
    first_seed
        Of each kind; None: the first that the report has not had.
    """
    before = read_report(report)
    seeds = {
        name: counts_of(before, name)["next_seed"] if first_seed is None else first_seed
        for name in names.values()
    }
    reports = [folder / f"report-{number}.json" for number in range(jobs)]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for number, path in enumerate(reports):
            begin = {name: {"next_seed": seed + number} for name, seed in seeds.items()}
            write_report(path, begin)
            own = folder / str(number)
            own.mkdir()
            where = [*words, "--step", str(jobs), "--folder", own, "--report", path]
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "torture", *names, *where],
                    cwd=Path(__file__).parents[1],
                    env={**os.environ, "TMPDIR": str(own)},
                    # Ctrl-C is for this process, which tells the others.
                    start_new_session=True,
                )
            )
        while any(each.poll() is None for each in processes):
            time.sleep(_LOOK_SECONDS)
            write_report(report, added_up([before, *map(read_report, reports)]))
    finally:
        _end(processes)
        write_report(report, added_up([before, *map(read_report, reports)]))
    odd = [each.returncode for each in processes if each.returncode not in (0, 1)]
    if odd:
        print(f"processes that try cases ended with {odd}", flush=True)
    return not odd


def _end(processes: list["subprocess.Popen[bytes]"]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + _END_SECONDS
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        if process.poll() is None:
            process.kill()
            process.wait()


def mark_processes() -> bool:
    """Give all processes that are started from now on a word; False where they have one."""
    if _WORD in os.environ:
        return False
    os.environ[_WORD] = secrets.token_hex(16)
    return True


def end_marked_processes() -> int:
    """Kill the processes that have this one's word, but it and its own; gives how many there were.

    Those that end by themselves have a moment for that.
    """
    word = f"{_WORD}={os.environ[_WORD]}".encode()
    ended: set[int] = set()
    patience = time.monotonic() + _LEAVE_SECONDS
    # One that is killed may have started another one.
    while found := [pid for pid in _others() if _began_with(pid, word)]:
        # Python's trackers end behind all others, and take away what these have left.
        rest = [pid for pid in found if not _is_tracker(pid)]
        if time.monotonic() > patience:
            for pid in rest or found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    ended.add(pid)
            if rest:
                patience = time.monotonic() + _LEAVE_SECONDS
        time.sleep(0.1)
    return len(ended)


def _is_tracker(pid: int) -> bool:
    with suppress(OSError):
        return b"resource_tracker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _others() -> list[int]:
    pids = [int(each) for each in os.listdir("/proc") if each.isdigit()]
    return [pid for pid in pids if os.getpid() not in (pid, parent_of(pid))]


def _began_with(pid: int, word: bytes) -> bool:
    # Of one that has ended, and that nobody has waited for, this is empty.
    with suppress(OSError):
        return word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return False
