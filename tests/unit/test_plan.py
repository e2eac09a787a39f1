"""The batch plan: every row once, the same for ever, and what it refuses."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide import SettingsError, StateError, UpdateLogError
from graphtide.io.log.log_listing import LogFile
from graphtide.io.log.plan import BatchPlan, PlannedBatch


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
    assert BatchPlan.from_json(json.loads(json.dumps(plan.to_json())), "plan") == plan


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
        ([log_file("b", 6, "other"), log_file("d", 5)], "b has changed since it was planned"),
        ([log_file("a", 1), log_file("b", 5), log_file("d", 5)], "a is new .* before b"),
        ([log_file("b", 5), log_file("c", 1), log_file("d", 5)], "c is new .* before d"),
    ],
)
def test_a_log_that_no_longer_goes_with_the_plan(files, words):
    plan = BatchPlan().extended([log_file("b", 5), log_file("d", 5)], 2)
    with pytest.raises(UpdateLogError, match=words):
        plan.extended(files, 2)


def test_a_plan_with_other_rows_than_the_file_is_damaged():
    plan = BatchPlan().extended([log_file("b", 5)], 2)
    with pytest.raises(StateError, match=r"b has 6 rows, but the plan .* says 5, .* is damaged"):
        plan.extended([log_file("b", 6)], 2)


def numbered(*numbers):
    return [log_file(f"part.{number}.parquet", 1) for number in numbers]


def test_a_new_file_comes_after_the_planned_ones_as_numbers_do():
    plan = BatchPlan().extended(numbers := numbered(*range(11)), 2)
    longer = plan.extended([*numbers, *numbered(11, 100)], 2)
    assert [file.name for file in longer.files[11:]] == ["part.11.parquet", "part.100.parquet"]
    with pytest.raises(UpdateLogError, match=r"part\.5b.* before part\.6\.parquet.*part\.10\.p"):
        plan.extended([*numbers[:6], log_file("part.5b", 1), *numbers[6:]], 2)
    assert plan.out_of_order([file.name for file in numbers]) is None


def test_files_of_several_addresses_are_called_as_users_know_them():
    plan = BatchPlan().extended([log_file("a", 1), log_file("2//z", 1)], 1)
    words = r"b is new in the log but comes before z \(address 2\), .* a name after z \(address 2\)"
    with pytest.raises(UpdateLogError, match=words):
        plan.extended([log_file("a", 1), log_file("b", 1), log_file("2//z", 1)], 1)
    with pytest.raises(UpdateLogError, match=r"^z \(address 2\) is planned but gone from the log"):
        plan.extended([log_file("a", 1)], 1)


def test_a_plan_in_the_order_of_text_goes_on_as_it_is():
    old = BatchPlan().extended(numbered(0, 1, 10, 2, 9), 2)
    found = numbered(0, 1, 2, 9, 10)
    assert old.extended(found, 2) == old
    assert old.out_of_order([file.name for file in found]) == ("part.10.parquet", "part.2.parquet")
    longer = old.extended([*found, *numbered(11)], 2)
    assert longer.files[:5] == old.files
    with pytest.raises(UpdateLogError, match=r"part\.3.* before part\.9"):
        old.extended([*found[:3], *numbered(3), *found[3:]], 2)
    # What is planned anew, because one of the files was mended, was not new then.
    again = old.up_to(3).extended(found, 2, [file.name for file in old.files])
    assert again.files == BatchPlan().extended(numbered(0, 1, 10, 2, 9), 2).files
    with pytest.raises(UpdateLogError, match=r"part\.3.* before part\.10"):
        old.up_to(3).extended([*found[:3], *numbered(3), *found[3:]], 2, ["part.2.parquet"])


def test_batches_of_no_rows():
    with pytest.raises(SettingsError, match="batch_rows=0"):
        BatchPlan().extended([], 0)


PLANNED = {"file": "a", "fingerprint": "f", "rows": 5, "batch_rows": 2}


@pytest.mark.parametrize(
    "change",
    [
        {"file": 3},
        {"fingerprint": None},
        {"rows": -1},
        {"rows": "5"},
        {"rows": 5.0},
        {"batch_rows": 0},
        {"batch_rows": True},
    ],
)
def test_a_damaged_plan(change):
    with pytest.raises(StateError, match=r"plan/7\.json is damaged"):
        BatchPlan.from_json([{**PLANNED, **change}], "plan/7.json")
    for missing in PLANNED:
        value = {key: value for key, value in PLANNED.items() if key != missing}
        with pytest.raises(StateError, match=r"plan/7\.json is damaged"):
            BatchPlan.from_json([value], "plan/7.json")
    with pytest.raises(StateError, match=r"plan/7\.json is damaged"):
        BatchPlan.from_json(["a"], "plan/7.json")


def test_a_plan_with_a_file_twice():
    with pytest.raises(StateError, match="a is in it twice"):
        BatchPlan.from_json([PLANNED, PLANNED], "plan/7.json")


def test_how_files_are_cut_is_told_by_a_hash():
    files = [log_file("a", 10), log_file("b", 5), log_file("c", 5)]
    plan = BatchPlan().extended(files, 4)
    assert plan.cut_hash(2) == plan.cut_hash(3) == BatchPlan(plan.files[:1]).cut_hash(3)
    assert plan.cut_hash(4) == BatchPlan(plan.files[:2]).cut_hash(4) != plan.cut_hash(3)
    for other in (
        BatchPlan().extended(files, 3),
        BatchPlan().extended([log_file("a", 11), *files[1:]], 4),
        BatchPlan((plan.files[1], plan.files[0])),
    ):
        assert other.cut_hash(4) != plan.cut_hash(4)
