"""The process that the workers of this machine are forked from, with what they import in it.

A worker that starts from nothing imports Dask, Arrow and Numba, 0.6 s of a core, and 15 of them
begin at once. Forked from one process that has them imported, they are there at once, share
that memory, and end at once. That process starts before this one has imported Dask itself, so that
both import side by side.

Python keeps one such process for all clusters. It ends with this one, even where this one is
killed, and so do the workers, even those that are stopped (``ends_with_parent.py``). What is set in
``os.environ`` after its start is handed to each worker (``local_cluster.py``); what is taken out of
it, and what libraries read while they are imported, such as ``OMP_NUM_THREADS``, stays as it was.

Imports nothing but the standard library, and the errors and ``printable`` of this package.
"""

import atexit
import concurrent.futures
import multiprocessing
import os
import queue
import resource
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from typing import Final

from ....gpu_core.errors import NOT_COMPILED, ClusterError
from ....gpu_core.printable import counted
from ..stopped_workers import is_stopped

#: What has to be in the environment before a process of Dask's begins; where the user sets one,
#: that counts.
WORKER_ENVIRONMENT: Final = {
    # Dask's default gives every large buffer back to the system at once, so that each batch is made
    # of fresh pages, on both sides. Only malloc's own variables change it.
    "MALLOC_TRIM_THRESHOLD_": str(8 * 2**30),
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TOP_PAD_": str(64 * 2**20),
    # As Dask has it: a worker has one thread. Also, a process with threads cannot be forked safely.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Arrow does not use this allocator, but it is linked to it, with a thread for it.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}

#: What Dask's Nannies set by default, and leave in the environment of their process. If a program
#: had a cluster of Dask's before, nobody has chosen that.
_LEFT_BY_NANNIES: Final = {"MALLOC_TRIM_THRESHOLD_": "65536"}

#: Set for a server that is started by a thread that lasts. Where the server died, Dask starts
#: another one, by threads that do not.
LASTING_PARENT: Final = "GRAPHTIDE_LASTING_PARENT"

#: Files that a process with a cluster has open, and for each CPU worker: pipes and sockets, above
#: all. Measured: 50 with 1 worker, 84 with 4, 128 with 8, 215 with 16.
_FILES, _FILES_OF_A_WORKER = 44, 11

#: Bytes of addresses that a process needs: with less, threads and libraries cannot be loaded.
_LEAST_ADDRESS_SPACE = 2_000_000_000

#: Held by the thread that starts the server.
_starting = threading.Lock()

#: Imported by the server; starts no thread.
_IMPORTED: Final = [
    "graphtide.pipeline.workers.forking.ends_with_parent",
    "graphtide.pipeline.workers.forking.abandoned_starts",
    "graphtide.pipeline.workers.forking.worker_imports",
]

#: Functions for the thread that starts the server, and the thread, when there is one.
_jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_lasting: threading.Thread | None = None

#: The process that has started the server; another number in a process forked from it.
_starter: int | None = None


def start_fork_server() -> None:
    """Start the server, if it does not run; does not wait until it has imported anything.

    Raises
    ------
    ClusterError
        ``ulimit`` leaves less than processes of a cluster need, or they cannot have locks, or may
        not compile; or this process was forked from one that had started the server.
    """
    global _starter
    _check_address_space()
    provide_open_files(workers=1)  # as many as there are at least
    _check_locks()
    _check_compiler()
    if _starter not in (None, os.getpid()):
        msg = (
            "this process was forked from one that had run graphtide, and Dask, whose threads are "
            "gone here, starts no workers; start the process by the method 'spawn' or "
            "'forkserver' of multiprocessing, or before the first run"
        )
        raise ClusterError(msg)
    defaults = {
        name: value
        for name, value in WORKER_ENVIRONMENT.items()
        if os.environ.get(name) in (None, _LEFT_BY_NANNIES.get(name))
    }
    safe_path = {"PYTHONSAFEPATH": "1"}  # else files of the current folder could be imported
    changes = {**defaults, **safe_path, LASTING_PARENT: "1"}
    with _starting, interrupts_stay_here(), variables_afterwards_as_before(changes):
        os.environ.update(changes)
        forkserver.set_forkserver_preload(_IMPORTED)
        _do_in_lasting_thread(forkserver.ensure_running)
        _starter = os.getpid()


@atexit.register
def _continue_tracker() -> None:
    """Let Python's tracker of semaphores end with this process, even if it was stopped (SIGSTOP).

    It ends when its pipe is closed, but not while it is stopped.
    """
    pid = getattr(resource_tracker._resource_tracker, "_pid", None)
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


@atexit.register
def _kill_stopped_children() -> None:
    """Kill workers of a start that was given up, if they are stopped (SIGSTOP).

    Python tells its children to end, and waits for them: a stopped one does not hear it. It hears
    of this here first, as ``multiprocessing`` was imported before.
    """
    for child in multiprocessing.active_children():
        if child.daemon and child.pid is not None and is_stopped(child.pid):
            child.kill()


def _check_address_space() -> None:
    """Refuse a limit under which processes die in the midst of anything, each with a traceback."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if resource.RLIM_INFINITY != limit < _LEAST_ADDRESS_SPACE:
        msg = (
            f"a process may have {limit / 1e9:.3g} GB of address space (ulimit -v), but those of a "
            f"cluster need {_LEAST_ADDRESS_SPACE / 1e9:g} GB and more; raise the limit"
        )
        raise ClusterError(msg)


def provide_open_files(workers: int) -> None:
    """Have as many open files allowed as a cluster of so many CPU workers needs in its start.

    Where a process may open fewer, but may raise its limit itself, that is done, for this process
    and those that it starts: 1024 is a common limit, and machines have more cores than that allows.

    Raises
    ------
    ClusterError
        The limit is too low, and cannot be raised.
    """
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _FILES + _FILES_OF_A_WORKER * workers
    if resource.RLIM_INFINITY == limit or limit >= needed:
        return
    if resource.RLIM_INFINITY != most < needed:
        msg = (
            f"a process may have {most} files open (ulimit -n), but a cluster of "
            f"{counted(workers, 'CPU worker')} needs {needed}; raise the limit"
            + (", or take fewer workers" if workers > 1 else "")
        )
        raise ClusterError(msg)
    # What else the program has open has room, too.
    more = limit + needed
    allowed = more if most == resource.RLIM_INFINITY else min(more, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


def _check_compiler() -> None:
    """Refuse a debugging switch of Numba's, with which all processes end as they start."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        raise ClusterError(NOT_COMPILED)


def _check_locks() -> None:
    """Refuse a machine without locks between processes, where Dask says that no worker starts."""
    try:
        # Of another method it would be made known to Python's tracker, which is not there yet.
        multiprocessing.get_context("fork").Lock()
    except OSError as error:
        msg = (
            f"processes of a cluster have locks in /dev/shm, where none can be made "
            f"({error.strerror}); mount it, so that it can be written"
        )
        raise ClusterError(msg) from error


def _do_in_lasting_thread(job: Callable[[], None]) -> None:
    """Do it in a thread that ends with this process: the server would be killed before."""
    global _lasting
    # After a fork it is not there.
    if _lasting is None or not _lasting.is_alive():
        _lasting = threading.Thread(target=_do_jobs, name="graphtide-fork-server", daemon=True)
        _lasting.start()
    done: concurrent.futures.Future[None] = concurrent.futures.Future()

    def do() -> None:
        try:
            job()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)

    _jobs.put(do)
    done.result()


def _do_jobs() -> None:
    while True:
        _jobs.get()()


@contextmanager
def interrupts_stay_here() -> Iterator[None]:
    """Start threads and processes that do not take Ctrl-C.

    A terminal sends it to all processes. It is for this one, which then closes the others; they
    would each print where they were. The signal mask is inherited by the threads started here, and
    by the processes that those start, now or after a death.
    """
    # It would lift the mask of the thread that first starts a process.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def variables_afterwards_as_before(names: Iterable[str]) -> Iterator[None]:
    """Put variables of the environment back, whatever is made of them meanwhile.

    Other threads may look at, or change, any variable that is not named.
    """
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is not None:
                os.environ[name] = value
            elif name in os.environ:
                del os.environ[name]
