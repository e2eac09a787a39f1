"""Runs that cannot go on: rows, batches, settings and states that are refused, and what is kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide.config.settings import RunSettings
from graphtide.gpu_core.batch.update_batch import UpdateBatch
from graphtide.gpu_core.errors import (
    ArenaFullError,
    BatchError,
    SettingsError,
    StateError,
    UpdateLogError,
)
from graphtide.gpu_core.graph import DynamicGraph
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.pipeline.ingest import run
from small_log import BATCH_ROWS, ROWS, VERTICES, expected_hash, files_below, rows_of, write_file

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")


def newest_hash(state: Path) -> tuple[int, str]:
    checkpoint = newest_checkpoint(StateDirectory(state))
    assert checkpoint is not None
    return checkpoint.batch_id, checkpoint.manifest["state_hash"]


def test_a_row_that_cannot_be_read_ends_the_run_with_all_before_it_kept(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    columns: dict[str, Any] = rows_of(1)
    columns["src"] = pa.array(columns["src"], mask=np.arange(ROWS) == 777)
    write_file(log, 1, columns)
    with pytest.raises(UpdateLogError, match=r"0001\.parquet.*row 777"):
        run(str(log), str(tmp_path / "state"), run_settings())
    graph = DynamicGraph()
    for number, end in ((0, ROWS), (1, 750)):
        op, src, dst = (values[:end] for values in rows_of(number).values())
        graph.apply(UpdateBatch.from_rows(op, src, dst))
    assert newest_hash(tmp_path / "state") == (ROWS // BATCH_ROWS + 14, graph.state_hash())


def test_a_file_that_was_mended_before_any_of_it_was_applied_is_planned_anew(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    columns: dict[str, Any] = rows_of(2)
    columns["src"] = pa.array(columns["src"], mask=np.arange(ROWS) == 7)
    write_file(log, 2, columns)
    with pytest.raises(UpdateLogError, match=r"0002\.parquet.*row 7"):
        run(str(log), str(tmp_path / "state"), run_settings())
    write_file(log, 2)
    summary = run(str(log), str(tmp_path / "state"), run_settings())
    assert summary.reports[0].batch_id == 2 * ROWS // BATCH_ROWS
    assert summary.state_hash == expected_hash()
    write_file(log, 1, rows_of(77))
    with pytest.raises(UpdateLogError, match=r"0001\.parquet has changed since it was planned"):
        run(str(log), str(tmp_path / "state"), run_settings())


def test_a_batch_that_the_graph_refuses_ends_the_run_with_all_before_it_kept(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    vertices: dict[str, Any] = {
        "src": np.arange(VERTICES),
        "dst": pa.nulls(VERTICES, pa.int64()),
    }
    write_file(log, 0, vertices)
    columns = rows_of(1)
    columns["op"][:] = 1
    columns["dst"][777] = 4_711
    columns["src"][777] = 1
    write_file(log, 1, columns)
    state = tmp_path / "state"
    with pytest.raises(BatchError, match=r"0001\.parquet, batch 17: edge \(1, 4711\)"):
        run(str(log), str(state), run_settings(create_vertices=False))
    kept = newest_hash(state)
    assert kept[0] == 2 + 15 - 1, "the batch before the refused one was not kept"
    with pytest.raises(BatchError, match="4711"):
        run(str(log), str(state), run_settings(create_vertices=False))
    assert newest_hash(state) == kept


def test_an_arena_that_is_too_small_ends_the_run(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    columns = {"src": np.arange(200_000), "dst": np.arange(200_000) + 1}
    write_file(log, 1, columns)
    wanted = run_settings(batch_rows=200_000, arena_bytes="1MiB", max_arena_bytes="1MiB")
    with pytest.raises(ArenaFullError):
        run(str(log), str(tmp_path / "state"), wanted)
    assert newest_hash(tmp_path / "state") == (0, expected_hash(1))


def test_a_log_or_state_that_cannot_be_used_leaves_nothing_behind(
    log: Path, tmp_path: Path, run_settings: Callable[..., RunSettings]
) -> None:
    state, logged = tmp_path / "state", files_below(log)
    with pytest.raises(UpdateLogError, match="none"):
        run(str(tmp_path / "none"), str(state), run_settings())
    assert not state.exists()
    for within in (log / "state", log, log / "day=1" / "state"):
        with pytest.raises(StateError, match=r"in the log .*; give a folder beside it"):
            run(str(log), str(within), run_settings())
    with pytest.raises(StateError, match=r"in the log .*; give a folder beside it"):
        run(f"{log}/**/*.parquet", str(log / "state"), run_settings())
    assert files_below(log) == logged
    run(str(log), str(state), run_settings())
    before = files_below(state)
    with pytest.raises(StateError, match="directed"):
        run(str(log), str(state), run_settings(directed=False))
    with pytest.raises(SettingsError):
        run_settings(batch_rows=-1)
    assert files_below(state) == before
