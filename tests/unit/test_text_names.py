"""Names in text logs: their spaces and quotes, and empty ones."""

from datetime import datetime
from pathlib import Path

import pandas as pd

from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.update_log import UpdateLog


def test_names_in_quotes_keep_their_spaces(tmp_path: Path) -> None:
    """Two names that differ by them were taken for one; around quotes they are between fields."""
    names = ["Smith , J", "Smith,J", "tab\there", " lead", "end ", "a  b", 'q" , "q', "plain"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    for before, after, end in [("", "", "\n"), (" ", "\t", " \r\n")]:
        lines = [f"{before}{name}{after},{before}x{after}" for name in quoted]
        (tmp_path / "a.csv").write_bytes(f"src,dst{end}{end.join(lines)}{end}".encode())
        log = UpdateLog(str(tmp_path), ids="string")
        rows = listing_of(log).files[0].rows
        assert log.read("a.csv", 0, rows).to_pydict() == {"src": names, "dst": ["x"] * len(names)}


def test_names_without_quotes_keep_their_spaces(tmp_path: Path) -> None:
    """So pandas and polars write them: ``Ann`` and ``Ann `` were one, ``a<tab>b`` was ``a b``."""
    names = ["Ann", "Ann ", " Ann", "a\tb", "a b", "\tx\t", "Smith , J", ' "', "plain"]
    frame = pd.DataFrame(
        {
            "src": names,
            "dst": [*["x"] * 8, None],
            "e": None,
            "n": '"',
            "ts": "2024-01-01",
            "op": "insert",
        }
    )
    for delimiter in (",", ";", "\t"):
        for end in ("\n", "\r\n"):
            text = frame.to_csv(index=False, sep=delimiter, lineterminator=end)
            # Numbers, times and words have none, and lines of nothing else are none.
            text = text.replace("2024-01-01", " 2024-01-01 ").replace("insert", " insert ")
            (tmp_path / "a.csv").write_bytes(f"{text}  {end}\t{end}".encode())
            log = UpdateLog(str(tmp_path), records="semantic", ids="string")
            assert listing_of(log).files[0].rows == len(names)
            read = log.read("a.csv", 0, len(names)).to_pydict()
            assert (read["src"], read["dst"]) == (names, [*["x"] * 8, None])
            assert (set(read["op"]), set(read["ts"])) == ({"insert"}, {datetime(2024, 1, 1)})


def test_an_empty_uuid_in_quotes_is_no_vertex_row(tmp_path: Path) -> None:
    name = "0b5d2f6e-0d0a-4c52-8d43-1f2e5f1c9d11"
    (tmp_path / "a.csv").write_text(f'op,src,dst\ndelete,{name},""\n')
    log = UpdateLog(str(tmp_path), ids="uuid")
    assert log.read("a.csv", 0, 1)["dst"].to_pylist() == [""]


def test_spaces_beside_those_of_a_header_are_there_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('src, dst\nann, bob\n"eve ",\tzoë x \n')
    log = UpdateLog(str(tmp_path), ids="string")
    assert log.read("a.csv", 0, 2).to_pydict() == {"src": ["ann", "eve "], "dst": ["bob", "zoë x"]}


def test_an_empty_name_is_told_from_none(tmp_path: Path) -> None:
    """As an export writes them: the edge to the vertex of the empty name became a vertex row."""
    text = 'op,src,dst,ts\n"insert","x","",5\n"","","y",""\n+,z,,\n'
    (tmp_path / "a.csv").write_text(text)
    found = UpdateLog(str(tmp_path), records="semantic", ids="string").read("a.csv", 0, 3)
    assert found["src"].to_pylist() == ["x", "", "z"]
    assert found["dst"].to_pylist() == ["", "y", None]
    assert found["op"].to_pylist() == ["insert", None, "+"]
    assert found["ts"].to_pylist() == [5, None, None]
    (tmp_path / "a.csv").write_text('src,dst\n"1",""\n')
    assert UpdateLog(str(tmp_path)).read("a.csv", 0, 1)["dst"].to_pylist() == [None]
