"""Work in a thread of its own, for a caller that may have to give it up."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

Made = TypeVar("Made")


def in_thread(name: str, work: Callable[[], Made]) -> concurrent.futures.Future[Made]:
    """Begin with ``work``; what it returns, or raises, is found in the Future.

    Once it is not waited for any more, the thread is left behind, and ends with the process.
    """
    made: concurrent.futures.Future[Made] = concurrent.futures.Future()

    def do() -> None:
        try:
            made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=do, name=name, daemon=True).start()
    return made
