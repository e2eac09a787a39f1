"""The decisions of a run, alone: what is read, applied, pinned and written, and when."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.pipeline.monitoring.picture import RunMonitor
from graphtide.pipeline.state_machine.events import (
    Analyzed,
    Captured,
    ClockTicked,
    GraphPinned,
    RunStarted,
)
from graphtide.pipeline.state_machine.instructions import (
    Capture,
    Finish,
    Pin,
    WriteCheckpoint,
    WriteResults,
)
from graphtide.pipeline.state_machine.lifecycle import MOST_WRITES
from lifecycle_world import World, world
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


def test_batches_behind_a_pin_are_asked_for_with_it() -> None:
    here = world(10, analytics_every=2, window=9, epochs=3)
    here.tell(RunStarted())
    here.answer()
    assert [pin.boundary for pin in here.asked_pins] == [2, 4, 6]
    assert here.waiting == set(range(8))
    named = {batch: pin.boundary for batch, pin in here.behind.items() if pin}
    assert named == {2: 2, 4: 4, 6: 6}
    here.apply_ready()
    assert len(here.graph) == 8, "batches wait for an answer"
    assert [each.boundary for each in here.computing] == [2, 4, 6], "results wait for a question"
    assert here.lifecycle.pins.made == 0, "they are only asked for, as far as is known"
    assert here.lifecycle.pinned == 3, "they stand before what is applied"
    here.run()
    assert here.results == [2, 4, 6, 8, 10]


def test_a_graph_takes_no_room_once_its_results_are_here_before_older_ones() -> None:
    here = world(20, analytics_every=1, window=20, epochs=2)
    here.has_columns = False
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    here.answer()
    assert [each.boundary for each in here.computing] == [1, 2]
    here.read(is_late=True)  # of boundary 1: columns, say, which come later
    here.late, late = None, here.late
    assert late == GraphPinned(0, 1, is_epoch=True)
    here.read()
    assert here.results == [], "results are out of order"
    assert [pin.boundary for pin in here.asked_pins] == [3], "one has room beside that which waits"
    assert here.lifecycle.pinned <= 2, "more are shown than may be kept"
    here.late = late
    here.run()
    assert here.results == list(range(1, 21))
    assert here.most_pinned <= 2


def test_checkpoints_by_batches() -> None:
    here = world(10, checkpoint_batches=4)
    here.tell(RunStarted())
    here.run()
    assert here.checkpoints == [4, 8, 10]


def test_batches_go_on_while_results_are_computed_and_the_graph_is_copied() -> None:
    here = world(9, checkpoint_batches=3, analytics_every=3)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(3)
    assert here.asked == Pin(0, 3, results=("ranks",), checkpoint=True, epoch=True)
    here.answer()
    assert here.reading == here.pinned[0]
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


def test_batches_wait_for_results_at_the_end() -> None:
    here = world(4)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready()
    assert here.asked == Pin(0, 4, results=("ranks",), checkpoint=True, epoch=False)
    assert here.lifecycle.state == "holding"
    assert not here.lifecycle.waits_for_pins, "no batch is left that could wait"
    here.run()
    assert here.results == [4]


def test_batches_wait_for_results_where_there_is_no_room_for_an_epoch() -> None:
    here = world(8, analytics_every=2)
    here.has_room = False
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(2)
    here.answer()
    assert here.held is here.pinned[0]
    here.apply_ready()
    assert len(here.graph) == 2, "a batch was applied while the graph is read"
    here.read()
    here.write()
    here.apply_ready()
    here.answer()
    here.apply_ready()
    assert len(here.graph) == 4
    assert here.lifecycle.state == "holding", "more is asked for than there is room for"
    assert here.lifecycle.waits_for_pins
    assert here.lifecycle.held_by == "analytics"
    here.run()
    assert here.results == [2, 4, 6, 8]


def test_a_second_pin_of_a_boundary_that_had_no_room_for_the_first_holds_up_no_batch() -> None:
    here = world(8, analytics_every=2, checkpoint_seconds=60.0, window=1)
    here.has_room = False
    here.tell(RunStarted())
    here.answer()
    while len(here.graph) < 4:
        here.read()
        here.write()
        here.apply_ready()
        here.answer()
    assert here.lifecycle.state == "holding"
    here.has_room = True
    here.now = 60.0
    here.read()
    assert here.asked == Pin(0, 4, results=(), checkpoint=True, epoch=True)
    here.answer()
    here.apply_ready()
    here.apply_ready()
    assert len(here.graph) == 6, "batches wait for the copy of an epoch"
    here.run()
    assert here.checkpoints == [4, 8]


def apply_all(here: World) -> None:
    """Apply and pin as far as nothing has to be read of pinned graphs before."""
    before = None
    while before != (before := (len(here.graph), here.asked, len(here.pinned))):
        here.apply_ready()
        here.answer()


def test_batches_go_on_until_so_many_graphs_are_pinned_and_then_wait_for_the_oldest() -> None:
    here = world(20, analytics_every=1, epochs=3, window=2)
    monitor = RunMonitor(here.lifecycle)
    here.tell(RunStarted())
    here.answer()
    for oldest in (1, 2):
        apply_all(here)
        monitor.sample()
        assert [pin.boundary for pin in here.pinned] == [oldest, oldest + 1, oldest + 2]
        assert here.reading == here.pinned[0], "they are read out of order"
        assert len(here.graph) == oldest + 3, "batches wait before there are so many"
        assert here.lifecycle.waits_for_pins
        here.read()
        here.write()
        monitor.sample()
        assert isinstance(here.asked, Pin), "a graph was released, and no other is pinned"
        assert not here.lifecycle.waits_for_pins
        assert monitor.waits == oldest
    here.run()
    assert here.results == list(range(1, 21))
    assert here.most_pinned == 3


def test_batches_of_the_end_wait_for_nothing() -> None:
    here = world(3, analytics_every=1, epochs=2)
    here.tell(RunStarted())
    here.answer()
    apply_all(here)
    assert (len(here.graph), len(here.pinned)) == (3, 2)
    assert not here.lifecycle.waits_for_pins, "no batch is left that could wait"
    here.run()
    assert here.results == [1, 2, 3]


def test_a_graph_that_is_pinned_at_the_end_is_not_waited_for_by_the_batch_that_led_there() -> None:
    here = world(1)
    here.tell(RunStarted())
    here.answer()
    here.load()
    # The worker applies and pins; that it has pinned is heard of first.
    here.waiting.discard(0)
    here.graph.append(0)
    here.answer()
    assert here.lifecycle.state == "holding"
    assert not here.lifecycle.waits_for_pins, "there is no other batch"


def test_where_there_is_no_room_for_another_epoch_one_less_is_kept() -> None:
    here = world(6, analytics_every=1, epochs=3)
    here.tell(RunStarted())
    here.answer()
    here.apply_ready(1)
    here.answer()
    here.has_room = False
    apply_all(here)
    assert [pin.boundary for pin in here.pinned] == [1]
    assert len(here.graph) == 2, "batches went on past a boundary that is not pinned"
    here.has_room = True
    here.read()
    apply_all(here)
    assert here.lifecycle.pins.most == 3, "how many there is room for is not known yet"
    here.read()
    assert here.lifecycle.pins.most == 1, "as many as there was no room for"
    here.run()
    assert here.results == [1, 2, 3, 4, 5, 6]


def test_no_graph_is_pinned_while_many_results_wait_for_the_disk() -> None:
    here = world(20, analytics_every=1, window=2, epochs=2)
    here.tell(RunStarted())
    here.answer()
    for _ in range(10):
        apply_all(here)
        here.read()
    assert len(here.writes) == 2 + MOST_WRITES
    assert here.reading is here.asked is None
    assert here.lifecycle.held_by == "disk"
    assert here.lifecycle.waits_for_pins
    here.write()
    assert isinstance(here.asked, Pin), "the disk has room again"
    here.run()
    assert here.results == list(range(1, 21))


def test_nothing_is_copied_while_many_results_wait_for_the_disk() -> None:
    here = world(20, analytics_every=1, window=2, epochs=2, checkpoint_batches=MOST_WRITES)
    here.tell(RunStarted())
    here.answer()
    for _ in range(10):
        apply_all(here)
        here.read()
    assert here.writes == [WriteResults(1 + each) for each in range(MOST_WRITES)]
    here.write()
    assert here.reading == Capture(0, MOST_WRITES)
    here.run()
    assert here.results == list(range(1, 21))


def test_results_that_are_values_alone_do_not_wait_for_the_disk() -> None:
    here = world(20, analytics_every=1, window=2, epochs=2)
    here.has_columns = False
    here.tell(RunStarted())
    here.answer()
    for boundary in range(1, 11):
        apply_all(here)
        assert here.pinned[0].boundary == boundary, "it waits for what is written"
        here.read()
    assert len(here.writes) == 10
    here.run()
    assert here.results == list(range(1, 21))


def test_results_that_overtake_others_are_written_in_their_order() -> None:
    here = world(6, analytics_every=1, epochs=3, window=6)
    here.tell(RunStarted())
    here.answer()
    apply_all(here)
    here.read(is_late=True)
    assert not here.writes
    here.read()
    assert here.writes == [WriteResults(1), WriteResults(2)], "written as answers came"
    here.run()
    assert here.results == [1, 2, 3, 4, 5, 6]


def test_results_behind_a_graph_that_is_copied_wait_for_the_copy() -> None:
    here = world(9, analytics_every=1, epochs=3, checkpoint_batches=2, window=9)
    here.tell(RunStarted())
    here.answer()
    apply_all(here)
    here.read()
    here.read()
    assert here.reading == Capture(0, 2)
    here.read(is_late=True)
    here.read()
    assert here.writes[-2:] == [WriteCheckpoint(0, 2), WriteResults(3)], "as answers came"
    here.run()
    assert here.results == list(range(1, 10))


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
    assert not here.lifecycle.pins
    here.tell(Analyzed(0, 3, has_columns=True))
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
    assert here.waiting == {2, 3, 4}
    assert [here.behind[4]] == here.asked_pins, "it would come before the checkpoint"
    here.run()
    assert here.checkpoints == [4, 10]


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
        max_loads=data.draw(st.sampled_from([None, 1, 2, 4]), "loads at once"),
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
