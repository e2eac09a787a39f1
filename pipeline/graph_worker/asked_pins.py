"""Pins that the graph worker is asked for: made once, whoever is there first, and told once.

Two threads may be first: that of the task that asks, and that which is to apply the batch behind
the pin. Both hold the lock of the graph here.
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
        #: Those where the graph stands that are made.
        self._here: set[Pin] = set()
        #: What those who asked are to be told, an error where a pin has failed.
        self._answers: dict[Pin, PinAnswer | Exception] = {}
        #: Graphs beside which there was no room for the one that is to be made; None: not tried.
        self._room: int | None = None

    def is_made(self, asked: Pin, make: Callable[[Pin], PinnedAs | None]) -> bool:
        """Whether the graph, which stands at the boundary, is pinned; tried again at each call.

        False where there is no room, or it has failed, which its asker is told.

        Parameters
        ----------
        make
            Pins the graph; None: there is no room beside the others.
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
        """What to tell who asked, whose pin it is no more then; None: nothing yet.

        Raises the error with which it has failed, each time: no batch may go past it.
        """
        answer = self._answers.get(asked)
        if isinstance(answer, Exception):
            raise answer
        self._answers.pop(asked, None)
        return answer

    def renew(self, asked: Pin) -> None:
        """It is asked for: one that was alike, if there was one and it is told, was another."""
        if asked not in self._answers:
            self._here.discard(asked)

    def move_on(self) -> None:
        """The graph stands there no more."""
        self._here.clear()

    def clear(self) -> None:
        """Forget all."""
        self._here.clear()
        self._answers.clear()
