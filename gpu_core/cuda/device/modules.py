"""Compiled kernel files of one device: each compiled once, several side by side.

NVRTC takes 0.1 to 4 s of a core for a file and works without Python's lock, so files that will be
used are compiled by a few background threads (`Modules.compile_ahead`). A launch waits for its own
file only, or compiles it where that has not begun. What is in CuPy's cache on disk, which all
processes of a user share, is only loaded, in the same way.
"""

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

#: Macros and their values, in the order of the names.
Defines = tuple[tuple[str, int], ...]
#: A kernel file and what it is compiled with.
KernelFile = tuple[str, Defines]

#: Files that are compiled at once: no graph needs more than twenty, and the largest one takes a
#: quarter of the time of all.
_MOST_THREADS: Final = 8


class Modules:
    """Modules by kernel file.

    Parameters
    ----------
    compile_file
        Compiles a file, or loads what was compiled before; called by several threads at once.
    """

    def __init__(self, compile_file: Callable[[KernelFile], Any]) -> None:
        self._compile_file = compile_file
        self._lock = threading.Lock()
        self._modules: dict[KernelFile, Future[Any]] = {}
        self._threads: ThreadPoolExecutor | None = None

    def compile_ahead(self, files: Iterable[KernelFile]) -> None:
        """Begin to compile files that were not asked for yet, in this order.

        Returns at once. An error is raised where the module is asked for.
        """
        with self._lock:
            for file in files:
                if file not in self._modules:
                    self._modules[file] = self._pool().submit(self._compile_file, file)

    def do_ahead(self, work: Callable[[], None]) -> None:
        """Begin with something else that compiles; an error is met again by who needs it."""
        with self._lock:
            self._pool().submit(work)

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            count = min(_MOST_THREADS, len(os.sched_getaffinity(0)))
            self._threads = ThreadPoolExecutor(count, thread_name_prefix="graphtide-nvrtc")
        return self._threads

    def module(self, file: KernelFile) -> Any:
        """Module of a file; waits until it is compiled.

        Raises what compiling raised. It is tried again when the file is asked for next.
        """
        with self._lock:
            module = self._modules.get(file)
            # Cancelled: it waits for its turn, and we can begin at once.
            is_ours = module is None or module.cancel()
            if module is None or is_ours:
                module = self._modules[file] = Future()
                module.set_running_or_notify_cancel()  # no other thread can begin now
        if is_ours:
            try:
                module.set_result(self._compile_file(file))
            except BaseException as error:
                module.set_exception(error)
        try:
            return module.result()
        except Exception:
            self._forget(file, module)
            raise
        except BaseException:
            # Ctrl-C: a file that another thread compiles goes on.
            if is_ours:
                self._forget(file, module)
            raise

    def _forget(self, file: KernelFile, module: "Future[Any]") -> None:
        with self._lock:
            if self._modules.get(file) is module:
                del self._modules[file]
