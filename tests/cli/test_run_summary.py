"""The summary of a run, for people and for programs: each figure is what its words say."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

from graphtide.config.settings import GraphSettings
from graphtide.flows.printing.summary import failure_text, result_lines, run_lines, run_values
from graphtide.flows.printing.text import json_text
from graphtide.io.state.results import FailedResult, Failures
from graphtide.pipeline.run_summary import RunSummary


def test_a_run_of_one_batch_has_its_times_and_number() -> None:
    """The first batch is 0; a rate is of the time in which rows were applied."""
    failed = {
        name: Failures(2, FailedResult(batch, name, "no memory"))
        for name, batch in (("bfs", 3), ("sssp", 5))
    }
    summary = RunSummary(
        folder=Path("state"), first=0, batches_applied=1, rows=3_000,
        totals=Counter(rows=3_000, inserted=3_000, weights_rounded=7), readers=["cpu-0"],
        watermark=0, num_vertices=4, num_edges=5, state_hash="ab", results=[], checkpoint=None,
        seconds=5.0, ingest_seconds=2.0, nothing_to_do=False, waits=0, wait_seconds=0.0,
        failures=failed, files=["a.csv"], notes=["a note"],
    )  # fmt: skip
    graph = GraphSettings(records="weighted", on_repeat="sum")
    text = " ".join(" ".join(run_lines(summary, "log", "state", graph)).split())
    assert "1 batch, 3,000 rows in 2.00 s (1.5 k rows/s), 5.00 s until all is on disk" in text
    assert "7 of 3,000 rows are rounded to float32; --weights float64 keeps them" in text
    assert "4 vertices, 5 edges (directed, weighted, sum of repeats)" in text
    wide = GraphSettings(records="weighted", weights="float64")
    assert "--weights" not in " ".join(run_lines(summary, "log", "state", wide))
    values = run_values(summary, ["log"], "state", ["of the shell"])
    assert (values["last_batch"], values["seconds"], values["ingest_seconds"]) == (0, 5.0, 2.0)
    assert values["rows_per_second"] == 1_500
    assert values["notes"] == ["of the shell", "a note"]
    none = replace(summary, watermark=-1, batches_applied=0, ingest_seconds=0.0)
    values = run_values(none, ["log"], "state", [])
    assert (values["last_batch"], values["rows_per_second"]) == (None, None)
    assert failure_text(failed).startswith("result sssp after batch 5 failed: no memory, and 1 ot")
    assert failure_text({"bfs": failed["bfs"]}).startswith("result bfs after batch 3 failed: no me")
    assert "other" not in failure_text({"bfs": failed["bfs"]}).partition(".")[0]


def test_values_that_are_no_numbers_of_json_are_null() -> None:
    values = {"far": [math.inf, 1.5, math.nan], "near": {"low": -math.inf, "there": True}}
    text = json_text(values)
    assert "Infinity" not in text
    assert json.loads(text) == {"far": [None, 1.5, None], "near": {"low": None, "there": True}}


def test_a_result_is_shown_with_parameters_that_are_not_the_defaults() -> None:
    ranks = {"analytic": "pagerank", "top": [(5, 0.5)]}
    summaries = {
        "pagerank": {**ranks, "parameters": {"alpha": 0.85, "tol": 1e-9}},
        "slow": {**ranks, "parameters": {"alpha": 0.5}},
    }
    assert list(result_lines([], summaries)) == [
        "pagerank   5 (0.500000); tol: 1e-09",
        "slow       pagerank 5 (0.500000); alpha: 0.5",
    ]
