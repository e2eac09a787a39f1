"""How arena, memory and disk of a run are said to stand, and what is warned of."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.config.settings import RunSettings, load_settings
from graphtide.flows.printing.limits import LimitWarnings, limits_text
from graphtide.flows.printing.text import TIED
from graphtide.pipeline.graph_worker.graph_status import GraphStatus, Memory
from graphtide.pipeline.monitoring import limit_watch
from graphtide.pipeline.monitoring.limit_watch import LimitWatch
from graphtide.pipeline.monitoring.limits import Limit, reported_limits
from graphtide.pipeline.monitoring.needs import sizes_to_come
from graphtide.pipeline.monitoring.progress import initial_progress
from graphtide.pipeline.opening import open_files
from graphtide.pipeline.run_files import RunFiles

MIB = 1 << 20

#: Batches of the log, and rows of each.
BATCHES, ROWS = 50, 100


@pytest.fixture
def settings() -> RunSettings:
    return load_settings({"batch_rows": ROWS, "analytics": ["pagerank"]})


@pytest.fixture
def files(tmp_path: Path, settings: RunSettings) -> Iterator[RunFiles]:
    rows = np.arange(BATCHES * ROWS)
    (tmp_path / "log").mkdir()
    pq.write_table(pa.table({"src": rows, "dst": rows + 1}), tmp_path / "log" / "a.parquet")
    with open_files(str(tmp_path / "log"), str(tmp_path / "state"), settings, ROWS) as files:
        yield files


def status(boundary: int, pages: int = 0, host_free: int = 100 * MIB) -> GraphStatus:
    memory = Memory(pages, page_bytes=32, limit_bytes=8 * MIB, host_free_bytes=host_free)
    return GraphStatus(boundary, num_vertices=0, num_edges=boundary * ROWS, memory=memory)


def watched(
    files: RunFiles, settings: RunSettings, statuses: list[GraphStatus]
) -> dict[str, Limit]:
    """The limits after these statuses, a second apart."""
    now = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limit_watch.time, "monotonic", lambda: now)
        watch = LimitWatch(files, settings)
        watch.start(statuses[0], on_host=True)
        for each in statuses[1:]:
            now += 1.0
            watch.look(each)
    return {each.resource: each for each in watch.now}


def test_the_trend_tells_the_batch_that_reaches_a_limit(
    files: RunFiles, settings: RunSettings
) -> None:
    # 32-byte pages: some 7 MiB are there, and a batch takes 0.25 MiB.
    grows = [status(batch, pages=batch * 8192) for batch in range(20)]
    limits = watched(files, settings, grows)
    arena = limits["arena"]
    assert arena.full_at_batch == arena.most_bytes // (8192 * 32)
    assert 6 * MIB < arena.most_bytes < 7 * MIB
    assert arena.used_bytes == pytest.approx(19 * 8192 * 32, abs=4096)
    assert limits["memory"].full_at_batch is None, "nothing was taken"
    # Half as fast, the log ends before.
    slowly = [status(batch, pages=batch * 4096) for batch in range(20)]
    assert watched(files, settings, slowly)["arena"].full_at_batch is None


def test_memory_that_others_take_counts(files: RunFiles, settings: RunSettings) -> None:
    less = [status(batch, host_free=(100 - 4 * batch) * MIB) for batch in range(20)]
    memory = watched(files, settings, less)["memory"]
    assert (memory.used_bytes, memory.most_bytes) == (76 * MIB, 100 * MIB)
    assert memory.full_at_batch == 25


def test_looks_are_a_second_apart(files: RunFiles, settings: RunSettings) -> None:
    watch = LimitWatch(files, settings)
    watch.start(status(0), on_host=True)
    first = watch.now
    watch.look(status(1, pages=10_000))
    assert watch.now is first


def test_what_a_log_will_need_follows_the_rows_before() -> None:
    # Nothing is known: each row a new edge, at most each with two new vertices.
    assert sizes_to_come(0, 1600, 0, 0) == ((100, 1600), (3200, 1600))
    # Of 1,000 rows 300 edges came to be, of 20 vertices.
    assert sizes_to_come(1000, 3000, 20, 300) == ((80, 1200), (6020, 3300))


def test_each_warning_is_given_once() -> None:
    warnings, gb = LimitWarnings(), 10**9
    fits = Limit("arena", 0, 4 * gb, 2 * gb, 9 * gb)
    assert [*warnings.new([fits])] == []
    short = Limit("arena", 0, 4 * gb, 5 * gb, 9 * gb)
    edge = Limit("disk", 37 * gb, 40 * gb, gb, gb, full_at_batch=1234)
    (arena, sentence), (disk, edge_sentence) = warnings.new([short, edge])
    assert (arena, disk) == ("arena", "disk")
    sentence, edge_sentence = (text.replace(TIED, " ") for text in (sentence, edge_sentence))
    assert "takes some 5 GB" in sentence
    assert "4 GB are there" in sentence
    assert "37 GB of 40 GB (92%), and full at about batch 1,234" in edge_sentence
    assert [*warnings.new([short, edge])] == []
    nearly = Limit("arena", 36 * gb // 10, 4 * gb, 5 * gb, 9 * gb)
    assert [resource for resource, _ in warnings.new([nearly])] == ["arena"]


def test_what_a_run_tells_is_read_again(files: RunFiles, settings: RunSettings) -> None:
    watch = LimitWatch(files, settings)
    watch.start(status(0), on_host=False)
    progress = initial_progress(files)
    assert reported_limits(progress.values()) == ()
    values = {**progress.values(), "limits": [each.__dict__ for each in watch.now]}
    assert reported_limits(values) == watch.now
    assert limits_text(watch.now).startswith("arena\N{NO-BREAK SPACE}")
    # A run of an older graphtide tells nothing of them.
    del values["limits"]
    assert reported_limits(values) == ()
