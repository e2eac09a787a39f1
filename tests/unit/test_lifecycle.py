"""The decisions of a run, alone: a small world performs the instructions, in any order it likes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.gpu_core.errors import BatchError, ClusterError, ConvergenceError, StateError
from graphtide.pipeline.events import (
    Analysed,
    BatchesApplied,
    BatchesPlanned,
    BatchFailed,
    BatchLoaded,
    Captured,
    ClockTicked,
    GraphFailed,
    GraphLost,
    GraphStarted,
    LogFailed,
    Pinned,
    RunStarted,
    StopAsked,
    WriteFailed,
    Written,
)
from graphtide.pipeline.instructions import (
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
from graphtide.pipeline.lifecycle import MOST_WRITES, Lifecycle


class World:
    """Performs instructions as a cluster does: loads end in any order, applies by number.

    ``disk`` is the boundary of the newest checkpoint, ``results`` those with results there,
    ``graph`` the batches in the living generation's graph.
    """

    def __init__(self, lifecycle: Lifecycle, bad: set[int] | None = None) -> None:
        self.lifecycle = lifecycle
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
        #: Whether there is room for epochs.
        self.has_room = True
        #: What is pinned, whether batches can be applied meanwhile, and what reads it.
        self.pinned: Pin | None = None
        self.is_epoch = False
        self.reading: Analyse | Capture | None = None
        #: Most writes that waited at once.
        self.most_writes = 0
        self.finish: Finish | None = None

    def tell(self, event: object) -> None:
        assert self.finish is None or isinstance(event, Written), "an event after the end"
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
                assert len(self.graph) == boundary, "not at this boundary"
                assert instruction.results or instruction.checkpoint, "pinned for nothing"
                assert self.pinned is None, "two graphs are kept beside the one that goes on"
                self.due[boundary] = instruction.results
                self._ask(instruction)
            case Analyse(_, boundary, _) | Capture(_, boundary):
                assert self.reading is None, "two things are made of an epoch at once"
                assert self.pinned is not None
                assert self.pinned.boundary == boundary, "another boundary is pinned"
                self.reading = instruction
            case WriteResults() | WriteCheckpoint():
                self.writes.append(instruction)
                self.most_writes = max(self.most_writes, len(self.writes))
            case Discard():
                self._forget()
                self.asked = self.pinned = self.reading = None
            case Finish():
                self.finish = instruction

    def _forget(self) -> None:
        self.graph, self.asked_for, self.loaded, self.waiting = [], set(), set(), set()

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
            assert ahead <= machine.window, "the window is wider than the credits"
            assert len(self.loading) <= (machine.max_loads or machine.window), "too many loads"
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
        if self.asked is not None or (self.pinned and not self.is_epoch):
            return
        if self.loads_end:
            self.load()
        applied = len(self.graph)
        while applied in self.waiting & self.loaded and count > 0:
            self.waiting.discard(applied)
            if applied in self.bad:
                self.bad_seen = applied
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
            case Pin(generation, boundary):
                self.pinned, self.is_epoch = asked, asked.epoch and self.has_room
                self.tell(Pinned(generation, boundary, self.is_epoch))

    def read(self) -> None:
        """What is made of the pinned graph is there."""
        done, self.reading = self.reading, None
        match done:
            case Analyse(generation, boundary):
                if not self.pinned.checkpoint:
                    self.pinned = None
                self.tell(Analysed(generation, boundary))
            case Capture(generation, boundary):
                self.pinned = None
                self.tell(Captured(generation, boundary))

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
    return World(Lifecycle(batches=batches, **{"window": 4, **arguments}), bad)  # type: ignore[arg-type]


def test_a_run_ends_with_results_then_a_checkpoint() -> None:
    here = world(10)
    here.tell(RunStarted())
    here.run()
    assert here.graph == list(range(10))
    assert (here.results, here.checkpoints) == ([10], [10])
    assert here.finish == Finish(None)


def test_an_empty_plan_and_a_complete_one_need_no_graph() -> None:
    for batches, checkpointed in ((0, 0), (7, 7)):
        here = world(batches, checkpointed=checkpointed)
        assert here.lifecycle.nothing_to_do
        here.tell(RunStarted())
        assert here.finish == Finish(None)
        assert here.generation == -1


def test_missing_results_are_computed_without_a_batch_or_a_checkpoint() -> None:
    here = world(7, checkpointed=7, results_missing=True, analytics_every=5)
    here.tell(RunStarted())
    here.run()
    assert (here.results, here.checkpoints) == ([7], [])


def test_results_that_are_missing_on_the_way_are_not_computed_late() -> None:
    for checkpointed in (0, 4):
        here = world(7, checkpointed=checkpointed, results_missing=True, analytics_every=5)
        here.tell(RunStarted())
        here.run()
        assert here.results == [5, 7]


def test_no_more_than_the_window_is_asked_for() -> None:
    here = world(10, window=3)
    here.tell(RunStarted())
    here.answer()
    assert here.asked_for == {0, 1, 2}
    assert here.waiting == {0, 1, 2}
    here.apply_ready(1)
    assert here.asked_for == {0, 1, 2, 3}


def test_a_load_begins_when_another_has_ended_also_while_results_are_computed() -> None:
    here = world(10, window=6, max_loads=2, analytics_every=2)
    here.loads_end = False
    here.tell(RunStarted())
    here.answer()
    assert here.loading == [0, 1]
    here.load(1)
    assert here.loading == [0, 2]
    here.load(1)
    here.load()
    assert here.loading == [4, 5], "the window has room for six"
    here.apply_ready()
    assert isinstance(here.asked, Pin)
    here.load()
    assert here.loading == [6, 7], "the graph is pinned, workers read"


def test_results_come_at_every_k_batches_of_the_log_and_at_its_end() -> None:
    here = world(11, checkpointed=2, analytics_every=4)
    here.tell(RunStarted())
    here.run()
    assert here.results == [4, 8, 11]
    assert here.checkpoints == [11], "a checkpoint was made that nobody asked for"


def test_results_of_a_lost_graph_are_computed_again_where_something_is_maintained() -> None:
    for repeats, results in ((False, [1, 2, 3, 4, 5]), (True, [1, 2, 3, 4, 4, 5])):
        here = world(
            5, window=1, analytics_every=1, checkpoint_batches=3, repeats_results=repeats
        )  # fmt: skip
        here.tell(RunStarted())
        while len(here.results) < 4:
            here.answer()
            here.apply_ready()
            here.read()
            here.write()
        here.die()
        here.run()
        assert here.results == results


def test_each_result_has_its_own_cadence() -> None:
    cadences = {"often": 2, "rare": 3, "last": None}
    here = world(7, checkpointed=1, analytics=cadences)
    here.tell(RunStarted())
    here.run()
    assert here.due == {
        2: ("often",), 3: ("rare",), 4: ("often",), 6: ("often", "rare"),
        7: ("often", "rare", "last"),
    }  # fmt: skip
    here = world(4, follows=True, analytics=cadences)
    here.tell(RunStarted())
    here.run()
    assert here.due == {2: ("often",), 3: ("rare",), 4: ("often", "last")}


def test_no_results_when_none_are_asked_for() -> None:
    here = world(5, analytics_every=0)
    here.tell(RunStarted())
    here.run()
    assert (here.results, here.checkpoints) == ([], [5])


def test_loads_go_on_while_applies_are_held_at_a_barrier() -> None:
    here = world(10, analytics_every=2, window=5)
    here.tell(RunStarted())
    here.answer()
    assert here.asked_for == {0, 1, 2, 3, 4}
    assert here.waiting == {0, 1}


def test_checkpoints_by_batches() -> None:
    here = world(10, checkpoint_batches=4)
    here.tell(RunStarted())
    here.run()
    assert here.checkpoints == [4, 8, 10]


def test_batches_go_on_while_results_are_computed_and_the_graph_is_copied() -> None:
    here = world(9, checkpoint_batches=3, analytics_every=3)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    assert here.asked == Pin(0, 3, results=("ranks",), checkpoint=True, epoch=True)
    here.answer()
    assert here.reading == Analyse(0, 3, ("ranks",))
    here.apply_ready(2)
    assert len(here.graph) == 5, "batches wait for results"
    here.read()
    assert here.reading == Capture(0, 3)
    here.apply_ready()
    assert len(here.graph) == 6, "batches wait for the copy"
    assert here.asked is None, "another graph is kept before the first one is read"
    assert (here.results, here.checkpoints) == ([], [])
    here.read()
    assert here.asked == Pin(0, 6, results=("ranks",), checkpoint=True, epoch=True)
    here.run()
    assert here.reported == [(0, 3), (3, 6), (6, 9)]
    assert here.results == [3, 6, 9]


@pytest.mark.parametrize("every", [2, 4])
def test_batches_wait_for_results_where_there_is_no_epoch(every: int) -> None:
    """There is no room for one, or no batch follows."""
    here = world(4, analytics_every=every)
    here.has_room = False
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    assert here.asked == Pin(0, every, results=("ranks",), checkpoint=every == 4, epoch=every < 4)
    here.answer()
    assert here.lifecycle.state == "holding"
    assert here.waiting == set(), "a batch was asked for while the graph is read"
    here.run()
    assert here.results == sorted({every, 4})


def test_nothing_is_pinned_while_many_results_wait_for_the_disk() -> None:
    here = world(20, analytics_every=1, window=2)
    here.tell(RunStarted())
    while here.asked is not None or here.reading is not None:
        here.answer()
        here.read()
        here.apply_ready()
    assert len(here.writes) == MOST_WRITES
    here.write()
    assert isinstance(here.asked, Pin), "the disk has room again"
    here.run()
    assert here.results == list(range(1, 21))


@pytest.mark.parametrize("reads", [0, 1])
def test_what_was_pinned_is_lost_with_the_graph(reads: int) -> None:
    here = world(9, checkpoint_batches=3, analytics_every=3)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    here.answer()
    for _ in range(reads):
        here.read()
    here.apply_ready()
    here.die()
    assert here.lifecycle.pin is None
    here.tell(Analysed(0, 3))
    here.tell(Captured(0, 3))
    assert len(here.writes) == reads, "what a lost generation made was written"
    here.run()
    assert here.checkpoints == [3, 6, 9]
    assert here.results == [3, 6, 9], "results are missing, or written twice"


def test_the_end_waits_for_what_is_read() -> None:
    here = world(2)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    here.answer()
    here.read()
    here.write()
    assert here.finish is None
    here.read()
    assert here.writes
    here.write()
    assert here.finish is not None
    assert (here.results, here.checkpoints) == ([2], [2])


def test_a_checkpoint_by_time_is_due_after_what_is_asked_for() -> None:
    here = world(10, checkpoint_seconds=60.0, window=3)
    here.tell(RunStarted())
    here.answer()
    here.now = 59.9
    here.tell(ClockTicked())
    here.apply_ready(1)
    assert here.waiting == {1, 2, 3}, "a checkpoint came too early"
    here.now = 60.0
    here.tell(ClockTicked())
    here.apply_ready(1)
    assert here.waiting == {2, 3}, "a batch was asked for beyond the checkpoint"
    here.run()
    assert here.checkpoints == [4, 10]


def test_no_checkpoint_by_time_where_nothing_was_applied() -> None:
    here = world(10, checkpointed=3, checkpoint_seconds=1.0, window=2)
    here.tell(RunStarted())
    here.now = 5.0
    here.answer()
    here.tell(ClockTicked())
    assert here.waiting == {3, 4}
    assert here.asked is None


@pytest.mark.parametrize("bad", [0, 3, 9])
def test_a_bad_batch_ends_the_run_with_all_before_it_checkpointed(bad: int) -> None:
    here = world(10, bad={bad}, analytics_every=2)
    here.tell(RunStarted())
    here.run()
    assert here.graph == list(range(bad))
    assert here.disk == bad
    assert here.results == list(range(2, bad + 1, 2)), "results are due up to the bad batch"
    assert str(here.finish.error) == f"batch {bad}"


def test_the_first_of_several_bad_batches_is_the_error() -> None:
    here = world(10, window=8)
    here.tell(RunStarted())
    here.answer()
    here.tell(BatchFailed(0, 5, BatchError("five")))
    here.tell(BatchFailed(0, 2, BatchError("two")))
    here.tell(BatchFailed(0, 3, BatchError("three")))
    here.waiting.discard(2)
    here.run()
    assert here.disk == 2
    assert str(here.finish.error) == "two"


def test_a_broken_graph_is_not_checkpointed() -> None:
    here = world(10)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    here.tell(GraphFailed(0, RuntimeError("bug")))
    assert str(here.finish.error) == "bug"
    assert here.checkpoints == []


def test_failed_results_leave_no_checkpoint_that_would_claim_them() -> None:
    here = world(10, checkpoint_batches=3, analytics_every=5)
    here.tell(RunStarted())
    while not isinstance(here.reading, Analyse):
        here.read()
        here.answer()
        here.apply_ready()
        here.write()
    here.tell(GraphFailed(0, ConvergenceError("slow")))
    assert here.checkpoints == [3]
    assert str(here.finish.error) == "slow"


def test_a_lost_graph_waits_for_writes_then_goes_on_from_the_newest_checkpoint() -> None:
    here = world(10, checkpoint_batches=4)
    here.tell(RunStarted())
    while not here.writes:
        here.answer()
        here.apply_ready()
        here.read()
    here.die()
    assert here.asked is None, "a graph was started before the checkpoint was whole"
    here.write()
    assert here.asked == StartGraph(1)
    here.answer()
    assert here.graph == [0, 1, 2, 3]
    here.run()
    assert here.graph == list(range(10))


def test_events_of_a_lost_generation_are_ignored() -> None:
    here = world(10, window=8)
    here.tell(RunStarted())
    here.answer()
    here.die()
    here.answer()
    before = here.lifecycle.applied
    here.tell(BatchesApplied(0, 6))
    here.tell(BatchFailed(0, 1, BatchError("late")))
    here.tell(GraphLost(0, "again"))
    assert here.lifecycle.applied == before
    here.run()
    assert here.finish == Finish(None)


def test_a_graph_that_is_lost_again_and_again_ends_the_run() -> None:
    here = world(10, graph_restarts=2)
    here.tell(RunStarted())
    for _ in range(3):
        here.answer()
        here.die()
    assert isinstance(here.finish.error, ClusterError)
    assert "3 times in a row" in str(here.finish.error)


def test_a_checkpoint_between_two_losses_starts_the_count_of_losses_again() -> None:
    here = world(10, graph_restarts=1, checkpoint_batches=2)
    here.tell(RunStarted())
    for boundary in (2, 4, 6):
        here.answer()
        here.die()
        here.answer()
        while here.disk < boundary:
            here.apply_ready()
            here.answer()
            here.read()
            here.write()
    here.run()
    assert here.finish == Finish(None)


def test_a_broken_checkpoint_means_an_older_one() -> None:
    here = world(10, checkpointed=8, analytics_every=4)
    here.disk = 4
    here.tell(RunStarted())
    here.run()
    assert here.graph == list(range(10))
    assert here.reported == [(4, 10)]


def test_nothing_is_written_after_a_write_that_failed() -> None:
    here = world(10, checkpoint_batches=4)
    here.tell(RunStarted())
    while not here.writes:
        here.answer()
        here.apply_ready()
        here.read()
    here.tell(WriteFailed(StateError("disk full")))
    assert str(here.finish.error) == "disk full"


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_interleaving_applies_each_batch_once_and_in_order(data: st.DataObject) -> None:
    batches = data.draw(st.integers(0, 12), "batches")
    checkpointed = data.draw(st.integers(0, batches), "checkpointed")
    every = data.draw(st.sampled_from([None, 0, 1, 3, 5]), "analytics every")
    bad = data.draw(st.sets(st.integers(checkpointed, 12), max_size=2), "bad batches")
    here = world(
        batches,
        checkpointed=checkpointed,
        window=data.draw(st.integers(1, 5), "window"),
        max_loads=data.draw(st.sampled_from([None, 1, 2, 4]), "loads at once"),
        analytics_every=every,
        checkpoint_seconds=data.draw(st.sampled_from([None, 3.0]), "checkpoint seconds"),
        checkpoint_batches=data.draw(st.sampled_from([None, 1, 4]), "checkpoint batches"),
        graph_restarts=1_000,
        bad=bad,
    )
    here.loads_end = False
    here.tell(RunStarted())
    kinds = st.sampled_from(["load", "apply", "answer", "read", "write", "die", "tick"])
    steps = data.draw(st.lists(kinds, max_size=60), "steps")
    for step in steps:
        if here.finish is not None:
            break
        here.now += 1.0
        match step:
            case "load":
                here.load(data.draw(st.integers(1, 3), "count"))
            case "apply":
                here.apply_ready(data.draw(st.integers(1, 3), "count"))
            case "answer":
                here.has_room = data.draw(st.booleans(), "room for an epoch")
                here.answer()
            case "read":
                here.read()
            case "write":
                here.write()
            case "die":
                here.die()
            case "tick":
                here.tell(ClockTicked())
    here.run()

    end = min((batch for batch in bad if batch < batches), default=batches)
    assert here.disk == end
    assert here.graph in (list(range(end)), [])  # [] where the last write outlived the graph
    assert here.checkpoints == sorted(set(here.checkpoints)), "a checkpoint was written twice"
    due = [b for b in range(checkpointed + 1, end + 1) if every and b % every == 0]
    if every != 0 and end == batches and end > checkpointed:
        due.append(end)
    assert here.results == sorted(set(due)), "each result that is due is there, once, in order"
    assert here.most_writes <= MOST_WRITES + 1, "arrays pile up before the disk"
    assert (here.finish.error is None) == (end == batches)


def test_what_batches_wait_for_is_told() -> None:
    here = world(8, analytics_every=4, checkpoint_batches=8)
    machine = here.lifecycle
    here.tell(RunStarted())
    here.answer()
    assert machine.held_by is None
    here.apply_ready()
    assert machine.applied == 4
    assert machine.held_by == "analytics"
    # An epoch is pinned, so the next batches flow, up to where something is due again.
    here.answer()
    assert machine.held_by is None
    here.apply_ready()
    assert machine.applied == 8
    assert machine.held_by == "analytics"
    here.read()
    here.answer()
    here.read()
    assert machine.held_by == "disk"
    here.read()
    assert machine.state == "ending"
    assert machine.held_by == "disk"
    here.run()
    assert machine.held_by is None


def test_a_run_that_follows_keeps_what_there_is_and_waits_for_more() -> None:
    here = world(4, follows=True)
    here.tell(RunStarted())
    here.run()
    assert here.finish is None
    assert (here.results, here.checkpoints) == ([4], [4])
    here.tell(BatchesPlanned(7))
    assert not here.lifecycle.is_waiting
    here.run()
    assert (here.results, here.checkpoints) == ([4, 7], [4, 7])
    here.tell(StopAsked())
    assert here.finish == Finish(None)
    assert here.generation == 0


def test_a_run_that_follows_an_empty_log_waits_with_a_graph() -> None:
    here = world(0, follows=True)
    here.tell(RunStarted())
    here.run()
    assert here.lifecycle.is_waiting
    assert here.generation == 0
    here.tell(BatchesPlanned(2))
    here.run()
    assert here.checkpoints == [2]


def test_results_by_number_are_not_due_whenever_a_run_is_up_to_date() -> None:
    here = world(3, follows=True, analytics_every=4)
    here.tell(RunStarted())
    here.run()
    assert (here.results, here.checkpoints) == ([], [3])
    here.tell(BatchesPlanned(6))
    here.run()
    assert (here.results, here.checkpoints) == ([4], [3, 6])
    here.tell(StopAsked())
    here.run()
    assert (here.results, here.checkpoints) == ([4, 6], [3, 6])


def test_a_run_that_is_stopped_finishes_what_it_has_begun_to_apply() -> None:
    here = world(50, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    begun = here.lifecycle.apply_next
    assert 2 < begun < 50
    here.tell(StopAsked())
    here.run()
    assert here.finish == Finish(None)
    assert (here.results, here.checkpoints) == ([], [begun])


def test_a_graph_that_dies_while_a_run_is_being_stopped_comes_back_for_it() -> None:
    here = world(50, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    begun = here.lifecycle.apply_next
    here.tell(StopAsked())
    here.die()
    here.run()
    assert here.finish == Finish(None)
    assert here.checkpoints == [begun]
    assert here.graph == list(range(begun))


def test_a_graph_that_dies_while_a_run_waits_comes_back_and_waits() -> None:
    here = world(4, follows=True)
    here.tell(RunStarted())
    here.run()
    here.die()
    here.run()
    assert here.lifecycle.is_waiting
    assert here.generation == 1
    here.tell(BatchesPlanned(5))
    here.run()
    assert here.graph == list(range(5))
    assert here.checkpoints == [4, 5]


def test_a_file_that_cannot_be_used_ends_a_run_behind_what_can() -> None:
    error = StateError("no log")
    here = world(4, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.tell(LogFailed(error))
    here.run()
    assert here.finish == Finish(error)
    assert here.checkpoints == [4]
