"""The decisions of a run that follows its log, and of one that is stopped."""

from graphtide.gpu_core.errors import StateError
from graphtide.pipeline.state_machine.events import (
    BatchesPlanned,
    LogFailed,
    RunStarted,
    StopRequested,
)
from graphtide.pipeline.state_machine.instructions import (
    Finish,
)
from lifecycle_world import world


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
    here.tell(StopRequested())
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
    here.tell(StopRequested())
    here.run()
    assert (here.results, here.checkpoints) == ([4, 6], [3, 6])


def test_a_stop_has_the_rarer_results_computed_where_others_were_already() -> None:
    here = world(3, follows=True, analytics={"often": 1, "rarely": 4, "at the end": None})
    here.tell(RunStarted())
    here.run()
    assert here.due[3] == ("often", "at the end")
    here.tell(StopRequested())
    here.run()
    assert here.due[3] == ("rarely",)
    assert (here.finish, here.checkpoints) == (Finish(None), [3])


def test_a_stop_has_the_columns_of_the_last_batch_written_that_were_not() -> None:
    cadences = {"often": 1, "rarely": 2, "at the end": None}
    here = world(3, follows=True, analytics=cadences, columns_every=3)
    here.tell(RunStarted())
    here.run()
    here.tell(BatchesPlanned(4))
    here.run()
    # At 3 all columns of the first were written, at 4 those of the second.
    assert (here.due[3], here.due[4]) == (("often", "at the end"), tuple(cadences))
    here.tell(StopRequested())
    here.run()
    assert here.due[4] == ("often",)
    assert (here.finish, here.checkpoints) == (Finish(None), [3, 4])


def test_a_stop_where_the_run_began_has_the_results_computed_that_are_not_there() -> None:
    begun = {"checkpointed": 3, "follows": True, "lacks_last": True}
    for planned, due in ((3, {3: ("rarely",)}), (5, {5: ("rarely",)})):
        here = world(3, analytics={"rarely": 7}, **begun)
        here.tell(RunStarted())
        here.run()
        here.tell(BatchesPlanned(planned))
        here.run()
        assert here.due == {}
        here.tell(StopRequested())
        here.run()
        assert (here.due, here.finish) == (due, Finish(None))


def test_a_run_that_is_stopped_finishes_what_it_has_begun_to_apply() -> None:
    here = world(50, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    begun = here.lifecycle.apply_next
    assert 2 < begun < 50
    here.tell(StopRequested())
    here.run()
    assert here.finish == Finish(None)
    assert (here.results, here.checkpoints) == ([], [begun])


def test_a_graph_that_dies_while_a_run_is_being_stopped_comes_back_for_it() -> None:
    here = world(50, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    begun = here.lifecycle.apply_next
    here.tell(StopRequested())
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


def test_batches_that_come_while_results_are_computed_do_not_wait_for_them() -> None:
    here = world(2, follows=True)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    here.answer()
    assert here.reading
    here.tell(BatchesPlanned(4))
    here.apply_ready()
    assert len(here.graph) == 4
    here.run()
    assert here.results == [2, 4]
