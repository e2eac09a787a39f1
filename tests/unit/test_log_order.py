"""Natural order of file names."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.io.log.log_order import natural_key


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
