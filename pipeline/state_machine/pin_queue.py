"""Queue of the pins that a generation was asked for, as the client knows it.

Each epoch takes memory, so their number is limited. They are requested ahead, up to that number,
together with the results that are due of each; so the graph worker need not wait for a request
between pinning a graph and reading it. It pins and reads them in the order of their boundaries:
results are computed, then the graph is copied if a checkpoint is due (which is requested when the
results are here), then it is released. Answers may overtake one another: those with columns take
longer. A graph whose answer is here counts no longer, even if an older one is waited for.

Not here: when a graph is pinned (``lifecycle.py``), and how (``actor.py``).
"""

from collections import deque
from itertools import islice

from .events import Analyzed, GraphPinned
from .instructions import CopyGraph, Pin


class PinQueue:
    """Pins of one generation, the oldest first.

    Parameters
    ----------
    most
        Graphs that may be pinned at once, ``>= 1``.
    """

    def __init__(self, most: int) -> None:
        self._configured_most = most
        #: The same, or fewer where there is no memory for so many.
        self.most = most
        self._pins: deque[Pin] = deque()
        #: How many of them, from the oldest on, are known to be made by the graph worker.
        self.made = 0
        #: Whether the newest that is known to be made is the graph itself: there was no memory for
        #: an epoch, and may be none for the next one.
        self._lacks_memory = False
        #: Results by boundary that are here before those of an older pin.
        self._answers: dict[int, Analyzed] = {}
        #: Whether the results of the oldest were handed on.
        self._is_analyzed = False
        #: Whether the oldest is being copied.
        self._is_copying = False

    def __len__(self) -> int:
        return len(self._pins)

    @property
    def is_full(self) -> bool:
        """Whether no other graph may be pinned."""
        return len(self._pins) - self._released >= self.most

    def kept(self, applied: int) -> int:
        """Number of pinned graphs, if the graph has all batches before ``applied``."""
        made = sum(pin.boundary <= applied for pin in self._pins)
        return max(made, self.made) - self._released

    @property
    def _released(self) -> int:
        """Number of pins whose results are here before older ones: their graphs are released."""
        return sum(pin.boundary in self._answers and not pin.checkpoint for pin in self._pins)

    @property
    def waits_for_results(self) -> bool:
        """Whether the oldest pin is for results that are not here yet."""
        return bool(self._pins) and bool(self._pins[0].results) and not self._is_analyzed

    @property
    def held_boundary(self) -> int | None:
        """Boundary where the graph itself is pinned, or may be, so that batches wait, or None."""
        held = (pin.boundary for pin in self._pins if not pin.epoch or self._lacks_memory)
        return next(held, None)

    def unanswered(self, boundary: int) -> Pin | None:
        """The pin of a boundary that was requested and is not known to be made, if any."""
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

    # -- changes

    def request(self, pin: Pin) -> None:
        """A pin is requested."""
        assert not self.is_full, "too many graphs are pinned"
        self._pins.append(pin)

    def pinned(self, answer: GraphPinned) -> None:
        """A pin is made, and so are all that were requested before it."""
        for number in range(self.made, len(self._pins)):
            if self._pins[number].boundary == answer.boundary:
                self.made = number + 1
                break
        self._lacks_memory = not answer.is_epoch
        if answer.most_pinned is not None:
            self.most = max(answer.most_pinned, 1)

    def missed(self, batch_id: int) -> None:
        """A batch cannot be applied: pins behind it are never made."""
        while len(self._pins) > self.made and self._pins[-1].boundary > batch_id:
            self._pins.pop()

    def _release_oldest(self) -> None:
        """The results and the copy of the oldest pin are here: its graph is released."""
        self._pins.popleft()
        self._is_analyzed = False
        self.made -= 1

    def analyzed(self, answer: Analyzed) -> list[Analyzed]:
        """Results are here; returns those that can be written now, in the order of boundaries."""
        self._answers[answer.boundary] = answer
        return self._next_results()

    def _next_results(self) -> list[Analyzed]:
        """Take results in the order of boundaries, up to a pin that must be copied first."""
        ready = []
        while self.waits_for_results and self._pins[0].boundary in self._answers:
            pin = self._pins[0]
            self._is_analyzed = True
            ready.append(self._answers.pop(pin.boundary))
            if not pin.checkpoint:
                self._release_oldest()
        return ready

    def copy(self) -> CopyGraph | None:
        """The copy that can be requested now, if any."""
        if self._is_copying or not self.made:
            return None
        pin = self._pins[0]
        if not pin.checkpoint or self.waits_for_results:
            return None
        self._is_copying = True
        return CopyGraph(pin.generation, pin.boundary)

    def copied(self) -> list[Analyzed]:
        """The copy of the oldest pin is here; returns results as `analyzed` does."""
        self._is_copying = False
        self._release_oldest()
        return self._next_results()

    def clear(self) -> None:
        """The generation is lost; the next one may have memory again."""
        self._pins.clear()
        self._answers.clear()
        self._is_copying = self._lacks_memory = self._is_analyzed = False
        self.most, self.made = self._configured_most, 0
