"""Files that cannot be read for lack of memory are not taken for damaged ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide import SettingsError
from graphtide.flows.failures import Failure, failures_reported
from graphtide.io.checked_tables import read_facts, read_table
from graphtide.io.log.update_log import UpdateLog
from graphtide.io.parquet import parquet_files
from graphtide.io.state.graph_folder import read_graph
from graphtide.io.state.quarantine import Quarantine

MESSAGE = "malloc of size 64 failed"

READERS: dict[str, Callable[[Path], object]] = {
    "state": lambda top: read_table(top / "a.parquet"),
    "facts": lambda top: read_facts(top / "a.parquet"),
    "log": lambda top: UpdateLog(str(top)).read("a.parquet", 0, 1),
    "graph": lambda top: read_graph(top, "make it anew"),
    "quarantine": lambda top: Quarantine.read(None, top / "a.parquet"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("reader", READERS)
def test_what_memory_is_short_for_is_not_called_damaged(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's own error: a limit that is low enough for it has other threads hang."""

    def refuse(*_arguments: Any, **_options: Any) -> NoReturn:
        raise pa.ArrowMemoryError(MESSAGE)

    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "a.parquet")
    monkeypatch.setattr(pq, "read_table", refuse)
    monkeypatch.setattr(pq.ParquetFile, "read", refuse)
    monkeypatch.setattr(pq, "read_metadata", refuse)
    monkeypatch.setattr(parquet_files, "read_rows", refuse)
    with pytest.raises(MemoryError, match=MESSAGE):
        READERS[reader](tmp_path)


def test_a_command_without_memory_says_so() -> None:
    with (
        pytest.raises(Failure, match=r"not enough memory \(malloc of size 64 failed\); "),
        failures_reported("graphtide status"),
    ):
        raise pa.ArrowMemoryError(MESSAGE)


def test_a_command_without_threads_says_so() -> None:
    refusal = RuntimeError("can't start new thread")
    with (
        pytest.raises(Failure, match=r"^the system gives no more threads; "),
        failures_reported("graphtide run"),
    ):
        raise refusal


def test_a_command_in_a_folder_that_was_removed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with (
        pytest.raises(Failure, match="the working folder was removed: change into"),
        failures_reported("graphtide run"),
    ):
        Path("log").absolute()
    refusal = SettingsError("no state s")
    with (
        pytest.raises(Failure, match="no state s; the working folder was removed"),
        failures_reported("graphtide status"),
    ):
        raise refusal
