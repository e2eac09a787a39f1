"""The batch plan: every row once, the same for ever, and what it refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide import SettingsError, StateError, UpdateLogError
from graphtide.io.plan import BatchPlan, PlannedBatch
from graphtide.io.update_log import LogFile


def log_file(name, rows, fingerprint="f"):
    return LogFile(name, 1, fingerprint, rows, (rows,))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)), max_size=8))
def test_every_row_is_in_one_batch_in_order(sizes):
    plan, files = BatchPlan(), []
    for number, (rows, batch_rows) in enumerate(sizes):
        files.append(log_file(f"{number:03d}", rows))
        plan = plan.extended(files, batch_rows)
    covered = [
        (batch.file, row)
        for batch in plan.batches
        for row in range(batch.first_row, batch.first_row + batch.rows)
    ]
    assert covered == [(file.name, row) for file in files for row in range(file.rows)]
    assert [batch.batch_id for batch in plan.batches] == list(range(len(plan.batches)))
    limits = {f"{number:03d}": batch_rows for number, (_, batch_rows) in enumerate(sizes)}
    assert all(0 < batch.rows <= limits[batch.file] for batch in plan.batches)
    assert plan.rows == sum(rows for rows, _ in sizes)
    assert BatchPlan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_what_is_planned_stays_when_batch_rows_changes():
    files = [log_file("a", 10)]
    plan = BatchPlan().extended(files, 4)
    longer = plan.extended([*files, log_file("b", 5)], 3)
    assert list(longer.batches) == [
        PlannedBatch(0, "a", 0, 4),
        PlannedBatch(1, "a", 4, 4),
        PlannedBatch(2, "a", 8, 2),
        PlannedBatch(3, "b", 0, 3),
        PlannedBatch(4, "b", 3, 2),
    ]
    assert longer.extended([*files, log_file("b", 5)], 1) == longer


def test_batches_by_number():
    plan = BatchPlan().extended([log_file("a", 0), log_file("b", 5), log_file("c", 0)], 2)
    assert len(plan.batches) == 3
    assert plan.batches[-1] == PlannedBatch(2, "b", 4, 1)
    assert plan.batches[1:] == [plan.batches[1], plan.batches[2]]
    with pytest.raises(IndexError, match="batch 3 is not planned"):
        plan.batches[3]


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([log_file("b", 5)], "d is planned but gone from the log"),
        ([], "b is planned but gone"),
        ([log_file("b", 5, "other"), log_file("d", 5)], "b has changed since it was planned"),
        ([log_file("a", 1), log_file("b", 5), log_file("d", 5)], "a is new .* before b"),
        ([log_file("b", 5), log_file("c", 1), log_file("d", 5)], "c is new .* before d"),
    ],
)
def test_a_log_that_no_longer_goes_with_the_plan(files, words):
    plan = BatchPlan().extended([log_file("b", 5), log_file("d", 5)], 2)
    with pytest.raises(UpdateLogError, match=words):
        plan.extended(files, 2)


def test_batches_of_no_rows():
    with pytest.raises(SettingsError, match="batch_rows=0"):
        BatchPlan().extended([], 0)


def test_a_damaged_plan():
    with pytest.raises(StateError, match="plan of the state is damaged"):
        BatchPlan.from_json([{"file": "a"}])
