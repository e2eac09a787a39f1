"""The summary of batches in a state directory: a row a batch, from files of many batches each."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphtide import BatchReport, StateError
from graphtide.io.state.batch_summary import (
    amend_summary,
    missing_summaries,
    read_summary,
    summary_folder,
    write_summary,
)
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import write_reports
from small_state import made

TYPES = {"pagerank": "float64"}


def reports(first: int, last: int, edges: int = 0) -> list[BatchReport]:
    nothing: dict[str, Any] = {**dict.fromkeys(BatchReport._fields, 0), "effects": None}
    nothing |= {"source": None, "seconds": {"read": 0.5}, "num_edges": edges}
    return [BatchReport(**{**nothing, "batch_id": each}) for each in range(first, last + 1)]


def write(state: StateDirectory, first: int, last: int, edges: int = 0) -> Path | None:
    """The summary of some batches, and then their reports, which say that there is one."""
    write_summary(state, reports(first, last, edges), {first: {"pagerank": 1.5}}, TYPES)
    return write_reports(state, reports(first, last, edges), has_summary=True)


def test_batches_that_are_applied_again_in_other_groups_have_one_row(tmp_path: Path) -> None:
    state = made(tmp_path / "s")
    write(state, 0, 3)
    write(state, 4, 6, edges=1)
    write(state, 7, 9, edges=1)
    # The checkpoints after batch 3 were lost.
    write(state, 4, 8, edges=2)
    summary = read_summary(state)
    assert summary["batch"].tolist() == list(range(9))
    assert summary["edges"].tolist() == [0] * 4 + [2] * 5
    assert np.isnan(summary["pagerank"][[1, 2, 3, 5]]).all()


def test_a_result_that_is_computed_once_more_changes_the_row_of_its_batch(tmp_path: Path) -> None:
    state = made(tmp_path / "s")
    write(state, 0, 1)
    write(state, 2, 4)
    more = {"pagerank": 2.5, "clustering": 0.5, "analytics_seconds": 0.25}
    for _ in range(2):
        amend_summary(state, 3, more, {"clustering": "float64"})
    summary = read_summary(state)
    # What was spent on its results, however often these were computed.
    assert summary["analytics_seconds"][3] == 0.5
    there = ~np.isnan(summary["pagerank"])
    assert summary["batch"][there].tolist() == [0, 2, 3]
    assert summary["pagerank"][there].tolist() == [1.5, 1.5, 2.5]
    assert summary["clustering"][3] == 0.5
    assert np.count_nonzero(~np.isnan(summary["clustering"])) == 1
    assert summary["edges"].tolist() == [0] * 5


def test_files_that_are_gone_are_those_that_were_written_before_the_checkpoint(
    tmp_path: Path,
) -> None:
    state = made(tmp_path / "s")
    write(state, 0, 1)
    write(state, 2, 3)
    write_reports(state, reports(4, 5))
    write(state, 6, 7)
    first, second, beyond = sorted(summary_folder(state).iterdir())
    assert missing_summaries(state, 8) == []
    beyond.unlink()
    # A run that goes on has written the reports, and not yet the summary.
    assert missing_summaries(state, 6) == []
    assert missing_summaries(state, 8) == [beyond]
    first.unlink()
    assert missing_summaries(state, 6) == [first]
    # Batches that were summarized in another group are there.
    write_summary(state, reports(0, 3), {}, TYPES)
    assert missing_summaries(state, 6) == []
    assert not second.exists()


def test_a_damaged_file_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    state = made(tmp_path / "s")
    assert len(read_summary(state)) == 0
    write(state, 0, 1)
    write(state, 2, 3)
    first, second = sorted(summary_folder(state).iterdir())
    first.write_bytes(second.read_bytes())
    words = rf"{first.name} is damaged \(its rows are not of the batches of its name\); remove it"
    with pytest.raises(StateError, match=words):
        read_summary(state)
    notes: list[str] = []
    assert read_summary(state, notes)["batch"].tolist() == [2, 3]
    assert len(notes) == 1
    # Of a damaged file no row is changed.
    amend_summary(state, 1, {"pagerank": 2.5}, TYPES)
    assert first.read_bytes() == second.read_bytes()
