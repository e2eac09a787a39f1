"""Edges of a graph as text, Matrix Market and Parquet, and the way back."""

import bz2
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse

import graphtide
from edge_files import read_edge_list, read_matrix_market
from graphtide import SettingsError
from graphtide.io.interchange.edge_lists import export_edges, export_vertices


def unpack_zstd(data):
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return stream.read()


def graph_of(src, dst, *, directed=True, weight=None):
    records = "simple" if weight is None else "weighted"
    loops = "keep" if directed else "drop"
    return graphtide.DynamicGraph.from_edges(
        src, dst, weight=weight, directed=directed, records=records, self_loops=loops, engine="host"
    )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".mtx", ".parquet"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_export_comes_back(tmp_path, ending, weighted):
    rng = np.random.default_rng(2)
    src, dst = np.unique(rng.integers(1, 60, (500, 2)), axis=0).T
    weight = {"weight": rng.standard_normal(src.size).astype(np.float32)} if weighted else {}
    path = str(tmp_path / f"edges{ending}")
    assert export_edges(graph_of(src, dst, **weight), path) == src.size
    if ending == ".parquet":
        table = pq.read_table(path)
        assert not weighted or table["weight"].type == pa.float32()
    elif ending == ".mtx":
        table = read_matrix_market(path)
    else:
        header = ["src", "dst", *weight] if ending == ".txt" else None
        table = read_edge_list(path, columns=header)
    np.testing.assert_array_equal(table["src"], src)
    np.testing.assert_array_equal(table["dst"], dst)
    if weighted:
        np.testing.assert_array_equal(np.array(table["weight"]).astype("f4"), weight["weight"])


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt"])
def test_an_export_of_the_empty_name_comes_back(tmp_path, ending):
    graph = graphtide.DynamicGraph(ids="string", engine="host")
    graph.insert_edges(["", "b", " "], ["z", "", "c,\td"])
    path = str(tmp_path / f"edges{ending}")
    graph.export_edges(path)
    found = read_edge_list(path, columns=["src", "dst"]).to_pydict()
    assert sorted(zip(found["src"], found["dst"], strict=True)) == [
        ("", "z"),
        (" ", "c,\td"),
        ("b", ""),
    ]


def test_an_undirected_matrix_is_a_lower_triangle(tmp_path):
    path = tmp_path / "a.mtx"
    export_edges(graph_of([1, 1, 2], [2, 3, 3], directed=False), str(path))
    assert (
        path.read_text()
        == "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n"
    )
    dense = scipy.io.mmread(path, spmatrix=False).toarray()
    assert dense.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_text_forms(tmp_path):
    graph = graph_of([-5, 7], [7, 2**62], weight=np.array([0.1, -3], np.float32))
    texts = {}
    for ending in ("csv", "tsv", "txt"):
        export_edges(graph, str(tmp_path / f"e.{ending}"))
        texts[ending] = (tmp_path / f"e.{ending}").read_text()
    assert texts["csv"] == f"src,dst,weight\n-5,7,0.1\n7,{2**62},-3\n"
    assert texts["tsv"] == texts["csv"].replace(",", "\t")
    assert texts["txt"] == "# " + texts["csv"].replace(",", " ")
    assert export_vertices(graph, str(tmp_path / "v.csv")) == 3
    assert (tmp_path / "v.csv").read_text() == f"vertex\n-5\n7\n{2**62}\n"
    export_vertices(graph, str(tmp_path / "v.parquet"))
    assert pq.read_table(tmp_path / "v.parquet").to_pydict() == {"vertex": [-5, 7, 2**62]}


@pytest.mark.parametrize(
    ("end", "unpacked"),
    [(".gz", gzip.decompress), (".bz2", bz2.decompress), (".ZST", unpack_zstd)],
)
def test_packed_text_is_the_plain_one(tmp_path, end, unpacked):
    """All but Parquet, which is compressed by itself."""
    graph = graph_of([5, 7], [7, 9], weight=np.array([0.5, -3], np.float32))
    for form in ("csv", "tsv", "txt", "mtx", "graphml"):
        plain, packed = (str(tmp_path / f"e.{form}{each}") for each in ("", end))
        assert export_edges(graph, plain) == export_edges(graph, packed) == 2
        assert unpacked(Path(packed).read_bytes()) == Path(plain).read_bytes()
    export_vertices(graph, str(tmp_path / f"v.csv{end}"))
    assert unpacked((tmp_path / f"v.csv{end}").read_bytes()) == b"vertex\n5\n7\n9\n"
    with pytest.raises(SettingsError, match=r"Parquet is compressed by itself; end the name"):
        export_edges(graph, str(tmp_path / f"e.parquet{end}"))
    with pytest.raises(SettingsError, match=r"form of .*v\.mtx\..* is unknown"):
        export_vertices(graph, str(tmp_path / f"v.mtx{end}"))


def test_an_empty_graph_is_exported(tmp_path):
    for ending in ("csv", "tsv", "txt", "mtx", "parquet"):
        assert export_edges(graph_of([], []), str(tmp_path / f"e.{ending}")) == 0
    assert (tmp_path / "e.csv").read_text() == "src,dst\n"
    assert read_matrix_market(str(tmp_path / "e.mtx")).num_rows == 0


def test_exports_that_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"\.parquet, \.csv, \.tsv, \.txt, \.mtx"):
        export_edges(graph_of([1], [2]), str(tmp_path / "e.xlsx"))
    with pytest.raises(SettingsError, match=r"form of .*v\.mtx is unknown"):
        export_vertices(graph_of([1], [2]), str(tmp_path / "v.mtx"))
    with pytest.raises(SettingsError, match="rows of a matrix start at 1, but there is vertex 0"):
        export_edges(graph_of([0], [2]), str(tmp_path / "e.mtx"))
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="cannot be written"):
        export_edges(graph_of([1], [2]), str(tmp_path / "file" / "e.csv"))
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
