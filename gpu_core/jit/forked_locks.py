"""Locks of what is in host memory, in a process that was forked.

A fork copies the memory of a process and one of its threads. A lock that another thread held is
held for ever there, and what that thread was doing is not finished. So what was in use gets another
lock, which refuses: a child does not wait for what never comes. All else is whole in the child.

Not here: the pool of threads, which is made again (``parallel.py``).
"""

import os
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from ..errors import EngineError


class LostLock:
    """In the place of a lock whose holder is not in this process."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> NoReturn:
        """Refuse: it would be waited for without end.

        Raises
        ------
        EngineError
            Always.
        """
        msg = (
            "another thread was using this graph when the process was forked, and its work is lost "
            "here; fork while no other thread uses the graph, or give the child a copy() of its own"
        )
        raise EngineError(msg)

    def release(self) -> None:
        """Do nothing: nobody can hold it."""

    def __enter__(self) -> NoReturn:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


#: Owner of a lock -> the attribute that it is.
_locks: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def refuse_if_lost(owner: object, attribute: str) -> None:
    """Have the lock of an object refuse in a forked process where another thread held it."""
    _locks[owner] = attribute


def _replace_lost_locks() -> None:
    for owner, attribute in list(_locks.items()):
        lock = getattr(owner, attribute)
        if lock.acquire(blocking=False):
            lock.release()
        else:
            setattr(owner, attribute, LostLock())


os.register_at_fork(after_in_child=_replace_lost_locks)
