"""The decisions of a run where batches are bad, graphs are lost and writes fail."""

import pytest

from graphtide.gpu_core.errors import BatchError, ClusterError, ConvergenceError, StateError
from graphtide.pipeline.state_machine.events import (
    BatchesApplied,
    BatchFailed,
    GraphFailed,
    GraphLost,
    RunStarted,
    WriteFailed,
)
from graphtide.pipeline.state_machine.instructions import (
    Finish,
    StartGraph,
)
from lifecycle_world import world


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
    while not here.computing:
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


@pytest.mark.parametrize("repeats", [False, True])
def test_results_that_a_lost_graph_brought_are_repeated_only_where_the_rules_say_so(
    repeats: bool,
) -> None:
    """At 4 the next graph makes a checkpoint, for which results of 4 are due no more."""
    here = world(10, checkpoint_batches=4, analytics_every=2, repeats_results=repeats)
    here.tell(RunStarted())
    while here.results != [2, 4]:
        here.answer()
        here.apply_ready()
        if not here.copying:
            here.read()
        if here.writes:
            here.write()
    assert here.disk == 0
    here.die()
    here.run()
    assert here.checkpoints == [4, 8, 10]
    assert here.results == [2, 4, *([2, 4] if repeats else []), 6, 8, 10]


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
