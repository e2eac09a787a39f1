"""The short form of ``make torture``: a few cases of each kind, and that a wrong end is noticed."""

import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from graphtide.io import durable
from torture import alone, crash_points, damage, environment, fuzz, kills
from torture.cases import Bench, Failure
from torture.logs import FILES, KINDS
from torture.power_loss import Journal
from waiting import wait_until

#: With vertices that go, rows that are left out, and checksums.
KIND = KINDS["semantic"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("torture") / "bench", [KIND.name])
    yield made
    made.close()


CASES: dict[str, tuple[Callable[[Bench, int], str], int]] = {
    "crash half-way": (crash_points.case, 3),
    "power cut": (crash_points.case, 7),
    "damage of the state": (damage.case, 2),
    "damage of the log": (damage.case, 7),
    "full disk": (environment.case, 2),
    "kill": (kills.case, 0),
    "odd input": (fuzz.case, 0),
}


@pytest.mark.everyday
@pytest.mark.parametrize("name", CASES)
def test_a_run_that_is_disturbed_ends_well(bench: Bench, name: str) -> None:
    case, seed = CASES[name]
    case(bench, seed)


def test_what_one_process_does_alone_dies_well(bench: Bench) -> None:
    """Mended rows are taken in, and power fails; a window of time goes on."""
    alone.points(bench, [12208, 40])


def test_a_run_that_is_told_to_end_while_its_workers_start_says_so(bench: Bench) -> None:
    bench.expected(KIND)
    bench.begin()
    bench.give(KIND, 0)
    job = bench.start(*bench.words(KIND, scheduler=""))
    wait_until(lambda: "worker" in kills.processes_of(job))
    os.kill(job.pid, signal.SIGTERM)
    bench.must_be_refused(bench.ended(job), "told to end", (143,))


def lose_a_result(state: Path) -> None:
    shutil.rmtree(min((state / "results").glob("batch=*")))


def change_a_result(state: Path) -> None:
    path = next((state / "results").glob("batch=*/*.parquet"))
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)


def lose_reports(state: Path) -> None:
    max((state / "batches").iterdir()).unlink()


def go_back_a_checkpoint(state: Path) -> None:
    shutil.rmtree(max((state / "checkpoints").iterdir()))


def lose_rows_left_out(state: Path) -> None:
    min((state / "quarantine").glob("*.parquet")).unlink()


def leave_half_a_file(state: Path) -> None:
    (state / "plan" / "000000000001.json.tmp").write_text("{")


@pytest.mark.parametrize(
    "harm",
    [
        lose_a_result, change_a_result, lose_reports, go_back_a_checkpoint, lose_rows_left_out,
        leave_half_a_file,
    ],
)  # fmt: skip
def test_what_is_lost_or_wrong_is_noticed(bench: Bench, harm: Callable[[Path], None]) -> None:
    expected = bench.expected(KIND)
    bench.begin()
    bench.give(KIND, FILES)
    bench.must_be(expected, "undisturbed")
    harm(bench.state)
    with pytest.raises(Failure, match="harmed"):
        bench.must_be(expected, "harmed")


def test_a_power_cut_takes_what_was_not_brought_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is written and renamed as ``io/durable.py`` does is there, but not without fsync."""
    for is_synced in (True, False):
        root = tmp_path / f"{is_synced}"
        (root / "old").mkdir(parents=True)
        journal = Journal(root, tmp_path / f"{is_synced}.kept")
        monkeypatch.setattr(durable, "sync", journal.synced if is_synced else lambda _path: None)
        with durable.new_file(root / "new" / "file") as temporary:
            temporary.write_text("whole")
        found = []
        for seed in range(20):
            after = tmp_path / "after"
            journal.lose_power(random.Random(seed), after)
            path = after / "new" / "file"
            found.append(path.read_bytes() if path.exists() else None)
        assert (set(found) == {b"whole"}) == is_synced
