"""Whether a log reads what is at another address: a state within it, or a file that is written."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.io.log.paths.overlap import holds, reads


@pytest.mark.parametrize(
    ("log", "other", "expected"),
    [
        ("log", "log", True),
        ("log/", "log", True),
        ("log", "log/day/state", True),
        ("log", "log2", False),
        ("log", "state", False),
        ("log/day", "log", False),
        ("log", "log/_state", False),
        ("log", "log/day/.state/edges.csv", False),
        ("log", "log/edges.csv.tmp", False),
        ("log/*.parquet", "log/state", False),
        ("log/*.parquet", "log/edges.parquet", True),
        ("log/day*", "log/day2/state/edges.csv", True),
        ("log/day*", "log/day2/_state", False),
        ("log/day*", "log/night/day2", False),
        ("log/**", "log/night/day2", True),
    ],
)
@pytest.mark.parametrize("place", ["disk", "memory"])
def test_a_log_reads_what_lies_in_it_under_a_name_that_counts(
    tmp_path: Path, place: str, log: str, other: str, expected: bool
) -> None:
    base = str(tmp_path) if place == "disk" else "memory://overlap"
    assert reads(f"{base}/{log}", f"{base}/{other}") == expected


def test_what_cannot_be_reached_or_is_of_another_place_is_not_read(tmp_path: Path) -> None:
    for address, other in (
        (str(tmp_path), "memory://overlap/x"),
        ("memory://overlap", str(tmp_path / "x")),
        ("nosuch://overlap", "nosuch://overlap/x"),
        ("memory://overlap", "http://localhost/overlap/x"),
    ):
        assert not reads(address, other), (address, other)


def test_a_file_of_a_log_is_known_by_any_name(tmp_path: Path) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    log.mkdir()
    other.mkdir()
    for path in (log / "a.parquet", other / "b.parquet", other / "c.parquet"):
        pq.write_table(pa.table({"src": [1], "dst": [2]}), path)
    (log / "b.parquet").symlink_to(other / "b.parquet")
    (tmp_path / "link").symlink_to(log)
    found = [
        name
        for name in ("log/a.parquet", "link/a.parquet", "other/b.parquet", "other/c.parquet")
        if holds(str(log), str(tmp_path / name))
    ]
    assert found == ["log/a.parquet", "link/a.parquet", "other/b.parquet"]
    assert not holds(str(log), str(log / "d.parquet")), "it is not there"
    assert not holds(str(tmp_path / "none"), str(log / "a.parquet")), "there is no log"
    assert not holds("memory://log", str(log / "a.parquet"))
