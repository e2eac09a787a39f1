"""What a run tells of itself: believed only while its process is there."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from graphtide.io.hashed_json import json_text
from graphtide.io.process_identity import process_identity
from graphtide.io.state import running
from graphtide.io.state.running import RunningFile, read_running


def test_what_is_told_is_read_and_goes_with_its_run(tmp_path: Path) -> None:
    assert read_running(tmp_path) is None
    file = RunningFile(tmp_path)
    file.publish({"batches_done": 3})
    told = read_running(tmp_path)
    assert told is not None
    assert told["batches_done"] == 3
    assert told["started"] <= told["written"]
    file.remove()
    assert read_running(tmp_path) is None
    assert [*tmp_path.iterdir()] == []


def test_the_process_may_have_any_name(tmp_path: Path) -> None:
    """The kernel cuts that of a script after 15 bytes, which may be within a letter."""
    comm = Path("/proc/self/comm")
    before = comm.read_bytes()
    comm.write_bytes("a) tägliche Töne".encode()[:15])
    try:
        file = RunningFile(tmp_path)
        file.publish({"batches_done": 3})
        assert read_running(tmp_path) is not None
    finally:
        comm.write_bytes(before)


def test_it_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(running.time, "monotonic", lambda: now)
    file = RunningFile(tmp_path)
    seen = []
    for now in (100.0, 101.9, 102.0, 103.0, 104.5):
        file.publish({"at": now})
        told = read_running(tmp_path)
        assert told is not None
        seen.append(told["at"])
    assert seen == [100.0, 100.0, 102.0, 102.0, 104.5]
    file.publish({"at": "last"}, at_once=True)
    told = read_running(tmp_path)
    assert told is not None
    assert told["at"] == "last"


def test_the_words_of_a_process_that_is_gone_are_not_believed(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from graphtide.io.state.running import RunningFile; "
        "RunningFile(Path(sys.argv[1])).publish({'batches_done': 3})"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, cwd=tmp_path)
    assert (tmp_path / "running.json").exists()
    assert read_running(tmp_path) is None


def test_nor_are_those_of_a_process_that_had_our_number(tmp_path: Path) -> None:
    ours = process_identity(os.getpid())
    for change in ({"start": "1"}, {"boot": "another"}, {"start": ""}):
        (tmp_path / "running.json").write_text(json_text({**ours, **change, "batches_done": 3}))
        assert read_running(tmp_path) is None


def test_half_a_file_is_none(tmp_path: Path) -> None:
    RunningFile(tmp_path).publish({"batches_done": 3})
    path = tmp_path / "running.json"
    text = path.read_text()
    assert json.loads(text)["batches_done"] == 3
    for damaged in ("", text[: len(text) // 2], text.replace(": 3", ": 4")):
        path.write_text(damaged)
        assert read_running(tmp_path) is None


def test_a_disk_that_is_full_does_not_end_a_run_here(tmp_path: Path) -> None:
    file = RunningFile(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        file.publish({"batches_done": 3})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert read_running(tmp_path) is None
    file.remove()
    assert [*tmp_path.iterdir()] == []
