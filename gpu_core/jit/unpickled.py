"""Classes of what compiled code returns, which Numba unpickles at each return to Python.

An array is of a class, and so is a named tuple. Numba finds it by a function in Python that keeps
what was unpickled before. There Ctrl-C may raise KeyboardInterrupt, as wherever Python runs; but
Numba's code goes on without the class then, and the process ends by a segmentation fault. So that
function is put behind a cache that is written in C, within which no handler of a signal runs.
"""

from functools import cache

from numba.core import serialize


def keep_unpickled() -> None:
    """Have Numba find in C what it has unpickled.

    To be called before compiled code returns for the first time: Numba looks its function up once.
    It is no public one; where a Numba has none of this name, nothing is changed.
    """
    unpickle = getattr(serialize, "_numba_unpickle", None)
    if unpickle is not None:
        serialize._numba_unpickle = cache(unpickle)
