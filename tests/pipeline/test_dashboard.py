"""The page of runs on Dask's dashboard, as a browser gets it: of a run's cluster and of others."""

import asyncio
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import dask
import pytest
from distributed import LocalCluster

from graphtide.config.settings import RunSettings, load_settings
from graphtide.gpu_core.errors import GraphtideError, SettingsError
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring import run_feed
from graphtide.pipeline.monitoring.progress import WAITING_FOR_A_LOG, Progress
from graphtide.pipeline.monitoring.span_groups import SpanGroups
from graphtide.pipeline.workers.cluster import open_cluster
from small_log import BATCH_ROWS, BATCHES, ROWS
from waiting import PATIENCE, wait_until


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as started:  # fmt: skip
        yield started


@pytest.fixture
def page(cluster: LocalCluster) -> str:
    return f"http://127.0.0.1:{cluster.scheduler.http_server.port}/graphtide"


@pytest.fixture
def settings(cluster: LocalCluster) -> RunSettings:
    return load_settings(
        {
            "scheduler": cluster.scheduler_address,
            "batch_rows": BATCH_ROWS,
            "analytics_every": 10,
            "checkpoint_every": 20,
        }
    )


def seen(page: str) -> Any:
    """What a browser that comes now would draw; it asks for the page before it opens a session."""
    # Here, as every process of a run collects this file, and one runs it.
    from bokeh.client import pull_session

    with urlopen(page, timeout=PATIENCE) as answer:
        answer.read()
    return pull_session(url=page).document


def words(document: Any) -> str:
    from bokeh.models import Div

    return " ".join(div.text for div in document.select({"type": Div}))


def points(document: Any, column: str) -> list[Any]:
    """The longest column of this name."""
    from bokeh.models import ColumnDataSource

    sources = document.select({"type": ColumnDataSource})
    return max((list(each.data.get(column, [])) for each in sources), key=len, default=[])


def check_dasks_own_pages(cluster: LocalCluster, state: Path) -> None:
    """Dask's pages tell steps from each other, batches by their events, and runs by their spans."""
    scheduler = cluster.scheduler
    steps = {"load-batch", "apply-batch", "compute-results", "copy-graph"}
    # By step alone: the scheduler forgets none of these names.
    assert steps <= {*scheduler.task_prefixes} <= steps | {
        "pin-graph", "drop-copy", "send-copy", "drop-results", "send-results", "graph", "warm-up",
        "connect-graph", "close-graph", "scatter", "ActorHolder",
    }  # fmt: skip
    [span] = scheduler.extensions["spans"].spans_search_by_tag[state.name]
    assert span.name == ("graphtide", state.name)
    assert span.states["forgotten"] >= 2 * BATCHES
    # Groups of tasks that are gone are kept as their sum.
    before = span.states, span.start, span.stop, span.nbytes_total
    duration = span.duration
    scheduler.plugins[SpanGroups.name].add_up()
    assert (span.states, span.start, span.stop, span.nbytes_total) == before
    assert span.duration == pytest.approx(duration)
    assert len(span.groups) == len({group.name for group in span.groups}) > 4
    assert span._metadata == {"collections": [{"type": "Future"}]}
    told = [message for _, message in scheduler.get_events("graphtide-batches")][-BATCHES:]
    assert [each["batch_id"] for each in told] == list(range(BATCHES))
    assert sum(each["rows"] for each in told) == 3 * ROWS
    assert {"read", "convert", "transfer", "apply"} == {*told[-1]["seconds"]}


def test_spans_that_a_dask_keeps_otherwise_are_left_alone(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each look would end in an error in the log of a scheduler that may be others'."""

    async def looks_on() -> tuple[bool, bool]:
        groups = SpanGroups()
        await groups.start(cluster.scheduler)
        groups.add_up()
        before = groups._callback.is_running()
        monkeypatch.delitem(cluster.scheduler.extensions, "spans")
        groups.add_up()
        return before, groups._callback.is_running()

    assert asyncio.run(looks_on()) == (True, False)


def test_the_page_of_a_cluster_of_others_moves_with_the_run(
    log: Path,
    tmp_path: Path,
    cluster: LocalCluster,
    settings: RunSettings,
    page: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_feed, "_INTERVAL_SECONDS", 0.0)
    addresses: set[str | None] = set()
    #: Points that were drawn whenever the page was looked at.
    drawn: list[int] = []

    def look(progress: Progress) -> None:
        addresses.add(progress.dashboard)
        if progress.dashboard and len(set(drawn)) < 4:
            drawn.append(len(points(seen(page), "rate")))

    state = tmp_path / "moves"
    run(str(log), str(state), settings, look)
    check_dasks_own_pages(cluster, state)
    assert page.replace("127.0.0.1", "localhost") in addresses
    assert drawn == sorted(drawn)
    assert len(set(drawn)) == 4
    document = seen(page)
    assert "Ended at" in words(document)
    assert f"{BATCHES} of {BATCHES} batches" in words(document)
    assert f"{3 * ROWS:,} of {3 * ROWS:,} rows" in words(document)
    assert str(state) in words(document)
    assert "bytes an edge" in words(document)
    # By size, once they have been counted.
    assert any(name.startswith("adjacencies") for name in points(document, "region"))
    assert points(document, "edges")[-1] > 0
    assert max(points(document, "batch")) == BATCHES - 1
    assert "pagerank" in words(document)
    assert "prefers-color-scheme: dark" in urlopen(page).read().decode()


def test_a_run_that_fails_says_why_and_the_newest_run_is_shown(
    log: Path, tmp_path: Path, settings: RunSettings, page: str
) -> None:
    def fail(progress: Progress) -> None:
        if progress.dashboard and progress.batches_done:
            msg = "stopped in the <middle>"
            raise GraphtideError(msg)

    with pytest.raises(GraphtideError, match="in the <middle>"):
        run(str(log), str(tmp_path / "failed"), settings, fail)
    assert "stopped in the &lt;middle&gt;" in words(seen(page))
    run(str(log), str(tmp_path / "again"), settings)
    document = seen(page)
    assert "Ended at" in words(document)
    from bokeh.models import Select

    choice = document.select_one({"type": Select})
    assert choice.visible
    assert str(tmp_path / "again") in choice.options[0][1]
    assert str(tmp_path / "failed") in choice.options[1][1]
    # A second run finds the tab of the first, on Dask's own pages too.
    for tab in ("status", "workers", "graphtide"):
        html = urlopen(page.replace("graphtide", tab)).read().decode()
        assert html.count('<a href="graphtide">') == 1, tab


def test_that_the_graph_is_made_again_is_told_before_that_is_done(
    cluster: LocalCluster, settings: RunSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop of the run waits for it, and says nothing more."""
    monkeypatch.setattr(run_feed, "_INTERVAL_SECONDS", 1e9)
    about = {"run": "recovers", "started": 0.0, "log": ["log"], "state": "recovers"}

    def told() -> list[tuple[str, int]]:
        events = [each for _, each in cluster.scheduler.get_events("graphtide")]
        return [
            (each["stage"], each["batches_done"]) for each in events if each["run"] == "recovers"
        ]

    with open_cluster(settings) as opened:
        feed = run_feed.RunFeed(opened, about)
        for done, stage in enumerate(("apply", "apply", "recover", "recover")):
            feed.publish(replace(WAITING_FOR_A_LOG, stage=stage, batches_done=done))
        wait_until(lambda: told() == [("apply", 0), ("recover", 2)])


@pytest.mark.everyday
def test_a_cluster_of_the_run_itself_has_the_page_too(log: Path, tmp_path: Path) -> None:
    shown: list[str] = []

    def look(progress: Progress) -> None:
        if progress.dashboard and progress.batches_done and not shown:
            address = progress.dashboard
            wait_until(lambda: "batches under way" in words(seen(address)))
            shown.append(address)

    wanted = load_settings({"workers": 1, "batch_rows": BATCH_ROWS, "analytics": []})
    run(str(log), str(tmp_path / "state"), wanted, look)
    assert shown
    assert shown[0].endswith("/graphtide")


@pytest.mark.parametrize("form", ["{scheme}://{host}/{nope}/{port}", "{port", "{}", 5])
@pytest.mark.parametrize("is_foreign", [False, True])
def test_a_link_that_cannot_be_filled_in_is_refused_before_a_cluster_starts(
    settings: RunSettings, form: object, *, is_foreign: bool
) -> None:
    """Dask fills it in from variables of the environment, which cron has not."""
    wanted = settings if is_foreign else load_settings({"workers": 1})
    with dask.config.set({"distributed.dashboard.link": form}):
        with pytest.raises(SettingsError, match=r"dashboard\.link, .*, cannot be filled in"):
            open_cluster(wanted).__enter__()
        if form == "{scheme}://{host}/{nope}/{port}":
            with pytest.raises(SettingsError, match="no variable nope in the environment"):
                open_cluster(wanted).__enter__()


def test_a_scheduler_without_a_dashboard_logs_no_error(
    log: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its console may be that of others. Nor do metrics, where nothing can show them."""
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    addresses: set[str | None] = set()

    def look(progress: Progress) -> None:
        addresses.add(progress.dashboard)

    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, memory_limit=0
    ) as cluster:
        settings = load_settings(
            {"scheduler": cluster.scheduler_address, "batch_rows": BATCH_ROWS, "analytics": []}
        )
        for state in ("first", "second"):
            run(str(log), str(tmp_path / state), settings, look)
        assert not cluster.scheduler.get_events("graphtide"), "nobody listens"
    assert addresses == {None}
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
