"""One decorator for all that Numba compiles; it is kept in the folder of ``cache_folder.py``.

Compiled code releases the GIL and is not parallel itself: `parallel.py` runs one kernel over
several ranges in threads. That compiles several times faster than Numba's parallel loops, has no
global threading layer that other code of the process could upset, and keeps results independent of
the number of threads.
"""

import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba

from ..errors import NOT_COMPILED, EngineError
from .borrowed_arrays import only_borrow
from .cache_folder import ANALYTICS, CORE, cache_folder, folder_of_analytics, given_folder
from .shared_cache import share_compiled
from .unpickled import keep_unpickled

Function = TypeVar("Function", bound=Callable[..., Any])

if numba.config.DISABLE_JIT:
    raise EngineError(NOT_COMPILED)

keep_unpickled()


def module_of_text(name: str, text: str) -> ModuleType:
    """Module of a text, which is kept beside the kernels of analytics; so is what it compiles.

    The name is to be another one for each text.
    """
    folder = folder_of_analytics(cache_folder())
    path = folder / f"{name}.py"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = folder / f"{name}-{os.getpid()}-{threading.get_ident()}.tmp"
        made.write_text(text, encoding="utf-8")
        made.replace(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Numba looks up the modules of functions that it has kept.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def compiled(function: Function) -> Function:
    """Compile with Numba on first call, without the GIL, cached on disk for later processes."""
    # What is not said here, Numba takes from the first function that calls this one.
    return _decorated(function, _nrt=True)


def inlined(function: Function) -> Function:
    """Compile a small function that is part of the inner loops of others."""
    return _decorated(function, forceinline=True, _nrt=True)


def borrowing(function: Function) -> Function:
    """Compile as `inlined` does a function that makes and returns no array (`borrowed_arrays.py`).

    A long kernel can be split into such functions without loss of speed.
    """
    compiled_function = _decorated(function, forceinline=True, _nrt=False, no_cpython_wrapper=True)
    only_borrow(compiled_function)
    return compiled_function


def _decorated(function: Function, **options: bool) -> Function:
    before = given_folder()
    folder = cache_folder()
    if Path(function.__code__.co_filename).is_relative_to(ANALYTICS) and not before:
        folder = folder_of_analytics(folder)
    numba.config.CACHE_DIR = str(folder)
    try:
        # Nobody calls from C: without functions for that, it takes a tenth less time to compile.
        decorate = numba.njit(
            cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options
        )
        compiled_function: Function = decorate(function)
        # On the way to a GPU the loops are of a dozen words.
        on_device = Path(function.__code__.co_filename).is_relative_to(CORE / "cuda")
        share_compiled(compiled_function, vectorizes=not on_device)
        return compiled_function
    finally:
        numba.config.CACHE_DIR = before
