"""A cache of compiled Python modules, for environments where Python would write none.

Containers often set ``PYTHONDONTWRITEBYTECODE``, and hold packages that were installed without
compiled modules. Each command would then compile Dask, Numba and Arrow again, and so would the
process that its workers are forked from: 4 s of a core each, and 0.5 s where only the modules of
graphtide are not compiled, as in a checkout that was installed by ``pip install -e``. So modules
are cached in the user's cache folder, beside Numba's kernels: neither the checkout nor the
environment gets files that its user did not want there.

Only for graphtide's own processes, the command and the one that workers are forked from; a program
that calls graphtide decides for itself.
"""

import os
import sys
from importlib.util import cache_from_source, find_spec
from pathlib import Path

from ....gpu_core.jit.trusted_folder import trusted_folder


def keep_bytecode() -> None:
    """Keep bytecode that this process compiles from now on, if nothing else does or did."""
    if not sys.dont_write_bytecode or sys.pycache_prefix is not None:
        return
    if _is_compiled("numba") and _is_compiled(__name__.partition(".")[0]):
        return  # when they were installed, and so were the others
    folder = trusted_folder("bytecode")
    if folder is not None:
        sys.pycache_prefix = str(folder)
        sys.dont_write_bytecode = False


def _is_compiled(package: str) -> bool:
    """Whether all modules in a package's folder are compiled; a few are where it was imported."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return True
    modules = Path(spec.origin).parent.glob("*.py")
    return all(os.path.exists(cache_from_source(str(module))) for module in modules)
