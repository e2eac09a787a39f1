"""The page of runs in a browser: Chromium without a window, where it is installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from graphtide.config.settings import load_settings
from graphtide.pipeline.ingest import run
from graphtide.pipeline.monitoring import run_feed
from graphtide.pipeline.monitoring.dashboard_plugin import DashboardPlugin
from graphtide.pipeline.monitoring.progress import Progress
from small_log import BATCH_ROWS, BATCHES, FILES, ROWS
from waiting import wait_until

#: Nothing that Chromium would ask of others.
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--window-size=1500,1400",
)  # fmt: skip

#: Points of the longest line on the page; 0: there is no page yet.
POINTS = """
if (typeof Bokeh === "undefined" || Bokeh.documents.length === 0) { return 0; }
const sources = Bokeh.documents[0]._all_models;
let most = 0;
for (const model of sources.values()) {
  if (model.type === "ColumnDataSource" && model.data.rate) {
    most = Math.max(most, model.data.rate.length);
  }
}
return most;"""

#: Bytes of all drawings as images: clear ones take next to nothing.
DRAWN = """
const canvases = (root) => [...root.querySelectorAll("*")].flatMap(
  (each) => [...(each.tagName === "CANVAS" ? [each] : []),
             ...(each.shadowRoot ? canvases(each.shadowRoot) : [])]);
return canvases(document).reduce((sum, each) => sum + each.toDataURL().length, 0);"""

#: All words of the page; Bokeh keeps them in shadow trees.
WORDS = """
const words = (root) => [...root.childNodes].map((each) =>
  each.nodeType === 3 ? each.data
  : ["STYLE", "SCRIPT"].includes(each.nodeName) ? ""
  : (each.shadowRoot ? words(each.shadowRoot) : "") + words(each)).join(" ");
return words(document.body);"""


#: Where Dask's tabs end and the page begins, in pixels from the top.
PLACES = """
const box = (name) => document.querySelector(name).getBoundingClientRect();
return [box(".navbar").bottom, box(".content").top];"""


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no Chromium")
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield started
    started.quit()


def test_the_page_loads_and_its_plots_move_without_a_word_in_the_console(
    log: Path, tmp_path: Path, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_feed, "_INTERVAL_SECONDS", 0.0)
    #: Batches that the page tells of -> points of a line, and bytes drawn, at that moment.
    seen: dict[int, tuple[int, int]] = {}

    def words() -> str:
        return str(browser.execute_script(WORDS))

    wanted = {"batch_rows": BATCH_ROWS, "analytics_every": 10, "checkpoint_every": 20}
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as cluster:  # fmt: skip
        page = f"http://127.0.0.1:{cluster.scheduler.http_server.port}/graphtide"
        settings = load_settings({**wanted, "scheduler": cluster.scheduler_address})

        def heard() -> int:
            """Batches that the scheduler was told of."""
            runs = cluster.scheduler.plugins[DashboardPlugin.name].runs
            return [*runs.values()][-1].newest["batches_done"]

        def look(progress: Progress) -> None:
            """While the run waits here, the page comes to what was told last."""
            if progress.dashboard is None or len(seen) == 4:
                return
            if not seen:
                browser.get(page)
            if heard() not in seen:
                wait_until(lambda: f" {heard()} of {BATCHES} batches" in f" {words()}")
                seen[heard()] = browser.execute_script(POINTS), browser.execute_script(DRAWN)

        run(str(log), str(tmp_path / "state"), settings, look)
        wait_until(lambda: "Ended at" in words())
        assert browser.title == "graphtide"
        shown = words()
        # So narrow that the tabs take two lines.
        browser.set_window_size(900, 900)
        tabs_end, page_begin = browser.execute_script(PLACES)
        console = [each for each in browser.get_log("browser") if each["level"] != "INFO"]
        # It goes before the cluster does, which it would miss.
        browser.get("about:blank")
    assert f"{BATCHES} of {BATCHES} batches" in shown
    assert f"{FILES * ROWS:,} of {FILES * ROWS:,} rows" in shown
    assert console == []
    assert tabs_end <= page_begin, "the tabs cover the first line"
    points, drawn = zip(*seen.values(), strict=True)
    # The newest point may be moved where another could be added.
    assert sorted(points) == [*points], f"a line became shorter: {seen}"
    assert points[0] < points[-1], f"the lines did not grow: {seen}"
    assert len(points) == 4
    assert min(drawn) > 20_000
