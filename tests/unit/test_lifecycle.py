"""The decisions of a run, alone: what is read, applied, analyzed and written, and when."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.pipeline.state_machine.events import (
    ClockTicked,
    RunStarted,
)
from graphtide.pipeline.state_machine.instructions import (
    Finish,
    Pin,
)
from graphtide.pipeline.state_machine.lifecycle import MOST_WRITES
from lifecycle_world import world
from strategies import examples


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


@pytest.mark.parametrize("batches", [1, 7])
def test_missing_results_are_computed_without_a_batch_or_a_checkpoint(batches: int) -> None:
    here = world(batches, checkpointed=batches, results_missing=True, analytics_every=5)
    here.tell(RunStarted())
    here.run()
    assert (here.results, here.checkpoints) == ([batches], [])


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
    here.apply_ready(2)
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
    assert here.waiting == {0, 1, 2, 3}, "up to where another graph would be pinned"


def test_checkpoints_by_batches() -> None:
    here = world(10, checkpoint_batches=4)
    here.tell(RunStarted())
    here.run()
    assert here.checkpoints == [4, 8, 10]


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
    assert here.waiting == {2, 3, 4}
    assert [here.behind[4]] == here.requested_pins, "it would come before the checkpoint"
    here.run()
    assert here.checkpoints == [4, 10]


def test_a_checkpoint_by_time_comes_a_batch_after_results_that_are_asked_for() -> None:
    here = world(10, analytics_every=2, checkpoint_seconds=60.0, window=1)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    here.apply_ready(is_told=False)
    assert here.asked == Pin(0, 2, results=("ranks",), checkpoint=False, epoch=True)
    here.now = 60.0
    here.tell(ClockTicked())
    here.run()
    assert here.checkpoints == [3, 10]


def test_no_checkpoint_by_time_where_nothing_was_applied() -> None:
    here = world(10, checkpointed=3, checkpoint_seconds=1.0, window=2)
    here.tell(RunStarted())
    here.now = 5.0
    here.answer()
    here.tell(ClockTicked())
    assert here.waiting == {3, 4}
    here.answer()
    assert not here.pinned, "the graph does not stand there yet"


@settings(max_examples=examples(150), deadline=None)
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
        max_loads=data.draw(st.sampled_from([1, 2, 4, 8]), "loads at once"),
        analytics_every=every,
        checkpoint_seconds=data.draw(st.sampled_from([None, 3.0]), "checkpoint seconds"),
        checkpoint_batches=data.draw(st.sampled_from([None, 1, 4]), "checkpoint batches"),
        epochs=data.draw(st.integers(1, 4), "epochs"),
        graph_restarts=1_000,
        bad=bad,
    )
    here.loads_end = False
    here.has_columns = data.draw(st.booleans(), "columns are written")
    here.tell(RunStarted())
    kinds = st.sampled_from(["load", "apply", "answer", "read", "write", "die", "tick"])
    # A list that may be empty has about five elements.
    count = data.draw(st.integers(0, 60), "count of steps")
    steps = data.draw(st.lists(kinds, min_size=count, max_size=count), "steps")
    for step in steps:
        if here.finish is not None:
            break
        here.now += 1.0
        match step:
            case "load":
                here.load(data.draw(st.integers(1, 3), "count"))
            case "apply":
                is_told = data.draw(st.booleans(), "told at once")
                here.apply_ready(data.draw(st.integers(1, 3), "count"), is_told=is_told)
            case "answer":
                here.has_room = data.draw(st.booleans(), "room for an epoch")
                here.answer(is_late=data.draw(st.booleans(), "overtaken"))
            case "read":
                here.read(is_late=data.draw(st.booleans(), "answers late"))
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
    most = here.epochs + MOST_WRITES
    assert here.most_writes <= most, "arrays pile up before the disk"
    assert (here.finish.error is None) == (end == batches)


def test_what_batches_wait_for_is_told() -> None:
    here = world(8, analytics_every=4, checkpoint_batches=8)
    machine = here.lifecycle
    here.tell(RunStarted())
    here.answer()
    assert machine.held_by is None
    here.apply_ready(4)
    # An epoch is pinned, so the next batches flow, up to where something is due again.
    assert machine.applied == 4
    assert machine.held_by is None
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
