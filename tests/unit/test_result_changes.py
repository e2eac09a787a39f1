"""Changes of a result: what is written between whole columns makes the columns of every batch."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide import StateError
from graphtide.io.checked_tables import write_table
from graphtide.io.interchange.edge_table import table_of
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.result_changes import (
    TableChanges,
    batches_with,
    changes_between,
    changes_file,
    read_changes,
    read_result_at,
    with_changes,
    write_changes,
)
from graphtide.io.state.results import ResultFacts, write_result
from strategies import examples

FACTS = ResultFacts("pagerank", {})

floats = st.one_of(
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e300]),
    st.integers(0, 40).map(lambda tenths: tenths / 10),
)
#: Vertex -> float and integer.
tables = st.dictionaries(st.integers(0, 12), st.tuples(floats, st.integers(0, 2)))


def columns(table: dict[int, tuple[float, int]], *, as_names: bool) -> dict[str, np.ndarray]:
    """A table in an order of its vertices that is not that of their names, where it is names."""
    ids = sorted(table, key=lambda vertex: vertex * 7 % 13 if as_names else vertex)
    names = np.array([f"v{each}" for each in ids], object)
    return {
        "vertex": names if as_names else np.array(ids, np.int64),
        "value": np.array([table[each][0] for each in ids], np.float64),
        "count": np.array([table[each][1] for each in ids], np.int64),
    }


def is_within(one: float, other: float, beyond: float) -> bool:
    same = np.float64(one).tobytes() == np.float64(other).tobytes()
    return same or abs(one - other) <= beyond


@settings(max_examples=examples(60), deadline=None)
@given(
    chain=st.lists(tables, min_size=2, max_size=5),
    beyond=st.sampled_from([0.0, 0.15, 1.0]),
    as_names=st.booleans(),
)
def test_every_table_of_a_chain_is_within_the_tolerance(
    chain: list[dict[int, tuple[float, int]]], beyond: float, as_names: bool
) -> None:
    reader = columns(chain[0], as_names=as_names)
    for table in chain[1:]:
        exact = columns(table, as_names=as_names)
        reader = with_changes(reader, changes_between(reader, exact, beyond))
        assert reader["vertex"].tolist() == exact["vertex"].tolist()
        assert reader["count"].tolist() == exact["count"].tolist()
        pairs = zip(reader["value"], exact["value"], strict=True)
        assert all(is_within(one, other, beyond) for one, other in pairs)
        if not beyond:
            assert reader["value"].tobytes() == exact["value"].tobytes()


@pytest.mark.parametrize("as_names", [False, True])
def test_a_file_has_the_rows_that_changed_and_no_others(tmp_path: Path, as_names: bool) -> None:
    before = columns({1: (0.5, 1), 2: (0.3, 1), 3: (0.2, 1), 4: (0.0, 0)}, as_names=as_names)
    after = columns({2: (0.3, 1), 3: (0.2, 2), 4: (0.01, 0), 5: (1.0, 0)}, as_names=as_names)
    changes = changes_between(before, after, 0.05)
    assert [each.size for each in (changes.removed, changes.added, changes.changed)] == [1, 1, 1]
    state = StateDirectory(tmp_path)
    write_changes(state, 5, "x", changes, ResultFacts("pagerank", {}), since=3)
    read, since = read_changes(changes_file(state, 5, "x"))
    assert since == 3
    made: dict[str, np.ndarray] = with_changes(before, read)
    assert {name: column.tolist() for name, column in made.items()} == {
        **{name: column.tolist() for name, column in after.items()},
        "value": [0.0 if value == 0.01 else value for value in after["value"].tolist()],
    }
    assert isinstance(read, TableChanges)


def test_changes_of_a_column_of_names(tmp_path: Path) -> None:
    """As of components, whose names are those of vertices."""
    names = [np.array(each, object) for each in (["a", "a", "c"], ["a", "b", "c", "c"])]
    before = {"vertex": np.array([1, 2, 3]), "component": names[0]}
    after = {"vertex": np.array([1, 2, 3, 4]), "component": names[1]}
    changes = changes_between(before, after, 0.5)
    assert (changes.removed.size, changes.added.tolist(), changes.changed.tolist()) == (0, [3], [1])
    state = StateDirectory(tmp_path)
    write_changes(state, 5, "x", changes, ResultFacts("", {}), since=3)
    made = with_changes(before, read_changes(changes_file(state, 5, "x"))[0])
    assert made["component"].tolist() == ["a", "b", "c", "c"]


def small_chain(folder: Path) -> StateDirectory:
    """PageRank of batch 1 whole, of batches 2 and 3 as changes."""
    state = StateDirectory(folder)
    ranks = [{"vertex": np.arange(size), "pagerank": np.full(size, 1 / size)} for size in (2, 3, 4)]
    facts = [replace(FACTS, figures={"iterations": batch}) for batch in range(4)]
    write_result(state, 1, "pagerank", ranks[0], facts[1])
    for batch, (before, after) in enumerate(itertools.pairwise(ranks), 2):
        changes = changes_between(before, after, 0.0)
        write_changes(state, batch, "pagerank", changes, facts[batch], since=batch - 1)
    return state


def test_a_chain_is_read_from_its_last_whole_result(tmp_path: Path) -> None:
    state = small_chain(tmp_path)
    for batch in (1, 2, 3):
        ranks = read_result_at(state, batch, "pagerank")
        assert ranks["pagerank"].tolist() == [1 / (batch + 1)] * (batch + 1)
        assert ranks.figures == {"iterations": batch}, "of that batch, not of the whole columns"
    assert batches_with(state, "pagerank") == [1, 2, 3]


def test_files_of_a_chain_that_do_not_fit_are_told_by_name(tmp_path: Path) -> None:
    state = small_chain(tmp_path)
    second, third = (changes_file(state, batch, "pagerank") for batch in (2, 3))
    kept = third.read_bytes()

    def refused(words: str) -> None:
        with pytest.raises(StateError, match=words):
            read_result_at(state, 3, "pagerank")

    second.unlink()
    refused(
        r"batch=0+2/pagerank.parquet is damaged \(it is missing\), and pagerank of batch 3 needs"
    )
    write_table(second, table_of({"vertex": np.arange(3)}), {"since": 1})
    refused(r"batch=0+2/pagerank.parquet is damaged \(its columns are vertex\)")
    second.write_bytes(kept)
    refused(r"batch=0+2/pagerank.parquet is damaged \(it is since batch 2\)")
    none, one = ({"vertex": np.zeros(n, np.int64), "pagerank": np.zeros(n)} for n in (0, 1))
    nowhere = np.zeros(0, np.int64)
    changes = TableChanges(np.array([9]), nowhere, nowhere, rows_removed=one, rows_after=none)
    write_changes(state, 2, "pagerank", changes, FACTS, since=1)
    refused(r"batch=0+2/pagerank.parquet does not fit what was before it .*; have a run recompute")
