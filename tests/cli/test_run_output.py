"""What a run tells while it goes on and at its end, to people, log files and programs."""

import io
import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commands import FIRST, fails, graphtide_here, run_here, write_log
from graphtide import DynamicGraph, __version__
from graphtide.flows.commands import status as status_module
from graphtide.flows.printing.activity import Activity
from graphtide.flows.printing.compiling import CompiledKernels
from graphtide.flows.printing.progress import EVERY_SECONDS, ProgressLine
from graphtide.flows.printing.run_reports import (
    JsonEvents,
    LineReporter,
    TerminalReporter,
    reporter_for,
)
from graphtide.flows.printing.summary import FATES, files_text
from graphtide.flows.printing.text import duration, line
from graphtide.flows.shell_order import order_notes
from graphtide.gpu_core.printable import amount, counted, rate
from graphtide.gpu_core.report import BatchSource
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.running import RunningFile
from graphtide.pipeline.monitoring.limits import Limit
from graphtide.pipeline.monitoring.picture import Picture
from graphtide.pipeline.monitoring.progress import Progress
from made_state import apply_log, random_rows, write_rows
from waiting import wait_until

RUN = ["log", "--state", "state", "--batch-rows", 100, "--checkpoint-every", 2]
BATCH_3 = "batch 3/40   1.25 M rows/s   29.6 s left"


def progress(batches_done: int, **others: Any) -> Progress:
    values: dict[str, Any] = {
        "batches_done": batches_done, "batches_total": 40, "batches_checkpointed": 0,
        "rows_done": batches_done * 1_000_000, "rows_total": 40_000_000,
        "rows_per_second": 1_250_000.0, "num_vertices": 24_759, "num_edges": 187_986,
        "stage": "apply",
    }  # fmt: skip
    return Progress(**{**values, **others})


def pictured(recoveries: int, troubles: tuple[tuple[float, str], ...]) -> Picture:
    return Picture(
        recoveries, seconds={}, timed=0, cpu_workers=1, window=4, loading=0, waiting=0, regions={},
        pinned_bytes=0, arena_edges=0, limit_bytes=0, troubles=troubles,
    )  # fmt: skip


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "text", ["1 min 54 s until all", "1.23 MB", "12.3 M rows/s", "70 %", "3 h"]
)
def test_a_number_is_not_broken_from_its_unit(text: str) -> None:
    for before in range(40, 68):
        for wrapped in line("applied", f"{'a' * before} {text} is there").splitlines():
            assert not re.search(r"\d$", wrapped), wrapped
            assert "\N{NO-BREAK SPACE}" not in wrapped


def test_a_label_is_apart_from_its_text_however_long_it_is() -> None:
    assert line("graph", "5 vertices") == "graph      5 vertices"
    for wrap in (False, True):
        assert line("betweenness_centrality", "0.5", wrap=wrap) == "betweenness_centrality 0.5"


def test_names_of_files_cannot_write_to_the_terminal() -> None:
    names = ["\x1b[31mred.csv", "a\tb  c.csv"]
    text = line("log", files_text(names))
    assert text == r"log        2 files, \x1b[31mred.csv … a\tb  c.csv"


def test_a_log_file_gets_a_line_each_ten_seconds() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = LineReporter(stream, clock)
    for second in range(1, 31):
        clock.now = float(second)
        reporter.show(progress(second))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 30 / EVERY_SECONDS
    assert "\r" not in stream.getvalue()
    assert lines[0].endswith(
        "  batch 10/40, 1.25 M rows/s, 24.0 s left, apply, 24,759 vertices, 187,986 edges"
    )


def test_a_file_of_a_later_address_is_called_by_its_name_and_address() -> None:
    assert files_text(["a.csv", "3//b c.csv"]) == "2 files, a.csv\xa0… b\xa0c.csv\xa0(address\xa03)"
    assert str(BatchSource("3//b.csv", 0, 7)) == "rows 0 to 6 of b.csv (address 3)"


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(n, "vertex") for n in (0, 1, 2_000)] == [
        "0 vertices",
        "1 vertex",
        "2,000 vertices",
    ]
    graph = DynamicGraph.from_edges([1], [2])
    assert repr(graph.insert_edges([1], [2])).startswith("<BatchReport, 1 row: 1 updated; graph of")
    assert repr(graph.insert_edges([1], [2])).endswith("2 vertices, 1 edge>")
    assert repr(graph.weakly_connected_components()).startswith(
        "<ComponentsResult 2 vertices, 1 co"
    )
    assert repr(graph.edges()) == "<CanonicalEdges 1 edge: src, dst>"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4242, "0.42 s"), (12.34, "12.3 s"), (60, "1 min 0 s"), (245.4, "4 min 5 s"),
        (3599.6, "1 h 0 min"), (7419, "2 h 3 min"), (100 * 3600, "100 h 0 min"),
    ],
)  # fmt: skip
def test_a_time_is_written_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("number", "size", "speed"),
    [
        (0, "0 B", "0"), (999, "999 B", "999"), (1234, "1.23 kB", "1.23 k"),
        (999_499, "999 kB", "999 k"), (999_500, "1 MB", "1 M"), (999_999_999, "1 GB", "1 G"),
        (23.6e9, "23.6 GB", "23.6 G"), (1.5e12, "1.5 TB", "1.5 T"),
    ],
)  # fmt: skip
def test_large_numbers_have_three_digits_and_the_unit_that_they_are_of(
    number: float, size: str, speed: str
) -> None:
    assert (amount(number), rate(number)) == (size, speed)


def test_status_names_the_command_that_goes_on_where_there_is_more(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 30))
    apply_log(tmp_path / "log", tmp_path / "my state", 1, batch_rows=10)
    done = graphtide_here("status", "my state", cwd=tmp_path)
    assert (done.returncode, "next" in done.stdout) == (0, False)
    shutil.rmtree(tmp_path / "my state" / "checkpoints" / "batch=000000000002")
    done = graphtide_here("status", "my state", cwd=tmp_path)
    following = f"next       graphtide run {tmp_path}/log --state 'my state'\n"
    assert (done.returncode, following in done.stdout) == (0, True)
    # What counts is the checkpoint: of the last batch there is a report, too.
    assert "applied    2 of 3 batches, 20 of 30 rows\n" in done.stdout
    values = json.loads(graphtide_here("status", "my state", "--json", cwd=tmp_path).stdout)
    assert (values["rows_applied"], values["rows_planned"]) == (20, 30)
    assert sum(values[name] for name, _ in FATES) == 20
    memory = values["memory"]
    used, free = (
        amount(memory[each] * memory["page_bytes"]) for each in ("pages_used", "pages_free")
    )
    assert f"{used} in use, in pages of {memory['page_bytes']} bytes; {free} free" in " ".join(
        done.stdout.split()
    )


def test_of_many_checkpoints_the_first_and_the_last_are_named() -> None:
    few = status_module.kept_text(dict.fromkeys(range(10), 1_000))
    assert few.startswith("10 checkpoints, 10 kB, after batches 0, 1, 2,")
    assert few.endswith(" 8, 9")
    many = status_module.kept_text(dict.fromkeys(range(0, 3_000, 2), 1_000))
    assert many.startswith("1,500 checkpoints, 1.5 MB, after batches 0, 2, 4,")
    assert many.endswith(" 14, …, 2,998")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_command_tells_what_it_does_and_that_kernels_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.flows.printing.compiling.cache_folder", lambda: tmp_path)
    (tmp_path / "before.nbc").touch()
    terminal, file, clock = Terminal(), io.StringIO(), Clock()
    with Activity("reading the graph …", terminal), Activity("reading", file, clock) as log:
        (tmp_path / "new.nbc").touch()
        wait_until(lambda: "environment: 1 so far" in terminal.getvalue())

        def is_reported() -> bool:
            clock.now += EVERY_SECONDS / 2
            log.now(f"batch {clock.now:.0f}/900")
            return "compiling kernels, once in this environment: 1" in file.getvalue()

        wait_until(is_reported)
    assert terminal.getvalue().endswith("\r\x1b[K"), "the line was left"
    lines = file.getvalue().splitlines()
    assert len(lines) == clock.now // EVERY_SECONDS
    assert lines[0].partition("  ")[2].startswith("batch 10/900")


def test_kernels_that_are_compiled_in_mid_run_are_told_while_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphtide.flows.printing.compiling.cache_folder", lambda: tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "before.nbc").touch()
    terminal, clock = Terminal(), Clock()
    monkeypatch.setattr("sys.stderr", terminal)
    with TerminalReporter() as reporter:
        reporter.show(progress(10))
        assert "compiling" not in terminal.getvalue()
        (tmp_path / "folder" / "new.nbc").touch()

        def is_reported() -> bool:
            reporter.show(progress(10))
            return "   apply   compiling kernels" in terminal.getvalue()

        wait_until(is_reported)
    kernels = CompiledKernels(clock)
    (tmp_path / "newer.nbc").touch()
    kernels.look()
    assert kernels.is_going_on()
    clock.now += 11
    kernels.look()
    assert not kernels.is_going_on(), "told for ever"


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (
            "83",
            "batch 3/40   1.25 M rows/s   29.6 s left   apply   24,759 vertices   187,986 edges",
        ),
        ("82", "batch 3/40   1.25 M rows/s   29.6 s left   apply   24,759 vertices"),
        ("60", "batch 3/40   1.25 M rows/s   29.6 s left   apply"),
        ("41", BATCH_3),
        ("8", "batch 3"),
    ],
)
def test_a_narrow_terminal_shows_whole_parts(
    monkeypatch: pytest.MonkeyPatch, columns: str, shown: str
) -> None:
    """``24`` of 24,759 vertices would be another number."""
    monkeypatch.setenv("COLUMNS", columns)
    terminal = Terminal()
    ProgressLine(terminal).show(progress(3))
    assert terminal.getvalue() == f"\r{shown}\x1b[K"


def test_a_line_is_written_over_at_once_if_the_stage_is_another_one() -> None:
    terminal = Terminal()
    shown = ProgressLine(terminal)
    for stage in ("apply", "apply", "checkpoint"):
        shown.show(progress(3, stage=stage))
    stages = re.findall("apply|checkpoint", terminal.getvalue())
    assert stages == ["apply", "checkpoint"]


def test_events_are_objects_a_line_with_tenths_and_checkpoints() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = JsonEvents(stream, clock)
    for done in range(41):
        clock.now = float(done)
        reporter.show(progress(done, batches_checkpointed=done // 15 * 15))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    named: dict[str, list[Any]] = {}
    for event in events:
        assert event["time"].endswith("+00:00")
        named.setdefault(event["event"], []).append(event)
    assert [each["batches_done"] for each in named["batch"]] == list(range(4, 41, 4))
    assert [each["batch"] for each in named["checkpoint"]] == [14, 29]
    assert [each["rows_done"] for each in named["progress"]] == [
        10**7,
        2 * 10**7,
        3 * 10**7,
        4 * 10**7,
    ]
    assert named["progress"][0]["seconds_left"] == 24.0


def test_tenths_of_a_graph_that_begins_again_are_told_again() -> None:
    stream = io.StringIO()
    reporter = JsonEvents(stream, Clock())
    for done in (0, 4, 8, 12, 5, 8, 12, 16):
        reporter.show(progress(done))
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    tenths = [each["batches_done"] for each in events if each["event"] == "batch"]
    assert tenths == [4, 8, 12, 8, 12, 16]


def test_who_listens_is_told_by_the_stream_that_is_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(reporter_for(), TerminalReporter)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert isinstance(reporter_for(), LineReporter)


def test_notes_stand_with_the_summary_unless_that_is_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = "note       a note\ndashboard  http://here\n"
    for options, expected in (
        ({}, (said, "")), ({"is_output_data": True}, ("", said)), ({"quiet": True}, ("", "")),
    ):  # fmt: skip
        reporter = reporter_for(**options)
        reporter.started(("log",), "state", ["a note"])
        reporter.show(progress(1, dashboard="http://here"))
        assert tuple(capsys.readouterr()) == expected, options


def test_a_run_that_waits_for_days_fills_no_log() -> None:
    clock, stream, events = Clock(), io.StringIO(), io.StringIO()
    reporters = LineReporter(stream, clock), JsonEvents(events, clock)

    def fails(stage: str, seconds: int) -> list[int]:
        """Lines of both while a run is at this stage for so long."""
        before = [len(each.getvalue().splitlines()) for each in (stream, events)]
        for _ in range(seconds):
            clock.now += 1.0
            for reporter in reporters:
                reporter.show(progress(40, stage=stage))
        after = [len(each.getvalue().splitlines()) for each in (stream, events)]
        return [now - then for now, then in zip(after, before, strict=True)]

    assert fails("apply", 30) == [3, 3]
    # Once that it waits, then each ten minutes.
    assert fails("waiting", 3600) == [6, 6]
    assert fails("apply", 30) == [3, 3]


def test_a_limit_that_is_near_is_told_once() -> None:
    stream, lines = io.StringIO(), io.StringIO()
    events = JsonEvents(stream, Clock())
    for done in range(3):
        limit = Limit("disk", (38 + done) * 10**9, 40 * 10**9, 10**9, 10**9, 17)
        events.show(progress(done, limits=(limit,)))
        with redirect_stdout(lines):
            LineReporter(io.StringIO(), Clock()).show(progress(done, limits=(limit,)))
    (warning,) = [each for each in map(json.loads, stream.getvalue().splitlines())
                  if each["event"] == "warning"]  # fmt: skip
    assert warning["resource"] == "disk"
    assert "38 GB of 40 GB (95%), and full at about batch 17; make room" in warning["message"]
    assert lines.getvalue().startswith("warning    the disk of the state is nearly full: 38 GB of")


def test_a_graph_that_was_lost_is_told_once() -> None:
    stream, lines = io.StringIO(), io.StringIO()
    events, people = JsonEvents(stream, Clock()), LineReporter(io.StringIO(), Clock())
    for done, recoveries in enumerate((0, 1, 1, 2)):
        troubles = tuple((0.0, f"the graph was lost: worker {n} died") for n in range(recoveries))
        with redirect_stdout(lines):
            for reporter in (events, people):
                reporter.show(progress(done, picture=pictured(recoveries, troubles)))
    warnings = [each["message"] for each in map(json.loads, stream.getvalue().splitlines())
            if each["event"] == "warning"]  # fmt: skip
    assert warnings == [f"the graph was lost: worker {n} died; it is made again" for n in (0, 1)]
    assert lines.getvalue().count("warning") == 2


def test_a_run_in_events_with_a_summary_for_programs(tmp_path: Path, scheduler: str) -> None:
    write_log(tmp_path / "log", FIRST)
    done = run_here(scheduler, *RUN, "--log-format", "json", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert events[0]["event"] == "started"
    assert events[0]["log"] == ["log"]
    assert events[-1]["event"] == "finished"
    assert {key: events[-1][key] for key in summary} == summary
    assert [each["batch"] for each in events if each["event"] == "checkpoint"][-1] == 6
    # The same words as status has.
    status = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
    same = (
        "batches_applied", "rows_applied", "inserted", "num_edges", "state_hash", "checkpoint",
        "source",
    )  # fmt: skip
    assert summary["source"]["file"] == "b.parquet"
    assert {key: status[key] for key in same if key != "checkpoint"} == {
        key: summary[key] for key in same if key != "checkpoint"
    }
    assert status["run"] is None
    assert not (tmp_path / "state" / "running.json").exists()
    again = run_here(scheduler, *RUN, "--quiet", cwd=tmp_path)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")


def test_a_result_that_fails_is_told_at_the_end_with_status_1(
    tmp_path: Path, scheduler: str
) -> None:
    write_log(tmp_path / "log", FIRST)

    def words(done: subprocess.CompletedProcess[str]) -> str:
        return " ".join(done.stdout.split())

    sentence = "pagerank after 1 batch, at last after batch 6: PageRank did not converge"
    done = run_here(scheduler, *RUN, "--set", "pagerank.max_iter=1", cwd=tmp_path)
    fails(done, 1, "result pagerank after batch 6 failed: PageRank did not converge", "are kept")
    assert f"failed {sentence}" in words(done)
    assert "clustering" in done.stdout
    status = graphtide_here("status", "state", cwd=tmp_path)
    assert status.returncode == 0
    assert f"failed {sentence}" in words(status)
    again = run_here(scheduler, *RUN, "--json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["failed"] == {}
    assert sentence not in words(graphtide_here("status", "state", cwd=tmp_path))


def test_an_error_is_an_event_too(tmp_path: Path) -> None:
    for options, status, word in (
        (["--batch-rows", 0], 2, "batch_rows"), ([], 1, "there is no log"),
    ):  # fmt: skip
        run = ["run", "nowhere", "--state", "state", "--log-format", "json", *options]
        done = graphtide_here(*run, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (status, "")
        event = json.loads(done.stderr.splitlines()[-1])
        assert (event["event"], event["command"]) == ("error", "graphtide run")
        assert event["status"] == status
        assert word in event["message"]


def test_status_tells_of_a_run_that_goes_on(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 400))
    apply_log(tmp_path / "log", tmp_path / "state", 5, batch_rows=40)
    state = StateDirectory(tmp_path / "state")
    shutil.rmtree(state.checkpoint(9))
    file = RunningFile(state.path)
    with state.lock():
        limits = (
            Limit("arena", 19 * 10**8, 20 * 10**8, 30 * 10**8, 90 * 10**8, full_at_batch=13),
            Limit("disk", 0, 40 * 10**9, 10**9, 2 * 10**9),
        )
        shown = progress(12, dashboard="http://127.0.0.1:8787/status", limits=limits)
        file.publish(shown.values())
        text = graphtide_here("status", "state", cwd=tmp_path).stdout
        values = json.loads(graphtide_here("status", "state", "--json", cwd=tmp_path).stdout)
    for words in ("batch 13 of 40", "12,000,000 of 40,000,000 rows in this run", "1.25 M rows/s",
                  "22.4 s left", "dashboard  http://127.0.0.1:8787/status",
                  "warning    the arena is nearly full: 1.9 GB of 2 GB (95%)"):  # fmt: skip
        assert words in text
    words = "limits arena 1.9 GB of 2 GB (95%), full at about batch 13; disk 0 B of 40 GB (0%)"
    assert words in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80 + len(str(tmp_path))
    assert "next " not in text, "it goes on already"
    assert values["run"]["batches_done"] == 12
    assert values["run"]["seconds_left"] == 22.4
    assert values["run"]["limits"][0]["full_at_batch"] == 13
    # Nobody has the lock: whatever the file says, no run goes on.
    text = graphtide_here("status", "state", cwd=tmp_path).stdout
    assert "running    no\n" in text
    assert "next       graphtide run " in text
    assert "batch 13" not in text
    done = graphtide_here("status", "state", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["run"] is None


@pytest.mark.parametrize(
    ("given", "is_noted"),
    [
        (["part.0.parquet", "part.1.parquet", "part.10.parquet", "part.2.parquet"], True),
        (["part.0.parquet", "part.2.parquet", "part.10.parquet"], False),
        (["part.10.parquet", "part.2.parquet", "part.1.parquet"], False),
        (["log"], False),
    ],
)
def test_an_order_that_a_shell_has_made_is_noted(given: list[str], is_noted: bool) -> None:
    notes = order_notes([f"c/{name}" for name in given])
    assert bool(notes) == is_noted
    if is_noted:
        assert "c/part.10.parquet before c/part.2.parquet" in notes[0]
        assert "'log/*.parquet'" in notes[0]


def test_the_note_comes_before_the_summary_and_paths_are_quoted(
    tmp_path: Path, scheduler: str
) -> None:
    files = {"part.10.parquet": FIRST["a.parquet"], "part.2.parquet": FIRST["b.parquet"]}
    write_log(tmp_path / "my log", files)
    run = [f"my log/{name}" for name in files] + ["--state", "my state"]
    done = run_here(scheduler, *run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("note       files were given one by one, my log/part.10.parquet")
    assert "next       graphtide status 'my state'\n" in done.stdout


def test_python_m_graphtide_is_graphtide(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "graphtide", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == f"graphtide, version {__version__}\n"


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_status_is_shown_again_until_ctrl_c(
    form: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time as the state is by then."""
    log, state = tmp_path / "log", tmp_path / "state"
    more = iter(["b.parquet", "c.parquet"])

    def apply(name: str) -> None:
        write_rows(log, name, random_rows(1, 400))
        apply_log(log, state, 5, batch_rows=40)

    def meanwhile(_seconds: float) -> None:
        if (name := next(more, None)) is None:
            raise KeyboardInterrupt
        apply(name)

    apply("a.parquet")
    monkeypatch.setattr(status_module, "time", SimpleNamespace(sleep=meanwhile, time=time.time))
    done = graphtide_here("status", "state", "--watch", *form, cwd=tmp_path)
    assert done.returncode == 130
    if form:
        seen = [json.loads(line)["batches_applied"] for line in done.stdout.splitlines()]
    else:
        seen = [int(each) for each in re.findall(r"applied +(\d+) of \1 batches", done.stdout)]
    assert seen == [10, 20, 30]
