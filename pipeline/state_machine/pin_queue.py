"""Pinned graphs in the order in which they are read, and the purpose of each.

Batches go on beside an epoch, but each takes memory, so there is a most of them. They are asked for
ahead, as many as there may be, and made in the order of their boundaries. They are read one after
the other, the oldest first: its results are computed, then it is copied, and then let go of.
Results of the next few are asked for while those of the first are computed, so that the graph
worker need not wait for the next question; it computes them in that order. Answers of either kind
may overtake one another on their way here, and those without columns overtake those with some. A
graph whose answer is here takes no room any more, even where one before it is waited for.

Not here: when a graph is pinned (``lifecycle.py``), and how (``actor.py``).
"""

from collections import deque
from itertools import islice

from .events import Analysed, Pinned
from .instructions import Analyse, Capture, Pin

#: Boundaries whose results may be asked for at once: as many as are computed between a question
#: and its answer, and the answer and the next question.
MOST_ASKED = 4


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
        #: Boundary of the newest that is the graph itself, for lack of room; None: there was room.
        self._held: int | None = None
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
        return len(self._pins) - self._let_go_already >= self.most

    @property
    def kept(self) -> int:
        """Graphs that are known to be pinned still."""
        return self.made - self._let_go_already

    @property
    def _let_go_already(self) -> int:
        """Pins whose answer is here before one that is older; their graphs were let go of."""
        return sum(pin.boundary in self._answers and not pin.checkpoint for pin in self._pins)

    @property
    def is_reading(self) -> bool:
        """Whether something is made of the oldest."""
        return self._is_capturing or bool(self._analysing)

    @property
    def results_asked(self) -> int:
        """Boundaries whose results were asked for and are not at hand, and may have columns."""
        without = (not answer.has_columns for answer in self._answers.values())
        return len(self._analysing) - sum(without)

    @property
    def reads_results(self) -> bool:
        """Whether results are what is to be had next."""
        return bool(self._analysing) or (bool(self._pins) and self._needs_results(self._pins[0]))

    def _needs_results(self, pin: Pin) -> bool:
        return bool(pin.results) and pin.boundary > self._newest_asked

    @property
    def held_boundary(self) -> int | None:
        """Where the graph itself is pinned, or is to be, so that batches wait; None: nowhere."""
        held = (pin.boundary for pin in self._pins if not pin.epoch or pin.boundary == self._held)
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

    def pinned(self, answer: Pinned) -> None:
        """A graph is pinned, and so are all that were asked for before it."""
        for number in range(self.made, len(self._pins)):
            if self._pins[number].boundary == answer.boundary:
                self.made = number + 1
                break
        if not answer.is_epoch:
            self._held = answer.boundary
        elif self._held == answer.boundary:
            # The second of that boundary, for which there is room by now.
            self._held = None
        if answer.room is not None:
            self.most = max(answer.room, 1)

    def missed(self, batch_id: int) -> None:
        """The graph never stands behind this batch, which cannot be applied."""
        while len(self._pins) > self.made and self._pins[-1].boundary > batch_id:
            self._pins.pop()

    def _let_go(self) -> None:
        """All that the oldest is for is at hand."""
        self._pins.popleft()
        self.made -= 1

    def read(self) -> Analyse | Capture | None:
        """The next request; None: there is none, or enough are pending."""
        if self._is_capturing or len(self._analysing) - len(self._answers) >= MOST_ASKED:
            return None
        for pin in islice(self._pins, self.made):
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
                self._let_go()
        return at_hand

    def captured(self) -> None:
        """The copy of the oldest is at hand."""
        self._is_capturing = False
        self._let_go()

    def forget(self) -> None:
        """The generation is lost; another may have room again."""
        self._pins.clear()
        self._analysing.clear()
        self._answers.clear()
        self._is_capturing, self._held = False, None
        self.most, self.made, self._newest_asked = self._asked_most, 0, -1
