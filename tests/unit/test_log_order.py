"""Natural order of file names."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.io.log.paths.log_order import natural_key, twice_note, unordered_note


@pytest.mark.parametrize(
    "names",
    [
        ["part.0.parquet", "part.2.parquet", "part.10.parquet", "part.11.parquet"],
        ["a", "a1", "a1b", "a2", "a10", "b"],
        ["part.01", "part.1", "part.001b", "part.1c", "part.02"],
        ["2026-9-30", "2026-10-1", "2026-10-02"],
        ["day=2/part.9", "day=10/part.1", "day=10/part.10"],
        ["a/b", "a-b"],
        ["1", "a"],
        # As a browser names what it saves again, and people what they export again.
        ["export.csv", "export2.csv", "export (1).csv", "export (10).csv", "export-2.csv"],
        ["a.csv", "a.csv.bz2", "a1.csv", "a1b.csv", "a.1.csv", "a.c9.csv", "a.c10.csv", "b.csv"],
        # What graphtide requeue adds stands before the file that comes next.
        ["a.v9.csv", "a.v9_requeued-batch-0-a273523c.parquet", "a.v10.csv"],
        ["export.csv", "export0_requeued-batch-7-a273523c.parquet", "export1.csv", "export-2.csv"],
        ["2026-11-28.snappy.parquet", "2026-11-28-10.snappy.parquet", "2026-11-29.parquet"],
        # As Polars numbers the files of `sink_parquet`.
        [f"{number:08x}.parquet" for number in (0, 9, 10, 16, 153, 154, 160)],
    ],
)
def test_runs_of_digits_are_numbers(names):
    for order in itertools.permutations(names):
        assert sorted(order, key=natural_key) == names


@given(
    st.lists(st.text("01a./é²", max_size=6) | st.text("09af", min_size=8, max_size=8), max_size=8)
)
def test_the_order_is_total(names):
    keys = [natural_key(name) for name in names]
    for (one, key), (other, other_key) in itertools.product(
        zip(names, keys, strict=True), repeat=2
    ):
        assert (key < other_key) + (other_key < key) + (one == other) == 1


def test_files_of_two_jobs_in_a_folder_have_no_order_by_name():
    """Spark names the files of each job ``part-00000-<UUID of the job>``, and counts anew."""
    jobs = "29b808ee-f23a-465a-a007-83e4e8de33df", "F9B808EEF23A465AA00783E4E8DE33DF"
    first, second = ([f"part-0000{part}-{job}.c000.parquet" for part in (0, 1)] for job in jobs)
    note = unordered_note([*first, *second])
    assert note is not None
    assert note.startswith(f"{first[0]} and {second[0]} are of two writers")
    assert unordered_note(first) is None
    in_folders = [f"day={day}/{name}" for day, of in enumerate((first, second)) for name in of]
    assert unordered_note(in_folders) is None
    assert unordered_note([f"batch-1-{jobs[1]}", f"batch-2-{jobs[0]}"]) is None


@pytest.mark.parametrize("copy", ["day=1/a.csv.gz", "day=1/a.parquet", "day=1/a.JSONL", "day=1/a"])
def test_files_that_may_be_copies_of_each_other_are_told(copy):
    note = twice_note(["a.csv", "day=1/a.csv", "day=1/a.v2.csv", "2//day=1/a.csv", copy])
    assert note is not None
    assert note.startswith(f"day=1/a.csv and {copy} differ by their endings alone")


def test_names_that_differ_in_more_than_how_rows_are_written_are_no_copies():
    assert twice_note(["a.jan.csv", "a.feb.csv", "b/a.csv", "a-1.csv", "a.1.csv", "gz"]) is None
