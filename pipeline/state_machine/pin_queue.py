"""Graphs that are pinned at once: what each is for, and which is read next.

Batches go on beside an epoch, but each takes memory, so there is a most of them. They are read one
after the other, the oldest first: its results are computed, then it is copied, and then let go of.

Not here: when a graph is pinned (``lifecycle.py``), and how (``actor.py``).
"""

from collections import deque

from .instructions import Analyse, Capture, Pin


class PinQueue:
    """Pins of one generation, the oldest first.

    Parameters
    ----------
    most
        Graphs that may be pinned at once, ``>= 1``.
    """

    def __init__(self, most: int) -> None:
        self._asked_most = most
        #: As far as there is room for them.
        self.most = most
        self._pins: deque[Pin] = deque()
        #: Whether the newest is about to be pinned, and no more.
        self._is_pinning = False
        #: Boundary whose results are computed; -1: nothing was of this generation.
        self._analysed = -1
        #: Whether something is made of the oldest.
        self.is_reading = False

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def is_full(self) -> bool:
        """Whether no other graph may be pinned."""
        return len(self._pins) >= self.most

    @property
    def reads_results(self) -> bool:
        """Whether results are what is to be had next."""
        return bool(self._pins) and self._needs_results(self._pins[0])

    def _needs_results(self, pin: Pin) -> bool:
        return bool(pin.results) and pin.boundary != self._analysed

    def newest_checkpoint(self) -> int | None:
        """Boundary of the newest that is pinned for a checkpoint; None: there is none."""
        return max((pin.boundary for pin in self._pins if pin.checkpoint), default=None)

    def newest_results(self) -> int | None:
        """Boundary of the newest that is pinned for results; None: there is none."""
        return max((pin.boundary for pin in self._pins if pin.results), default=None)

    # -- what happens to them

    def ask(self, pin: Pin) -> None:
        """A graph is about to be pinned."""
        assert not self.is_full, "too many graphs are pinned"
        self._pins.append(pin)
        self._is_pinning = True

    def pinned(self) -> None:
        """It is pinned."""
        self._is_pinning = False

    def refused(self) -> None:
        """There is no room for it beside the others: there will not be more than those."""
        self._is_pinning = False
        self._pins.pop()
        self.most = max(len(self._pins), 1)

    def read(self) -> Analyse | Capture | None:
        """What is to be made next of the oldest; None: nothing, or something is being made."""
        if self.is_reading or len(self._pins) <= self._is_pinning:
            return None
        self.is_reading = True
        oldest = self._pins[0]
        if self._needs_results(oldest):
            return Analyse(oldest.generation, oldest.boundary, oldest.results)
        return Capture(oldest.generation, oldest.boundary)

    def analysed(self) -> None:
        """Results of the oldest are at hand."""
        self.is_reading = False
        oldest = self._pins[0]
        self._analysed = oldest.boundary
        if not oldest.checkpoint:
            self._pins.popleft()

    def captured(self) -> None:
        """The copy of the oldest is at hand."""
        self.is_reading = False
        self._pins.popleft()

    def forget(self) -> None:
        """The generation is lost; another may have room again."""
        self._pins.clear()
        self.is_reading = self._is_pinning = False
        self.most, self._analysed = self._asked_most, -1
