"""Pins that the graph worker is asked for: each is made once, and answered once.

Two threads may make it, whichever comes first: that of the task that asks, and that which is to
apply the batch behind the pin. Both hold the lock of the graph here.
"""

from collections.abc import Callable

from ..state_machine.instructions import Pin
from .pinned import PinAnswer, PinnedAs, PinnedQueue


class AskedPins:
    """What has become of the pins that were asked for.

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
        #: Graphs beside which there was no room for the one that is to be made; None: not tried.
        self._room: int | None = None

    def make_once(self, asked: Pin, make: Callable[[Pin], PinnedAs | None]) -> bool:
        """Make a pin of the graph's boundary, unless that is done; returns whether it is made.

        False where there is no room: then the next call tries again. False also where it failed,
        at this call or an earlier one: `answer` raises the error.

        Parameters
        ----------
        make
            Pins the graph; returns None where there is no room beside the others.
        """
        if asked in self._here or asked in self._answers:
            return asked in self._here
        others = len(self._graphs)
        try:
            kept = make(asked)
        except Exception as error:
            self._answers[asked] = error
            return False
        if kept is None:
            self._room = others
            return False
        self._answers[asked] = PinAnswer(kept, self._room)
        self._here.add(asked)
        self._room = None
        return True

    def answer(self, asked: Pin) -> PinAnswer | None:
        """Take the answer, for the task that asked; None: there is none yet.

        Raises the error of a pin that failed, at each call: no batch may go past it.
        """
        answer = self._answers.get(asked)
        if isinstance(answer, Exception):
            raise answer
        self._answers.pop(asked, None)
        return answer

    def renew(self, asked: Pin) -> None:
        """Begin with a pin that a task asks for: an equal one that was answered does not count."""
        if asked not in self._answers:
            self._here.discard(asked)

    def move_on(self) -> None:
        """The graph leaves its boundary."""
        self._here.clear()

    def clear(self) -> None:
        """Forget all."""
        self._here.clear()
        self._answers.clear()
