"""The decisions of a run about pinned graphs: how many there are, and what waits for them."""

import pytest

from graphtide.pipeline.graph_worker.graph_status import GraphStatus
from graphtide.pipeline.monitoring.picture import RunMonitor
from graphtide.pipeline.state_machine.events import (
    Analyzed,
    GraphCopied,
    GraphPinned,
    RunStarted,
)
from graphtide.pipeline.state_machine.instructions import (
    CopyGraph,
    Pin,
    WriteCheckpoint,
    WriteResults,
)
from graphtide.pipeline.state_machine.lifecycle import MOST_WRITES
from lifecycle_world import World, world


def test_batches_behind_a_pin_are_asked_for_with_it() -> None:
    here = world(10, analytics_every=2, window=9, epochs=3)
    here.tell(RunStarted())
    here.answer()
    assert [pin.boundary for pin in here.requested_pins] == [2, 4, 6]
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
    assert [pin.boundary for pin in here.requested_pins] == [3], (
        "one has room beside that which waits"
    )
    assert here.lifecycle.pinned <= 2, "more are shown than may be kept"
    here.late = late
    here.run()
    assert here.results == list(range(1, 21))
    assert here.most_pinned <= 2


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
    assert here.reading == CopyGraph(0, 3)
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


def test_seconds_of_stages_come_with_the_batches_that_they_are_of() -> None:
    monitor = RunMonitor(world(20).lifecycle)

    def at(boundary: int, apply: float) -> GraphStatus:
        return GraphStatus(boundary, num_vertices=0, num_edges=0, seconds={"apply": apply})

    def timed() -> tuple[int, float]:
        picture = monitor.picture({})
        return picture.timed, picture.seconds["apply"]

    monitor.started(at(5, 0.0), 1)
    assert timed() == (0, 0.0)
    monitor.update(at(12, 3.5))
    assert timed() == (7, 3.5)
    monitor.lost("it was killed")
    assert timed() == (7, 3.5)
    monitor.started(at(10, 0.0), 1)
    monitor.update(at(14, 2.0))
    assert timed() == (11, 5.5), "batches that are applied again are not counted again"


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
    assert here.reading == CopyGraph(0, MOST_WRITES)
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
    assert here.reading == CopyGraph(0, 2)
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
    here.tell(GraphCopied(0, 3))
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
