"""What is kept of a run on the scheduler, and what the page says of it."""

import math
from typing import Any

import pytest

from graphtide.pipeline.monitoring import page_text, run_history
from graphtide.pipeline.monitoring.busy import busiest, busy_shares
from graphtide.pipeline.monitoring.run_history import RunHistory, series

NOTHING = dict.fromkeys(
    ("read", "convert", "transfer", "apply", "analytics", "disk", "client"), 0.0
)


def sent(at: float, batches: int, recoveries: int = 0, **others: Any) -> dict[str, Any]:
    """A message of a run with 2 CPU workers and 100 rows a batch; ``others``: seconds by stage."""
    stage = others.pop("stage", "apply")
    findings = others.pop("findings", {})
    troubles = others.pop("troubles", [])
    loading, waiting = others.pop("under_way", (2, 1))
    timed = others.pop("timed", batches if others else 0)
    return {
        "run": "a", "state": "state", "log": ["log"], "started": 0.0, "time": at, "stage": stage,
        "batches_done": batches, "batches_total": 50, "rows_done": 100 * batches,
        "rows_total": 5000, "rows_per_second": 1.0, "num_vertices": batches, "num_edges": batches,
        "seconds_left": None, "limits": [], "error": None,
        "picture": {
            "recoveries": recoveries, "seconds": {**NOTHING, **others}, "timed": timed,
            "cpu_workers": 2,
            "window": 10, "loading": loading, "waiting": waiting, "regions": {}, "pinned_bytes": 0,
            "arena_edges": 0, "limit_bytes": 0, "adjacency_bytes": (), "findings": findings,
            "troubles": troubles, "epochs": 1, "most_epochs": 2, "waits": 0, "wait_seconds": 0.0,
        },
    }  # fmt: skip


def history_of(*messages: dict[str, Any]) -> RunHistory:
    history = RunHistory(messages[0])
    for message in messages[1:]:
        history.add(message)
    return history


@pytest.mark.parametrize(
    ("seconds", "limit", "words"),
    [
        ({"read": 12.0, "convert": 5.0, "transfer": 1.0, "apply": 4.0}, "CPU workers", "reading"),
        (
            {"read": 5.0, "convert": 12.0, "transfer": 1.0, "apply": 4.0},
            "CPU workers",
            "conversion",
        ),
        ({"read": 1.0, "convert": 2.0, "transfer": 15.0, "apply": 4.0}, "CPU workers", "hand-over"),
        ({"read": 2.0, "apply": 9.5}, "graph", "the graph"),
        ({"read": 2.0, "apply": 1.0, "analytics": 8.9}, "analytics", "analytics_every"),
        ({"read": 2.0, "apply": 1.0, "disk": 8.9}, "disk", "checkpoint"),
        ({"read": 2.0, "apply": 1.0, "client": 9.0}, "client", "batch_rows"),
        ({"read": 2.0, "apply": 7.0, "analytics": 6.0}, "analytics", "Limited by analytics"),
        ({"read": 2.0, "apply": 5.0}, None, "No part of the run is at its limit"),
        ({"read": 2.0, "apply": 5.0, "cores": 9.5}, "cores", "the cores of this machine"),
        ({"read": 18.0, "apply": 5.0, "cores": 9.5}, "cores", "the cores of this machine"),
        ({"read": 2.0, "apply": 9.0, "cores": 9.5}, "graph", "the graph"),
    ],
)
def test_the_first_line_names_what_is_busiest(
    seconds: dict[str, float], limit: str | None, words: str
) -> None:
    history = history_of(sent(0, 0), sent(10, 20, **seconds))
    assert history.limit()[0] == limit
    assert words in page_text.headline(history)


def test_what_limited_the_run_long_ago_is_not_what_does_now() -> None:
    history = history_of(
        sent(0, 0), sent(100, 20, apply=99.0), sent(120, 40, apply=100.0, read=39.0)
    )
    assert history.limit() == ("CPU workers", "reading")
    assert history.busy()["graph"] == pytest.approx(1 / 20)
    assert history.rows_per_second() == pytest.approx(100)


def test_shares_are_of_all_cpu_workers() -> None:
    shares = busy_shares({"read": 4.0, "convert": 2.0, "apply": 1.0}, 2.0, 3)
    assert shares == {"CPU workers": 1.0, "graph": 0.5}
    assert busiest(shares) == "CPU workers"
    assert busiest({**shares, "CPU workers": 0.84}) is None


def test_a_rate_is_that_of_the_rows_between_two_points() -> None:
    history = history_of(sent(5, 0), sent(6, 2, apply=0.5), sent(10, 4, apply=0.7))
    columns = series(history.samples)
    assert columns["seconds"] == [0, 1, 5]
    assert math.isnan(columns["rate"][0])
    assert columns["rate"][1:] == [200, 50]
    assert columns["apply"][1:] == pytest.approx([0.25, 0.1])


def test_nothing_is_drawn_between_two_batches() -> None:
    """Else the rate would fall to 0 whenever a batch takes longer than a message."""
    messages = [sent(second, second // 4 * 2) for second in range(13)]
    columns = series(history_of(*messages).samples)
    assert columns["seconds"] == [0, 4, 8, 12]
    assert columns["rate"][1:] == [50, 50, 50]


def test_batches_of_many_seconds_are_no_pauses() -> None:
    columns = series(history_of(*(sent(at, at // 12 * 2) for at in range(25))).samples)
    assert columns["seconds"] == [0, 12, 24]
    assert columns["rate"][1:] == pytest.approx([200 / 12] * 2)


def test_a_run_with_nothing_to_do_has_a_rate_of_0() -> None:
    """As one that follows a log to which nothing is added."""
    idle = [sent(at, 2, stage="waiting", under_way=(0, 0)) for at in range(2, 13)]
    columns = series(history_of(sent(0, 0), sent(1, 2), *idle).samples)
    assert columns["seconds"] == [0, 1, 6, 11, 12]
    assert columns["rate"][1:4] == [200, 0, 0]


def test_a_batch_that_goes_on_at_the_newest_message_is_no_rate_of_0() -> None:
    columns = series(history_of(*(sent(at, at // 4 * 2) for at in range(11))).samples)
    assert columns["seconds"] == [0, 4, 8, 10]
    assert columns["rate"][1:3] == [50, 50]
    assert math.isnan(columns["rate"][3])
    assert columns["edges"][3] == 4


def test_seconds_of_a_batch_are_those_of_the_batches_that_they_count() -> None:
    """They come with a status of the graph, which may be older than what is known of batches."""
    history = history_of(
        sent(0, 0), sent(1, 4), sent(2, 8, timed=6, apply=3.0), sent(3, 10, timed=6, apply=3.0),
        sent(4, 12, timed=12, apply=6.0),
    )  # fmt: skip
    apply = series(history.samples)["apply"]
    assert math.isnan(apply[1])
    assert apply[2:] == [0.5, 0.5, 0.5]


def test_a_graph_that_was_lost_leaves_a_gap() -> None:
    history = history_of(
        sent(0, 0), sent(1, 10, apply=1), sent(2, 5, recoveries=1, apply=1),
        sent(3, 9, recoveries=1, apply=2, troubles=[[2.0, "the graph was lost: <killed>"]]),
    )  # fmt: skip
    rates = series(history.samples)["rate"]
    assert [math.isnan(rate) for rate in rates] == [True, False, True, False]
    assert rates[3] == 400
    assert "the graph was lost: &lt;killed&gt;" in page_text.troubles(history)


def test_what_happens_now_is_of_this_life_of_the_graph() -> None:
    history = history_of(sent(0, 0), sent(20, 20, apply=20), sent(21, 5, recoveries=1, apply=20))
    assert history.rows_per_second() == 0
    assert history.busy() == {}
    history.add(sent(23, 9, recoveries=1, apply=21))
    assert history.rows_per_second() == 200
    assert history.busy()["graph"] == 0.5


def test_a_run_of_weeks_keeps_its_beginning_and_its_sums() -> None:
    history = RunHistory(sent(0, 0))
    for second in range(1, 20_000):
        history.add(sent(second, second, apply=second / 2))
    assert len(history.samples) <= 600
    columns = series(history.samples)
    assert columns["seconds"][0] == 0
    assert columns["seconds"][-1] == 19_999
    assert columns["rate"][1:] == pytest.approx([100] * (len(columns["rate"]) - 1))
    assert history.limit()[0] is None
    assert history.busy()["graph"] == pytest.approx(0.5)


def test_results_are_drawn_by_batch_and_the_later_of_two_counts() -> None:
    def found(batch: int, steps: int) -> dict[str, Any]:
        result = {"text": "PageRank", "analytic": "pagerank", "top": [["<b>", 0.5]]}
        katz = {"text": "Katz", "analytic": "katz_centrality", "batch": batch, "iterations": 99}
        # Another analytic has values of the same name.
        return {"katz": katz, "ranks": {**result, "batch": batch, "iterations": steps}}

    history = history_of(
        sent(0, 0), sent(1, 4, findings=found(3, 9)), sent(2, 9, findings=found(8, 7)),
        sent(3, 4, recoveries=1, findings=found(3, 5)),
    )  # fmt: skip
    assert history.over_batches("pagerank", "iterations") == ([3, 8], [5.0, 7.0])
    assert history.over_batches("clustering", "triangles") == ([], [])
    assert "&lt;b&gt;" in page_text.results(history)


def test_results_that_follow_fewer_batches_are_drawn_and_said_to_be_earlier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_history, "_RESULTS", 4)
    history = history_of(sent(0, 0))
    for batch in range(10):
        ranks = {"text": "PageRank", "batch": batch, "iterations": batch}
        counts = {"text": "Triangles", "batch": batch - batch % 5, "triangles": 7}
        found = {"pagerank": ranks, "clustering": counts}
        findings = {name: {**each, "analytic": name} for name, each in found.items()}
        history.add(sent(batch + 1, batch + 1, findings=findings))
    assert history.over_batches("clustering", "triangles") == ([0, 5], [7.0, 7.0])
    ranked = history.over_batches("pagerank", "iterations")
    assert ranked == ([6, 7, 8, 9], [6.0, 7.0, 8.0, 9.0])
    text = page_text.results(history)
    assert "results after batch 9" in text
    assert "PageRank</p>" in text
    assert "Triangles, after batch 5</p>" in text


def test_what_is_said_of_a_run_that_does_not_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    history = history_of(sent(0, 0))
    assert "Just begun" in page_text.headline(history)
    history.add(sent(1, 3, stage="recover"))
    assert "Recovering" in page_text.headline(history)
    history.add({**sent(2, 3, stage="failed"), "error": "no room on <disk>"})
    assert "no room on &lt;disk&gt;" in page_text.headline(history)
    silent = history_of(sent(0, 0))
    monkeypatch.setattr(run_history, "_SILENT_SECONDS", 0.0)
    assert "No word" in page_text.headline(silent)
    assert history.silent_seconds is None


def test_a_graph_counts_as_brought_back_when_it_is_there() -> None:
    lost = [(1.0, "the graph was lost: <why>")]
    history = history_of(sent(0, 3), sent(1, 0, recoveries=1, stage="recover", troubles=lost))
    assert "lost: &lt;why&gt;" in page_text.troubles(history)
    assert "brought back" not in page_text.troubles(history)
    history = history_of(sent(0, 3), sent(2, 0, recoveries=1, troubles=lost))
    assert "brought back 1 time" in page_text.troubles(history)
    assert "Just recovered" in page_text.headline(history)


def test_waits_for_epochs_are_told_where_there_were_some() -> None:
    message = sent(1.0, 4)
    assert "<td>1 of 2 kept for results and checkpoints</td>" in page_text.facts(
        history_of(message)
    )
    waited = {**message["picture"], "epochs": 2, "waits": 3, "wait_seconds": 4.56}
    facts = page_text.facts(history_of({**message, "picture": waited}))
    assert (
        "<td>2 of 2 kept for results and checkpoints; batches waited 3 times, 4.6 s</td>" in facts
    )


def test_the_arena_is_told_by_region_and_adjacencies_by_size() -> None:
    message = sent(1.0, 4)
    regions = {"header": 100, "adjacencies": 800, "unused": 100}
    picture = {**message["picture"], "regions": regions, "pinned_bytes": 50}
    bars = page_text.regions(history_of({**message, "picture": picture}))
    assert [(name, size) for name, size, _ in bars] == [
        ("pinned epochs (beside)", 50), ("unused", 100), ("adjacencies", 800), ("header", 100),
    ]  # fmt: skip
    picture["adjacency_bytes"] = [(1, 300), (2, 100), (8, 50), (16, 150), (4096, 200)]
    bars = page_text.regions(history_of({**message, "picture": picture}))
    assert [(name, size) for name, size, _ in bars[2:]] == [
        ("of 1,024 pages or more", 200), ("of 128 to 512 pages", 0), ("of 16 to 64 pages", 150),
        ("of 2 to 8 pages", 150), ("adjacencies of 1 page", 300), ("header", 100),
    ]  # fmt: skip
    assert bars[-2][2] == "300 B, 30.0% of the arena"
    # A size that nothing has is left out behind the largest alone.
    picture["adjacency_bytes"] = [(16, 800)]
    bars = page_text.regions(history_of({**message, "picture": picture}))
    assert [(name, size) for name, size, _ in bars[2:-1]] == [
        ("of 16 to 64 pages", 800), ("of 2 to 8 pages", 0), ("adjacencies of 1 page", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("full_at", "likely", "text"),
    [
        (7_000, 10, "0% of 1 GB; full at batch 7,000"),
        (None, 10, "0% of 1 GB; not full before the end of the log"),
        (None, 2 * 10**9, "0% of 1 GB; likely too small for the whole log, which takes 2 GB"),
    ],
)
def test_a_limit_is_not_said_to_suffice_where_it_likely_does_not(
    full_at: int | None, likely: int, text: str
) -> None:
    message = sent(5, 1)
    limit = {
        "resource": "disk", "used_bytes": 0, "most_bytes": 10**9, "likely_bytes": likely,
        "at_most_bytes": likely, "full_at_batch": full_at,
    }  # fmt: skip
    picture = {**message["picture"], "regions": {"adjacencies": 5}}
    history = history_of({**message, "limits": [limit], "picture": picture})
    assert f"disk limit</td><td>{text}<" in page_text.memory(history)


def test_no_rate_of_now_is_told_where_nothing_is_applied() -> None:
    history = history_of(sent(0, 0), sent(1, 3))
    assert "300 rows/s now" in page_text.facts(history)
    for stage in ("waiting", "end"):
        history.add(sent(2, 3, stage=stage))
        assert "now" not in page_text.facts(history)
        assert "rows/s in all" in page_text.facts(history)


def test_a_line_is_drawn_when_it_has_two_points() -> None:
    """With one the browser would make up an axis, of times before the run."""
    from bokeh.plotting import figure

    from graphtide.pipeline.monitoring import dashboard_page

    history = history_of(sent(0, 0))
    page = dashboard_page._Page({"a": history})
    page.look()
    assert list(page.root.select({"type": figure})) == []
    history.add(sent(1, 0))
    page.look()
    titles = {each.title.text for each in page.root.select({"type": figure})}
    assert titles == {"edges (left), vertices (right)", "batches under way"}
