"""Requests to pin the graph: each is performed once, and answered once.

Two threads may perform it, whichever comes first: the thread of the task that requests it, and the
thread that applies the next batch. Both hold the lock of the graph when they call this.
"""

from collections.abc import Callable

from ..state_machine.instructions import Pin
from .pinned import PinAnswer, PinnedAs, PinnedQueue


class PinRequests:
    """Requests of pins, and the answers to them.

    Parameters
    ----------
    graphs
        Where pinned graphs are kept.
    """

    def __init__(self, graphs: PinnedQueue) -> None:
        self._graphs = graphs
        #: Pins that are made, of the boundary where the graph is now.
        self._here: set[Pin] = set()
        #: Answers that no task has taken yet, and errors of pins that failed.
        self._answers: dict[Pin, PinAnswer | Exception] = {}
        #: Graphs beside which there is no memory for the one that is to be made; None: not tried.
        self._most_pinned: int | None = None

    def make_once(self, request: Pin, make: Callable[[Pin], PinnedAs | None]) -> bool:
        """Make a pin of the graph's boundary, unless that is done; returns whether it is made.

        False where there is no memory: then the next call tries again. False also where it failed,
        at this call or an earlier one: `answer` raises the error.

        Parameters
        ----------
        make
            Pins the graph; returns None where there is no memory beside the others.
        """
        if request in self._here or request in self._answers:
            return request in self._here
        others = len(self._graphs)
        try:
            kept = make(request)
        except Exception as error:
            self._answers[request] = error
            return False
        if kept is None:
            self._most_pinned = others
            return False
        self._answers[request] = PinAnswer(kept, self._most_pinned)
        self._here.add(request)
        self._most_pinned = None
        return True

    def answer(self, request: Pin) -> PinAnswer | None:
        """Take the answer, for the task that requested it; None: there is none yet.

        Raises the error of a pin that failed, at each call: no batch may go past it.
        """
        answer = self._answers.get(request)
        if isinstance(answer, Exception):
            raise answer
        self._answers.pop(request, None)
        return answer

    def start(self, request: Pin) -> None:
        """A task requests a pin: an earlier, equal request that was answered does not count."""
        if request not in self._answers:
            self._here.discard(request)

    def move_on(self) -> None:
        """A batch was applied: the graph is at another boundary."""
        self._here.clear()

    def clear(self) -> None:
        """Forget all."""
        self._here.clear()
        self._answers.clear()
