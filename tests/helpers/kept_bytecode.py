"""Compiled Python is kept while tests run, also where the environment says that it is not to be.

Containers often set ``PYTHONDONTWRITEBYTECODE`` and hold packages without compiled modules. Each of
the hundreds of processes that tests start would then compile Numba, Dask and Arrow anew, 3 s of a
core where 1 s suffices, and pytest all test files. What is compiled goes into a folder of its own,
so that neither the checkout nor the environment gets files that somebody did not want there.

Imported first of all by ``conftest.py``; processes that are started from there on inherit it.
"""

import os
import sys
import tempfile
from pathlib import Path

if sys.dont_write_bytecode:
    folder = Path(tempfile.gettempdir()) / f"graphtide-bytecode-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(folder))
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
