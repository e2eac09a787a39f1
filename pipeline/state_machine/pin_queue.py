"""Pinned graphs in the order in which they are read, and the purpose of each.

Batches go on beside an epoch, but each takes memory, so there is a most of them. They are asked for
ahead, as many as there may be, together with the results that are due of each, so that the graph
worker need not wait for a question between pinning a graph and reading it. It pins and reads them
in the order of their boundaries: results are computed, then the graph is copied if a checkpoint is
due, which is asked for when the results are here, and then it is released. Answers may overtake
one another on their way here, those without columns those with some. A graph whose answer is here
takes no room any more, even where one before it is waited for.

Not here: when a graph is pinned (``lifecycle.py``), and how (``actor.py``).
"""

from collections import deque
from itertools import islice

from .events import Analyzed, GraphPinned
from .instructions import Capture, Pin


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
        #: How many of them, from the oldest on, are known to be made.
        self.made = 0
        #: Whether the newest that is known to be made is the graph itself: there was no room for an
        #: epoch, and may be none for the next one.
        self._has_no_room = False
        #: Results by boundary that are here, but not those of an older one.
        self._answers: dict[int, Analyzed] = {}
        #: Newest boundary whose results are at hand; -1: none of this generation are.
        self._analyzed = -1
        #: Whether the oldest is being copied.
        self._is_capturing = False

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def is_full(self) -> bool:
        """Whether no other graph may be pinned."""
        return len(self._pins) - self._released >= self.most

    def kept(self, applied: int) -> int:
        """Graphs that are pinned, where one has got to the boundary ``applied``."""
        made = sum(pin.boundary <= applied for pin in self._pins)
        return max(made, self.made) - self._released

    @property
    def _released(self) -> int:
        """Pins whose results overtook those of an older one: their graphs are released already."""
        return sum(pin.boundary in self._answers and not pin.checkpoint for pin in self._pins)

    @property
    def waits_for_results(self) -> bool:
        """Whether the oldest pin is for results that are not here yet."""
        return bool(self._pins) and self._needs_results(self._pins[0])

    def _needs_results(self, pin: Pin) -> bool:
        return bool(pin.results) and pin.boundary > self._analyzed

    @property
    def held_boundary(self) -> int | None:
        """Where the graph itself is pinned, or may be, so that batches wait; None: nowhere."""
        held = (pin.boundary for pin in self._pins if not pin.epoch or self._has_no_room)
        return next(held, None)

    def unanswered(self, boundary: int) -> Pin | None:
        """The pin of a boundary that is not known to be made, if there is one."""
        unmade = islice(self._pins, self.made, None)
        return next((pin for pin in unmade if pin.boundary == boundary), None)

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
        """A graph is to be pinned."""
        assert not self.is_full, "too many graphs are pinned"
        self._pins.append(pin)

    def pinned(self, answer: GraphPinned) -> None:
        """A graph is pinned, and so are all that were asked for before it."""
        for number in range(self.made, len(self._pins)):
            if self._pins[number].boundary == answer.boundary:
                self.made = number + 1
                break
        self._has_no_room = not answer.is_epoch
        if answer.room is not None:
            self.most = max(answer.room, 1)

    def missed(self, batch_id: int) -> None:
        """The graph never stands behind this batch, which cannot be applied."""
        while len(self._pins) > self.made and self._pins[-1].boundary > batch_id:
            self._pins.pop()

    def _release_oldest(self) -> None:
        """All that the oldest is for is at hand."""
        self._pins.popleft()
        self.made -= 1

    def analyzed(self, answer: Analyzed) -> list[Analyzed]:
        """Results are here; gives those that are at hand by that, in the order of boundaries."""
        self._answers[answer.boundary] = answer
        return self._at_hand()

    def _at_hand(self) -> list[Analyzed]:
        """Take results that are here in their order, up to those of a graph that is copied next."""
        at_hand = []
        while self.waits_for_results and self._pins[0].boundary in self._answers:
            pin = self._pins[0]
            self._analyzed = pin.boundary
            at_hand.append(self._answers.pop(pin.boundary))
            if not pin.checkpoint:
                self._release_oldest()
        return at_hand

    def capture(self) -> Capture | None:
        """The copy that can be asked for now; None: there is none."""
        if self._is_capturing or not self.made:
            return None
        pin = self._pins[0]
        if not pin.checkpoint or self._needs_results(pin):
            return None
        self._is_capturing = True
        return Capture(pin.generation, pin.boundary)

    def captured(self) -> list[Analyzed]:
        """The copy of the oldest is at hand; gives what `analyzed` does."""
        self._is_capturing = False
        self._release_oldest()
        return self._at_hand()

    def forget(self) -> None:
        """The generation is lost; another may have room again."""
        self._pins.clear()
        self._answers.clear()
        self._is_capturing = self._has_no_room = False
        self.most, self.made, self._analyzed = self._asked_most, 0, -1
