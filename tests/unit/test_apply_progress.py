"""How far the graph is, by the apply tasks that ended, in whatever order they do."""

from graphtide.pipeline.state_machine.apply_progress import ApplyProgress


def test_the_boundary_is_the_first_batch_that_has_not_ended() -> None:
    applies = ApplyProgress(3)
    assert applies.boundary == 3
    assert [applies.end(batch_id) for batch_id in (4, 6, 3, 5)] == [3, 3, 5, 7]
    assert applies.boundary == 7


def test_a_task_that_ends_again_changes_nothing() -> None:
    applies = ApplyProgress(0)
    assert [applies.end(batch_id) for batch_id in (0, 0, 2, 2, 1, 0)] == [1, 1, 1, 1, 3, 3]
    assert applies.end(3) == 4


def test_a_graph_that_was_pinned_had_the_batches_before() -> None:
    """Also that of a task that goes on for those behind it."""
    applies = ApplyProgress(0)
    assert applies.end(1) == 0
    assert applies.end(3) == 0
    assert applies.reach(3) == 4
    assert applies.reach(2) == 4, "an answer that was overtaken"
    assert applies.end(0) == 4
    assert applies.end(4) == 5
