"""Pinned graphs in the order in which they are read, and the purpose of each.

Batches go on beside an epoch, but each takes memory, so there is a most of them. They are read one
after the other, the oldest first: its results are computed, then it is copied, and then let go of.
Results of the second are asked for while those of the first are computed, so that the graph worker
need not wait for the next question; it computes them in that order, but answers may overtake one
another on their way here.

Not here: when a graph is pinned (``lifecycle.py``), and how (``actor.py``).
"""

from collections import deque
from itertools import islice

from .events import Analysed
from .instructions import Analyse, Capture, Pin

#: Boundaries whose results may be asked for at once.
_MOST_ASKED = 2


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
        #: Newest boundary whose results were asked for; -1: none was of this generation.
        self._newest_asked = -1
        #: Boundaries whose results were asked for and are not at hand in their order, and what came
        #: of those already.
        self._analysing: deque[int] = deque()
        self._answers: dict[int, Analysed] = {}
        #: Whether the oldest is being copied.
        self._is_capturing = False

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def is_full(self) -> bool:
        """Whether no other graph may be pinned."""
        return len(self._pins) >= self.most

    @property
    def is_reading(self) -> bool:
        """Whether something is made of the oldest."""
        return self._is_capturing or bool(self._analysing)

    @property
    def results_asked(self) -> int:
        """Boundaries whose results were asked for and are not at hand."""
        return len(self._analysing)

    @property
    def reads_results(self) -> bool:
        """Whether results are what is to be had next."""
        return bool(self._analysing) or (bool(self._pins) and self._needs_results(self._pins[0]))

    def _needs_results(self, pin: Pin) -> bool:
        return bool(pin.results) and pin.boundary > self._newest_asked

    @property
    def newest_boundary(self) -> int:
        """Boundary of the newest; -1: there is none."""
        return self._pins[-1].boundary if self._pins else -1

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

    def missed(self) -> None:
        """The graph never stands at its boundary, for a batch before it cannot be applied."""
        self._is_pinning = False
        self._pins.pop()

    def refused(self) -> None:
        """There is no room for it beside the others: there will not be more than those."""
        self.missed()
        self.most = max(len(self._pins), 1)

    def read(self) -> Analyse | Capture | None:
        """The next request; None: there is none, or enough are pending."""
        if self._is_capturing or len(self._analysing) >= _MOST_ASKED:
            return None
        for pin in islice(self._pins, len(self._pins) - self._is_pinning):
            if pin.boundary in self._analysing:
                if pin.checkpoint:
                    return None  # it is copied before the next one is read
            elif self._needs_results(pin):
                self._newest_asked = pin.boundary
                self._analysing.append(pin.boundary)
                return Analyse(pin.generation, pin.boundary, pin.results)
            elif self._analysing:
                return None
            else:
                self._is_capturing = True
                return Capture(pin.generation, pin.boundary)
        return None

    def analysed(self, answer: Analysed) -> list[Analysed]:
        """Results are here; gives those that are at hand by that, in the order of boundaries."""
        self._answers[answer.boundary] = answer
        at_hand = []
        while self._analysing and self._analysing[0] in self._answers:
            at_hand.append(self._answers.pop(self._analysing.popleft()))
            if not self._pins[0].checkpoint:
                self._pins.popleft()
        return at_hand

    def captured(self) -> None:
        """The copy of the oldest is at hand."""
        self._is_capturing = False
        self._pins.popleft()

    def forget(self) -> None:
        """The generation is lost; another may have room again."""
        self._pins.clear()
        self._analysing.clear()
        self._answers.clear()
        self._is_capturing = self._is_pinning = False
        self.most, self._newest_asked = self._asked_most, -1
