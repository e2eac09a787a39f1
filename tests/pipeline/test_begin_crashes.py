"""A run that is killed anywhere while it begins, where an older one left batches that are no more.

Runs that are killed later, and other beginnings: test_torture.py.
"""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphtide.config.settings import RunSettings
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import LOCK, StateDirectory
from graphtide.io.state.plan_files import read_plan
from graphtide.io.state.reports import read_reports, write_reports
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring.progress import Progress
from graphtide.pipeline.opening import open_files
from small_log import BATCH_ROWS, ROWS, files_below, results_below, rows_of, write_file

pytestmark = pytest.mark.usefixtures("no_memory_file_remains")

HELPERS = Path(__file__).parents[1] / "helpers"

#: Crash points of a log that are followed to the end of the run.
FOLLOWED = 2


def interrupted_run(log: Path, state: Path, settings: RunSettings, checkpointed: int) -> None:
    """Leave a state with results, a report and a broken checkpoint beyond its newest checkpoint."""

    def interrupt(progress: Progress) -> None:
        if len(StateDirectory(state).result_ids()) > 3:
            raise KeyboardInterrupt
        assert progress.batches_done < progress.batches_total

    run(str(log), str(state), settings)
    directory = StateDirectory(state)
    assert directory.checkpoint_ids() == [checkpointed - 1]
    shutil.rmtree(state / "results")
    write_file(log, 1)
    with pytest.raises(KeyboardInterrupt):
        run(str(log), str(state), settings, interrupt)
    assert directory.checkpoint_ids() == [checkpointed - 1]
    assert directory.result_ids()[0] >= checkpointed
    # As of runs that were killed between their reports and the checkpoint, and of a bad disk.
    [report] = read_reports(directory, checkpointed - 1)
    later = [report._replace(batch_id=checkpointed + number) for number in range(5)]
    write_reports(directory, later)
    broken = directory.checkpoint(checkpointed + 4)
    shutil.copytree(directory.checkpoint(checkpointed - 1), broken)
    (broken / "edges.parquet").write_bytes(b"")


def mended(log: Path, draw: random.Random) -> int:
    """Write the file that is not checkpointed anew, or take it away; gives its rows."""
    path = log / "0001.parquet"
    rows = draw.choice([0, 1, BATCH_ROWS, 3 * BATCH_ROWS + 7, ROWS + 1])
    path.unlink()
    if rows:
        write_file(log, 1, rows_of(draw.randrange(100, 200), rows))
    return rows


def kept(state: Path) -> dict[str, bytes]:
    return {name: content for name, content in files_below(state).items() if name != LOCK}


@pytest.mark.parametrize("seed", [2])
def test_a_begin_that_dies_anywhere_ends_as_one_that_does_not(
    tmp_path: Path, run_settings: Callable[..., RunSettings], scheduler: str, seed: int
) -> None:
    draw = random.Random(seed)
    log, state, out = tmp_path / "log", tmp_path / "state", tmp_path / "out"
    write_file(log, 0)
    # No checkpoint by time: on a busy machine one would come between.
    overrides = {
        "analytics_every": draw.randrange(1, 5),
        "analytics": ["pagerank"],
        "checkpoint_every": 1000,
    }
    settings = run_settings(**overrides)
    interrupted_run(log, state, settings, ROWS // BATCH_ROWS)
    rows = mended(log, draw)

    out.mkdir()
    given = json.dumps({**overrides, "batch_rows": BATCH_ROWS})
    subprocess.run(
        [sys.executable, HELPERS / "crash_points.py", log, state, out, given], check=True
    )
    *crashed, undisturbed = sorted(out.iterdir())
    assert len(crashed) > 10

    begun = kept(undisturbed)
    boundary, planned = ROWS // BATCH_ROWS, (ROWS + rows + BATCH_ROWS - 1) // BATCH_ROWS
    directory = StateDirectory(undisturbed)
    assert len(read_plan(directory).batches) == planned
    assert directory.result_ids() == []
    assert directory.checkpoint_ids() == [boundary - 1]
    assert len(read_reports(directory)) == boundary
    for again in crashed:
        with open_files(str(log), str(again), settings, BATCH_ROWS):
            pass
        assert kept(again) == begun, f"killed before operation {again.name}"

    summary = run(str(log), str(undisturbed), settings)
    for again in draw.sample(crashed, FOLLOWED):
        assert run(str(log), str(again), settings).state_hash == summary.state_hash
        assert results_below(again) == results_below(undisturbed)
        here = StateDirectory(again)
        newest = newest_checkpoint(here)
        assert newest is not None
        assert newest.boundary == planned == len(read_reports(here))
        assert all(batch_id < planned for batch_id in here.result_ids())
