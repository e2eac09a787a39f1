"""A small world that performs the instructions of a lifecycle, in any order that a test likes."""

from graphtide.gpu_core.errors import BatchError
from graphtide.pipeline.state_machine.events import (
    Analysed,
    BatchesApplied,
    BatchFailed,
    BatchLoaded,
    Captured,
    GraphLost,
    GraphStarted,
    Pinned,
    PinRefused,
    Written,
)
from graphtide.pipeline.state_machine.instructions import (
    Analyse,
    Apply,
    Capture,
    Discard,
    Finish,
    Load,
    Pin,
    StartGraph,
    WriteCheckpoint,
    WriteResults,
)
from graphtide.pipeline.state_machine.lifecycle import Lifecycle, RunRules


class World:
    """Performs instructions as a cluster does: loads end in any order, applies by number.

    ``disk`` is the boundary of the newest checkpoint, ``results`` those with results there,
    ``graph`` the batches in the living generation's graph.
    """

    def __init__(self, lifecycle: Lifecycle, bad: set[int] | None = None) -> None:
        self.lifecycle = lifecycle
        self.epochs = lifecycle.pins.most
        self.bad = bad or set()
        #: Whether loads end by themselves before anything is applied.
        self.loads_end = True
        self.now = 0.0
        self.disk = lifecycle.checkpointed
        self.results: list[int] = []
        #: Boundary -> names of the results that were due.
        self.due: dict[int, tuple[str, ...]] = {}
        self.checkpoints: list[int] = []
        self.reported: list[tuple[int, int]] = []
        self.generation = -1
        self.graph: list[int] = []
        #: Batches whose load was asked for, and those of them whose load has ended.
        self.asked_for: set[int] = set()
        self.loaded: set[int] = set()
        self.waiting: set[int] = set()
        self.writes: list[WriteResults | WriteCheckpoint] = []
        self.asked: StartGraph | Pin | None = None
        #: Whether there is room for another epoch.
        self.has_room = True
        #: What is pinned, the oldest first, and whether batches can be applied meanwhile.
        self.pinned: list[Pin] = []
        self.is_epoch = True
        #: What reads the oldest ones, in this order, and an answer that the next one overtakes.
        self.reads: list[Analyse | Capture] = []
        self.late: Analysed | None = None
        #: Whether results have columns that are written.
        self.has_columns = True
        #: Most graphs that were pinned at once.
        self.most_pinned = 0
        #: Most writes of arrays that waited at once.
        self.most_writes = 0
        self.finish: Finish | None = None

    def tell(self, event: object) -> None:
        assert self.finish is None or isinstance(event, Written), "an event after the end"
        if isinstance(event, BatchFailed) and isinstance(self.asked, Pin):
            if self.asked.boundary > event.batch_id:
                self.asked = None  # the graph never stands there
        for instruction in self.lifecycle.handle(event, self.now):
            self._perform(instruction)
        self._check()

    def _perform(self, instruction: object) -> None:
        assert self.finish is None, "an instruction after Finish"
        match instruction:
            case StartGraph():
                assert not self.writes, "a graph was started while something was being written"
                self.generation = instruction.generation
                self._forget()
                self._ask(instruction)
            case Load(generation, batch_id):
                assert generation == self.generation
                assert batch_id not in self.asked_for, "a batch was loaded twice in a generation"
                self.asked_for.add(batch_id)
            case Apply(generation, batch_id):
                assert generation == self.generation
                assert batch_id in self.asked_for, "a batch was applied that nobody loads"
                assert batch_id not in self.waiting
                self.waiting.add(batch_id)
            case Pin(_, boundary):
                before = set(range(len(self.graph), boundary))
                assert before <= self.waiting | self.bad, "not all before it are to be applied"
                assert instruction.results or instruction.checkpoint, "pinned for nothing"
                assert len(self.pinned) < self.epochs, "too many graphs are pinned"
                assert self.is_epoch, "a graph is pinned while another one is read itself"
                if instruction.results:
                    self.due[boundary] = instruction.results
                self._ask(instruction)
            case Analyse(_, boundary, _) | Capture(_, boundary):
                behind = [pin.boundary for pin in self.pinned][len(self.reads)]
                assert behind == boundary, "read out of order"
                if self.reads:
                    both = isinstance(self.reads[0], Analyse), isinstance(instruction, Analyse)
                    assert all(both), "a copy and another thing are made at once"
                    assert not self.pinned[0].checkpoint, "it is not copied before the next one"
                    assert len(self.reads) == 1, "too much is asked for ahead"
                self.reads.append(instruction)
            case WriteResults() | WriteCheckpoint():
                self.writes.append(instruction)
                arrays = [
                    w for w in self.writes if self.has_columns or isinstance(w, WriteCheckpoint)
                ]
                self.most_writes = max(self.most_writes, len(arrays))
            case Discard():
                self._forget()
                self.asked = self.late = None
                self.reads, self.pinned, self.is_epoch = [], [], True
            case Finish():
                self.finish = instruction

    def _forget(self) -> None:
        self.graph, self.asked_for, self.loaded, self.waiting = [], set(), set(), set()

    @property
    def reading(self) -> Analyse | Capture | None:
        """What reads the oldest pinned graph."""
        return self.reads[0] if self.reads else None

    @property
    def loading(self) -> list[int]:
        return sorted(self.asked_for - self.loaded)

    def _ask(self, instruction: StartGraph | Pin) -> None:
        assert self.asked is None, "two things are done with the graph at once"
        self.asked = instruction

    def _check(self) -> None:
        machine = self.lifecycle
        ahead = len([batch for batch in self.asked_for if batch >= len(self.graph)])
        if machine.state in ("applying", "pinning", "holding"):
            assert ahead <= machine.rules.window, "the window is wider than the credits"
            assert len(self.loading) <= (machine.rules.max_loads or machine.rules.window), (
                "too many loads"
            )
        assert machine.checkpointed <= machine.applied <= machine.apply_next <= machine.load_next
        assert machine.writing == len(self.writes) or self.finish is not None

    # -- what may happen next

    def load(self, count: int = 1_000_000) -> None:
        """Up to ``count`` loads end, those of the latest batches first."""
        for batch_id in self.loading[::-1][:count]:
            self.loaded.add(batch_id)
            self.tell(BatchLoaded(self.generation, batch_id))

    def apply_ready(self, count: int = 1_000_000) -> None:
        """The graph takes up to ``count`` batches that are there, in order; then it says so."""
        if not self.is_epoch or isinstance(self.asked, StartGraph):
            return
        if self.loads_end:
            self.load()
        applied = len(self.graph)
        while applied in self.waiting & self.loaded and count > 0:
            self.waiting.discard(applied)
            if applied in self.bad:
                self.tell(BatchesApplied(self.generation, applied))
                self.tell(BatchFailed(self.generation, applied, BatchError(f"batch {applied}")))
                return
            self.graph.append(applied)
            applied += 1
            count -= 1
        self.tell(BatchesApplied(self.generation, applied))

    def answer(self) -> None:
        """What is being done with the graph ends."""
        asked, self.asked = self.asked, None
        match asked:
            case StartGraph(generation):
                self.graph = list(range(self.disk))
                self.tell(GraphStarted(generation, self.disk))
            case Pin(generation, boundary) if boundary > len(self.graph):
                self.asked = asked  # it waits until the graph stands there
            case Pin(generation, boundary):
                if asked.epoch and not self.has_room and self.pinned:
                    self.tell(PinRefused(generation, boundary))
                    return
                self.pinned.append(asked)
                self.most_pinned = max(self.most_pinned, len(self.pinned))
                self.is_epoch = asked.epoch and self.has_room
                self.tell(Pinned(generation, boundary, self.is_epoch))

    def read(self, *, is_late: bool = False) -> None:
        """What is made of the oldest pinned graph is there; ``is_late``: told behind the next."""
        done = self.reads.pop(0) if self.reads else None
        late, self.late = self.late, None
        match done:
            case Analyse(generation, boundary):
                if not self.pinned[0].checkpoint:
                    self._let_go()
                answer = Analysed(generation, boundary, self.has_columns)
                if is_late and self.reads and late is None:
                    self.late = answer
                else:
                    self.tell(answer)
            case Capture(generation, boundary):
                self._let_go()
                self.tell(Captured(generation, boundary))
        if late is not None and self.finish is None:
            self.tell(late)

    def _let_go(self) -> None:
        del self.pinned[0]
        self.is_epoch = self.is_epoch or not self.pinned

    def write(self) -> None:
        """The oldest write ends."""
        if not self.writes:
            return
        done = self.writes.pop(0)
        if isinstance(done, WriteResults):
            self.results.append(done.boundary)
        else:
            assert done.first == self.disk, "reports of some batches were not written"
            self.reported.append((done.first, done.boundary))
            self.disk = done.boundary
            self.checkpoints.append(done.boundary)
        self.tell(Written())

    def die(self) -> None:
        """The graph's worker is killed."""
        if self.generation >= 0:
            self.tell(GraphLost(self.generation, "its worker was killed"))

    def run(self) -> None:
        """Everything goes well until the end, or until it is up to date, where it follows."""
        steps = 0
        while self.finish is None and not self.lifecycle.is_waiting:
            self.load()
            if self.finish is None:
                self.apply_ready()
            if self.finish is None:
                self.answer()
            if self.finish is None:
                self.read()
            if self.finish is None:
                self.write()
            steps += 1
            assert steps < 10_000, f"stuck in state {self.lifecycle.state}"


def world(batches: int, **arguments: object) -> World:
    bad = arguments.pop("bad", None)
    if (every := arguments.pop("analytics_every", None)) != 0:
        arguments.setdefault("analytics", {"ranks": every})
    own = ("checkpointed", "results_missing", "follows")
    begun = {name: arguments.pop(name) for name in own if name in arguments}
    rules = RunRules(**{"window": 4, **arguments})  # type: ignore[arg-type]
    return World(Lifecycle(rules, batches=batches, **begun), bad)  # type: ignore[arg-type]
