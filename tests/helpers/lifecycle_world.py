"""A small world that performs the instructions of a lifecycle, in any order that a test likes."""

from graphtide.gpu_core.errors import BatchError
from graphtide.pipeline.state_machine.events import (
    Analyzed,
    BatchesApplied,
    BatchFailed,
    BatchLoaded,
    GraphCopied,
    GraphLost,
    GraphPinned,
    GraphStarted,
    Written,
)
from graphtide.pipeline.state_machine.instructions import (
    Apply,
    CopyGraph,
    Discard,
    Finish,
    Load,
    Pin,
    StartGraph,
    WriteCheckpoint,
    WriteResults,
)
from graphtide.pipeline.state_machine.lifecycle import Lifecycle
from graphtide.pipeline.state_machine.run_rules import RunRules


class World:
    """Performs instructions as a cluster does: loads end in any order, applies by number.

    ``disk`` is the boundary of the newest checkpoint, ``results`` those with results there,
    ``graph`` the batches in the living generation's graph.
    """

    def __init__(self, lifecycle: Lifecycle, bad: set[int] | None = None) -> None:
        self.lifecycle = lifecycle
        self.epochs = lifecycle.pins.most
        self.bad = bad or set()
        self.has_failed = False
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
        self.starting: StartGraph | None = None
        #: Pins that are not made, the oldest first, and by batch the one that it comes behind.
        self.requested_pins: list[Pin] = []
        self.behind: dict[int, Pin | None] = {}
        #: Answers of those that are made, and graphs beside which there was no room for one.
        self.made: list[GraphPinned] = []
        self.memory_holds: int | None = None
        #: Whether there is room for another epoch.
        self.has_room = True
        #: What is pinned, the oldest first, and the one that is the graph itself.
        self.pinned: list[Pin] = []
        self.held: Pin | None = None
        #: Those of them whose results are not computed, with what is told of them then; the copy
        #: that is made of the oldest; and the answer that the next one overtakes.
        self.computing: list[GraphPinned] = []
        self.copying: CopyGraph | None = None
        self.late: GraphPinned | GraphCopied | None = None
        #: Whether results have columns that are written.
        self.has_columns = True
        #: Most graphs that were pinned at once.
        self.most_pinned = 0
        #: Most writes of arrays that waited at once.
        self.most_writes = 0
        self.finish: Finish | None = None

    def tell(self, event: object) -> None:
        assert self.finish is None or isinstance(event, Written), "an event after the end"
        if isinstance(event, BatchFailed):  # the graph never stands behind it
            self.has_failed = True
            self.requested_pins = [p for p in self.requested_pins if p.boundary <= event.batch_id]
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
                assert self.asked is None, "two things are done with the graph at once"
                self.starting = instruction
            case Load(generation, batch_id):
                assert generation == self.generation
                assert batch_id not in self.asked_for, "a batch was loaded twice in a generation"
                self.asked_for.add(batch_id)
            case Apply(generation, batch_id, behind):
                assert generation == self.generation
                assert batch_id in self.asked_for, "a batch was applied that nobody loads"
                assert batch_id not in self.waiting
                self.waiting.add(batch_id)
                self.behind[batch_id] = behind
            case Pin(_, boundary):
                before = set(range(len(self.graph), boundary))
                assert before <= self.waiting | self.bad, "not all before it are to be applied"
                # Where a batch has failed, those behind it are refused.
                is_first = max(self.waiting, default=-1) < boundary or self.has_failed
                assert is_first, "a batch behind it is to be applied already"
                assert instruction.results or instruction.checkpoint, "pinned for nothing"
                number = len(self.pinned) + len(self.requested_pins)
                assert number < self.epochs, "too many graphs are pinned"
                if instruction.results:
                    self.due[boundary] = instruction.results
                self.requested_pins.append(instruction)
            case CopyGraph(_, boundary):
                assert self.copying is None, "two copies are made at once"
                assert self.pinned[0].boundary == boundary, "read out of order"
                computing = [each.boundary for each in self.computing]
                assert boundary not in computing, "it is copied before its results are there"
                self.copying = instruction
            case WriteResults() | WriteCheckpoint():
                self.writes.append(instruction)
                arrays = [
                    w for w in self.writes if self.has_columns or isinstance(w, WriteCheckpoint)
                ]
                self.most_writes = max(self.most_writes, len(arrays))
            case Discard():
                self._forget()
                self.starting = self.late = self.held = self.memory_holds = self.copying = None
                self.computing, self.pinned, self.requested_pins, self.made = [], [], [], []
            case Finish():
                self.finish = instruction

    def _forget(self) -> None:
        self.graph, self.asked_for, self.loaded, self.waiting = [], set(), set(), set()

    @property
    def asked(self) -> StartGraph | Pin | None:
        """What is to be done with the graph next."""
        return self.starting or (self.requested_pins[0] if self.requested_pins else None)

    @property
    def reading(self) -> Pin | CopyGraph | None:
        """What is made of the oldest pinned graph: its results, or a copy."""
        results = [each.boundary for each in self.computing]
        if self.pinned and self.pinned[0].boundary in results:
            return self.pinned[0]
        return self.copying

    @property
    def loading(self) -> list[int]:
        return sorted(self.asked_for - self.loaded)

    def _check(self) -> None:
        machine = self.lifecycle
        ahead = len([batch for batch in self.asked_for if batch >= len(self.graph)])
        if machine.state in ("applying", "holding"):
            assert ahead <= machine.rules.window, "the window is wider than the credits"
            assert len(self.loading) <= machine.rules.max_loads, "too many loads"
        assert machine.checkpointed <= machine.applied <= machine.apply_next <= machine.load_next
        assert machine.writing == len(self.writes) or self.finish is not None

    # -- what may happen next

    def load(self, count: int = 1_000_000) -> None:
        """Up to ``count`` loads end, those of the latest batches first."""
        for batch_id in self.loading[::-1][:count]:
            self.loaded.add(batch_id)
            self.tell(BatchLoaded(self.generation, batch_id))

    def apply_ready(self, count: int = 1_000_000, *, is_told: bool = True) -> None:
        """The graph takes up to ``count`` batches that are there, in order; then it says so.

        ``is_told``: whether at once. A graph that is pinned tells of the batches before it.
        """
        if self.starting:
            return
        if self.loads_end:
            self.load()
        applied = len(self.graph)
        while applied in self.waiting & self.loaded and count > 0:
            # What comes behind a pin has it made first.
            behind = self.behind[applied]
            if behind in self.requested_pins and not self._make(behind):
                break
            if self.held in self.pinned:
                break
            unmade = [pin.boundary for pin in self.requested_pins]
            assert applied not in unmade, "a batch overtakes a pin"
            self.waiting.discard(applied)
            if applied in self.bad:
                self.tell(BatchesApplied(self.generation, applied))
                self.tell(BatchFailed(self.generation, applied, BatchError(f"batch {applied}")))
                return
            self.graph.append(applied)
            applied += 1
            count -= 1
        if is_told:
            self.tell(BatchesApplied(self.generation, applied))

    def _make(self, pin: Pin) -> bool:
        """Pin the graph, which stands there, if there is room beside the others."""
        if pin.epoch and not self.has_room and self.pinned:
            self.memory_holds = len(self.pinned)
            return False
        self.requested_pins.remove(pin)
        self.pinned.append(pin)
        self.most_pinned = max(self.most_pinned, len(self.pinned))
        is_epoch = pin.epoch and self.has_room
        if not is_epoch:
            self.held = pin
        answers = self.computing if pin.results else self.made
        answers.append(GraphPinned(pin.generation, pin.boundary, is_epoch, self.memory_holds))
        self.memory_holds = None
        return True

    def answer(self, *, is_late: bool = False) -> None:
        """What is being done with the graph ends; ``is_late``: a later answer comes first."""
        if (starting := self.starting) is not None:
            self.starting = None
            self.graph = list(range(self.disk))
            self.tell(GraphStarted(starting.generation, self.disk))
            return
        if self.requested_pins and self.requested_pins[0].boundary == len(self.graph):
            self._make(self.requested_pins[0])
        if self.made:
            made = self.made.pop(-1 if is_late else 0)
            self.tell(BatchesApplied(made.generation, made.boundary))
            self.tell(made)

    def read(self, *, is_late: bool = False) -> None:
        """What is made of the oldest pinned graph is there; ``is_late``: told behind the next."""
        late, self.late = self.late, None
        done: GraphPinned | GraphCopied | None = None
        match self.reading:
            case Pin(_, _, _, checkpoint):
                done = self.computing.pop(0)
                if not checkpoint:
                    self._release_oldest()
            case CopyGraph(generation, boundary):
                self.copying = None
                self._release_oldest()
                done = GraphCopied(generation, boundary)
        if is_late and self.computing and late is None:
            self.late = done
        else:
            self._tell_read(done)
        if self.finish is None:
            self._tell_read(late)

    def _tell_read(self, done: GraphPinned | GraphCopied | None) -> None:
        if isinstance(done, GraphPinned):
            self.tell(BatchesApplied(done.generation, done.boundary))
            self.tell(done)
            self.tell(Analyzed(done.generation, done.boundary, self.has_columns))
        elif done is not None:
            self.tell(done)

    def _release_oldest(self) -> None:
        del self.pinned[0]

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
    own = ("checkpointed", "results_missing", "follows", "lacks_last")
    begun = {name: arguments.pop(name) for name in own if name in arguments}
    window = arguments.setdefault("window", 4)
    rules = RunRules(**{"max_loads": window, **arguments})  # type: ignore[arg-type]
    return World(Lifecycle(rules, batches=batches, **begun), bad)  # type: ignore[arg-type]
