"""Values of vertices as a parameter: inline or from a file."""

import gzip
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from graphtide.gpu_core.errors import SettingsError
from graphtide.io.interchange.vertex_values import vertex_values


def test_a_mapping_is_kept_as_it_is() -> None:
    values = vertex_values({17: 1, "-4": 0.5}, "p")
    assert [each.tolist() for each in values.arrays] == [[17, -4], [1.0, 0.5]]
    assert values.shown == {"17": 1.0, "-4": 0.5}


def test_a_file_is_kept_by_a_digest_of_what_is_in_it(tmp_path: Path) -> None:
    table = pa.table(
        {"vertex": pa.array([17, -4], pa.int32()), "value": [1, 2], "more": ["a", "b"]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("value,vertex\n1,17\n2,-4\n")
    # Programs of Windows write names in capitals; the last ending is the one that says the form.
    (tmp_path / "A.CSV").write_text("\ufeffvertex,value\r\n17,1\r\n-4,2\r\n")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"vertex,value\n17,1\n-4,2\n"))
    pq.write_table(table, tmp_path / "a.csv.parquet")
    names = ("a.parquet", "a.csv", "A.CSV", "a.csv.gz", "a.csv.parquet")
    found = [vertex_values(str(tmp_path / name), "p") for name in names]
    for each in found:
        assert [column.tolist() for column in each.arrays] == [[17, -4], [1.0, 2.0]]
        assert each.shown["vertices"] == 2
    assert len({each.shown["sha256"] for each in found}) == 1
    (tmp_path / "a.csv").write_text("value,vertex\n1,17\n3,-4\n")
    assert vertex_values(str(tmp_path / "a.csv"), "p").shown["sha256"] != found[0].shown["sha256"]
    names = []
    for text in ("ab,1\nc,1\n", "a,1\nbc,1\n"):
        (tmp_path / "names.csv").write_text(f"vertex,value\n{text}")
        names.append(vertex_values(str(tmp_path / "names.csv"), "p", "string").shown["sha256"])
    assert names[0] != names[1], "of other names"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"p: .*x\.csv cannot be read: [^/]*; give a Parquet or CSV file"),
        ("", "cannot be read"),
        ("id,value\n1,2\n", "cannot be read: .*vertex.*; give .* with a column vertex"),
        ("vertex,value\n1,2\n1,3\n", "names vertex 1 more than once"),
        ("vertex,value\n1,2\n5,-3\n", "gives vertex 5 the value -3.0; values must be finite"),
        ("vertex,value\n1,inf\n", "the value inf"),
        ("vertex,value\n1,0\n", "sum to 0.0; at least one must be > 0"),
        ("vertex,value\n1,\n2,3\n", "column value has a null; leave such rows out"),
        ("vertex,value\n1.5,2\n", "cannot be read: .*1.5"),
        ("vertex,value\n0x10,2\n", "cannot be read: a text is no int64"),
        ("vertex,value\n1,a\n", "cannot be read: .*'a'"),
        ("vertex,value\n", "sum to 0"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "x.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=message):
        vertex_values(str(path), "p")


def test_a_parquet_file_that_is_not_there_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"x\.parquet cannot be read: there is no such file;"):
        vertex_values(str(tmp_path / "x.parquet"), "p")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({2**63: 1}, "p: vertex 9223372036854775808 is not within int64"),
        ({1: 0}, "p has values that sum to 0.0"),
        ({1: 1e308, 2: 1e308}, "p has values that sum to inf"),
        ({1: 1, "1": 2}, "p names vertex 1 more than once"),
        ({1: float("inf")}, "finite"),
        ({"--5": 1}, "p: vertex '--5' is no whole number; ids are int64 here"),
        ({"1_0": 1}, "p: vertex '1_0' is no whole number"),
        ({1.5: 1}, "p: vertex 1.5 is no whole number"),
    ],
)
def test_wrong_mappings_are_refused(given: dict[object, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        vertex_values(given, "p")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        # An id that pandas has made a float of is that of another vertex.
        (
            {"vertex": [2.0**53, 1.0], "value": [1.0, 2.0]},
            r"column vertex is of type double; write ids as int64: floats cannot tell",
        ),
        ({"vertex": [1.5], "value": [1.0]}, "column vertex is of type double"),
        # Arrow makes numbers of these: 1, 0 and 16.
        ({"vertex": [True], "value": [1.0]}, "column vertex is of type bool"),
        ({"vertex": [datetime(1970, 1, 1)], "value": [1.0]}, "column vertex is of type timestamp"),
        ({"vertex": ["0x10"], "value": [1.0]}, "cannot be read: a text is no int64"),
        ({"vertex": ["a"], "value": [1.0]}, "cannot be read: .*'a'"),
        ({"vertex": [1]}, "cannot be read: .*value"),
        ({"vertex": [1], "value": [float("nan")]}, "gives vertex 1 the value nan"),
    ],
)
def test_wrong_parquet_files_are_refused(
    tmp_path: Path, table: dict[str, list[object]], message: str
) -> None:
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    with pytest.raises(SettingsError, match=message):
        vertex_values(str(tmp_path / "x.parquet"), "p")


def test_decimals_and_uuids_of_a_file_are_what_they_are_in_a_log(tmp_path: Path) -> None:
    """Arrow's cast of 0.3 is off by its last bit, and 16 bytes were taken for letters."""
    file = tmp_path / "a.parquet"
    pq.write_table(pa.table({"vertex": [17], "value": [Decimal("0.3")]}), file)
    assert vertex_values(str(file), "p").arrays[1].tolist() == [0.3]
    uuid = UUID(bytes=b"graphtide 16 byt")
    for kind in (pa.binary(16), pa.binary(), pa.uuid()):
        ids = pa.array([uuid.bytes], pa.binary(16)).cast(kind)
        pq.write_table(pa.table({"vertex": ids, "value": [1.0]}), file)
        assert vertex_values(str(file), "p", "uuid").arrays[0].tolist() == [str(uuid)]
    # Texts of one vertex in two forms are one vertex twice; another text is none.
    assert vertex_values({uuid.hex.upper(): 1}, "p", "uuid").shown == {str(uuid): 1.0}
    with pytest.raises(SettingsError, match=f"p names vertex {uuid} more than once"):
        vertex_values({str(uuid): 1, uuid.hex: 2}, "p", "uuid")
    with pytest.raises(SettingsError, match="p: vertex 'b' is no UUID"):
        vertex_values({"b": 1}, "p", "uuid")
