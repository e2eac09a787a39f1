"""Numba's cache of a function on disk, for processes that compile at the same time.

Numba's own does two things wrong there. Every process compiles what it does not find, so a dozen
workers that start together compile the same dozen times. And two that save different signatures of
a function may give both the same file: one of them then runs the other's code.

Here a process that does not find a signature takes a lock for it, and keeps that until it has saved
what it compiled; the others wait, and load. Saving is under a lock as well. Locks are those of the
system, on one file of the cache folder, so they end with their process. They are for speed: where
there are none, or one is not had for a minute, everybody compiles.
"""

import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, Final

from numba.core import config
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock

#: Seconds that a process waits for another one; one that was stopped in mid-work holds its locks.
_MOST_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.005


class SharedCache(FunctionCache):  # type: ignore[misc]  # Numba has no types
    """The cache of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        #: Signatures that this process compiles.
        self._held: dict[Any, _Lock] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load a signature; None: it is to be compiled, by this process alone, then `release`d."""
        found = super().load_overload(sig, target_context)
        if found is not None or not self._enabled or sig in self._held:
            return found
        lock = _Lock(f"{self._cache_file._index_path} {sig}", self.cache_path)
        # Another process may have saved it since.
        found = super().load_overload(sig, target_context)
        if found is None:
            self._held[sig] = lock
        else:
            lock.release()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a signature for all processes."""
        with _locked(self._cache_file._index_path, self.cache_path):
            super().save_overload(sig, data)

    def release(self, sig: Any) -> None:
        """Let others go on that wait for a signature, whether or not it was compiled."""
        lock = self._held.pop(sig, None)
        if lock is not None:
            lock.release()


def share_compiled(dispatcher: Any, *, vectorizes: bool) -> None:
    """Have a function of Numba's compiled by one process of this machine, for all.

    Parameters
    ----------
    vectorizes
        Whether its loops are long enough for vector instructions. Without, it takes a third less
        time to compile.
    """
    cache = dispatcher._cache = SharedCache(dispatcher.py_func)
    compile_signature = dispatcher.compile

    def compile_once(sig: Any) -> Any:
        try:
            if vectorizes:
                return compile_signature(sig)
            with _without_vectors():
                return compile_signature(sig)
        finally:
            cache.release(sig)

    dispatcher.compile = lambda sig: _in_compiling_thread(lambda: compile_once(sig))


@contextmanager
def _without_vectors() -> Iterator[None]:
    # Under the lock that Numba compiles under, so that others compile as they are used to.
    with global_compiler_lock:
        before, config.LOOP_VECTORIZE = config.LOOP_VECTORIZE, 0
        try:
            yield
        finally:
            config.LOOP_VECTORIZE = before


def is_saved(dispatcher: Any) -> bool:
    """Whether some process has compiled a function, with any signature, and saved it."""
    return os.path.exists(dispatcher._cache._cache_file._index_path)


class _Compiling(threading.local):
    """Whether this thread is one that compiles."""

    is_on = False


_compiling = _Compiling()


def _in_compiling_thread(compile_it: Callable[[], Any]) -> Any:
    """Compile in a thread of its own, together with all that is compiled on the way.

    Numba leaves cycles behind that hold the frames below it, until the garbage collector comes by.
    Those of its callers hold the arrays of a batch, with the shared memory that they lie in. A
    thread that compiles a function which calls this one has Numba's lock, and goes on itself:
    another thread would wait for the lock for ever.
    """
    if _compiling.is_on or global_compiler_lock.is_locked():
        return compile_it()
    done: Future[Any] = Future()

    def work() -> None:
        _compiling.is_on = True
        try:
            done.set_result(compile_it())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=work, name="graphtide-compile", daemon=True).start()
    return done.result()


class _Lock:
    """A lock of a name among processes; taken, if it can be had in time, when it is made."""

    def __init__(self, name: str, folder: str) -> None:
        self._byte = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=7).digest(), "big")
        self._file: int | None = None
        deadline = time.monotonic() + _MOST_SECONDS
        with suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            self._file = _lock_file(os.path.join(folder, "compiling.lock"), os.getpid())
            while not self._is_taken() and time.monotonic() < deadline:
                time.sleep(_LOOK_SECONDS)

    def _is_taken(self) -> bool:
        assert self._file is not None
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, self._byte)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Give it back."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, self._byte)


@contextmanager
def _locked(name: str, folder: str) -> Iterator[None]:
    lock = _Lock(name, folder)
    try:
        yield
    finally:
        lock.release()


#: Open lock files by path and process: a process that closes one loses all of its locks.
_files: dict[tuple[str, int], int] = {}


def _lock_file(path: str, process: int) -> int:
    if (path, process) not in _files:
        _files[path, process] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return _files[path, process]
