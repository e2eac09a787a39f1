"""Edge lists and matrices that become logs: what is read, and what is refused with its line."""

import bz2
import gzip
import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edge_files import read_edge_list, read_matrix_market
from graphtide import SettingsError, UpdateLogError
from graphtide.io.interchange import text_blocks
from graphtide.io.interchange.edge_lists import import_edges, open_edge_list
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.log_writer import write_log_file
from graphtide.io.log.update_log import UpdateLog


@pytest.fixture
def read(tmp_path):
    """Read a text as an edge list; gives its columns as lists."""

    def reader(text, encoding="utf-8", **options):
        path = tmp_path / "edges.txt"
        path.write_bytes(text.encode(encoding))
        return read_edge_list(str(path), **options).to_pydict()

    return reader


@pytest.fixture
def read_matrix(tmp_path):
    def reader(text):
        path = tmp_path / "matrix.mtx"
        path.write_text(text)
        return read_matrix_market(str(path)).to_pydict()

    return reader


# -- text


def test_white_space_and_comments(read):
    text = "# a comment\n% another, with a comma\n1 2\n\n  3\t  4 \n# 9 9\n5\t6 \r\n-7 8"
    assert read(text) == {"src": [1, 3, 5, -7], "dst": [2, 4, 6, 8]}


def test_commas(read):
    assert read("1,2,0.5\r\n3 , 4,\t1e3\n") == {"src": [1, 3], "dst": [2, 4], "weight": [0.5, 1000]}


def test_three_and_four_fields(read):
    assert list(read("1 2 3\n")) == ["src", "dst", "weight"]
    assert read("1 2 3 4\n") == {"src": [1], "dst": [2], "weight": [3.0], "ts": [4]}


def test_a_header_names_the_columns(read):
    assert read("# c\ndst,ts,src\n1,2,3\n") == {"src": [3], "dst": [1], "ts": [2]}


@pytest.mark.parametrize(
    ("text", "columns", "src", "dst"),
    [
        # Without a header a line of words has to be said to be an edge.
        ("ann bob\nbob 7\n", ["src", "dst"], ["ann", "bob"], ["bob", "7"]),
        ("ann bob\n", ["src", "dst"], ["ann"], ["bob"]),
        ("ann bob 3\nbob cy 4\n", None, ["ann", "bob"], ["bob", "cy"]),
        ("ann,bob,2026-01-31\nbob,cy,2026-02-01\n", None, ["ann", "bob"], ["bob", "cy"]),
        ("src,dst\nann,bob\n", None, ["ann"], ["bob"]),
        ("from,to\nann,bob\n", ["src", "dst"], ["ann"], ["bob"]),
        ('src;dst\n"ann b";"bob;c"\nzoë;7\n', None, ["ann b", "zoë"], ["bob;c", "7"]),
        ('"a;b" "c, d" 1.5\n"e" "f" 2\n', ["src", "dst", "weight"], ["a;b", "e"], ["c, d", "f"]),
        # Of two kinds of vertices, one has numbers.
        ("user,src,dst\nx,ann,1\nx,bob,2\n", None, ["ann", "bob"], ["1", "2"]),
    ],
)
def test_ids_may_be_names(read, text, columns, src, dst):
    found = read(text, columns=columns)
    assert (found["src"], found["dst"]) == (src, dst)


@pytest.mark.parametrize("name", ["edges.tsv", "edges.TSV.gz"])
@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        (
            "1\t2\t1,5\n2\t3\t2,5\n",
            None,
            {"src": [1, 2], "dst": [2, 3], "weight": [1.5, 2.5]},
        ),
        ("# c, d\n\nx,y\tz\n", ["src", "dst"], {"src": ["x,y"], "dst": ["z"]}),
        ("x;y\tz\na b\tz\n", ["src", "dst"], {"src": ["x;y", "a b"], "dst": ["z", "z"]}),
        ("src\tdst\nAnn B\tz\n", None, {"src": ["Ann B"], "dst": ["z"]}),
        ('"a\tb"\tz\nc\tz\n', ["src", "dst"], {"src": ["a\tb", "c"], "dst": ["z", "z"]}),
        # One line with a tab too many is a wrong line, whatever commas there are.
        ('a, b\tc\nd, e\tf\ng, h\ti\nj\tk\t"l"\n', ["src", "dst"], "line 4 has 3"),
        # As they stand in files that are called so for no good reason.
        ("1,2\n3,4\n", None, {"src": [1, 3], "dst": [2, 4]}),
        ("1,2\t\n3,4\n", None, {"src": [1, 3], "dst": [2, 4]}),
        ("1\t2\t\n3\t4\t\n", None, {"src": [1, 3], "dst": [2, 4]}),
        ("1\t\t2\n10\t2\n", None, {"src": [1, 10], "dst": [2, 2]}),
    ],
)
def test_fields_of_a_tsv_are_apart_by_tabs(tmp_path, name, text, columns, expected):
    content = text.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    if isinstance(expected, str):
        with pytest.raises(UpdateLogError, match=expected):
            read_edge_list(str(path), columns)
        return
    assert read_edge_list(str(path), columns).to_pydict() == expected


@pytest.mark.parametrize("mark", [" ", "\t", ";"])
@pytest.mark.parametrize("lines", ["1;2;0,5\n3;4;7\n", "1;2;7\n3;4;0,5\n"])
def test_commas_within_weights_are_not_between_fields(read, mark, lines):
    """Edges were from a name ``1 2 0`` to one ``5``."""
    weights = [0.5, 7.0] if lines.startswith("1;2;0") else [7.0, 0.5]
    expected = {"src": [1, 3], "dst": [2, 4], "weight": weights}
    assert read(lines.replace(";", mark)) == expected


def test_one_decimal_comma_among_points_is_the_wrong_one(read):
    with pytest.raises(UpdateLogError, match="line 3: weight is '2,5', which is no number"):
        read("1;2;0.5\n3;4;1.5\n5;6;2,5\n")


def test_the_empty_name_is_in_quotes(read):
    """As an export writes it; without quotes a name is missing."""
    for mark in ",;\t ":
        text = "src,dst,weight\n'',b,1\na,'',2\n'','',3\n".replace(",", mark).replace("'", '"')
        assert read(text) == {"src": ["", "a", ""], "dst": ["b", "", ""], "weight": [1, 2, 3]}
    with pytest.raises(UpdateLogError, match="line 3: op is '', which is no operation"):
        read('op,src,dst\n+,"",b\n,a,b\n')
    text = 'src,dst,weight\n"",b,1\n'
    for line, words in [
        (",b,1", "line 3: src is '', which is no name"),
        ('a, "" ,', "line 3: weight is '', which is no number"),
        ('a,"",""', "line 3: weight is '', which is no number"),
        ("a,b,", "line 3: weight is '', which is no number"),
    ]:
        with pytest.raises(UpdateLogError, match=words):
            read(f"{text}{line}\n")


def test_a_carriage_return_is_told_from_a_quote(read):
    with pytest.raises(UpdateLogError, match="line 1 has a carriage return within it"):
        read("1 2\r2 3\r")
    with pytest.raises(UpdateLogError, match="line 1 has a quote that does not end"):
        read('"1 2\n')


def test_a_name_is_never_empty_and_a_word_among_numbers_no_name(read):
    with pytest.raises(UpdateLogError, match="line 3: dst is '', which is no name"):
        read("src,dst\nann,bob\ncy,\n")
    with pytest.raises(UpdateLogError, match="line 1: src is 'x', which is no integer"):
        read("x 2\n3 4\n5 6\n")


def test_ids_beyond_int64_are_unsigned(tmp_path, read):
    lines = [f"{2**64 - 1} 1\n", "2 3\n"]
    assert read("".join(lines)) == {"src": [2**64 - 1, 2], "dst": [1, 3]}
    path = tmp_path / "edges.txt"
    path.write_text("".join(lines))
    assert open_edge_list(str(path)).reading.notes == ("ids beyond int64 are taken as unsigned",)
    late = "4 5\n" * 1000
    with pytest.raises(UpdateLogError, match=r"line 1001: .* int64; ids='uint64' has room for it"):
        read(late + lines[0])
    with pytest.raises(UpdateLogError, match="line 2: dst is '-3', which does not fit uint64"):
        read(lines[0] + "2 -3\n")


def test_how_names_are_read_is_told(tmp_path):
    path = tmp_path / "edges.txt"
    path.write_text("ann bob\nbob cy\n")
    notes = open_edge_list(str(path), ["src", "dst"]).reading.notes
    assert notes == ("ids are taken as names; the first line is an edge",)


def test_columns_said_by_the_caller(read):
    assert read("1 2 3\n", columns=["src", "dst", "ts"]) == {"src": [1], "dst": [2], "ts": [3]}
    assert read("1 x 3\n", columns=["dst", None, "src"]) == {"src": [3], "dst": [1]}
    assert read("a b c\n1 x 3\n", columns=["Target", "_", "source"]) == {"src": [3], "dst": [1]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no edge"),
        ("# c\n\n", "holds no edge"),
        ("# c\n1 2\n\n3\n", "line 4 has 1 of the 2 fields"),
        ("1 2\n3 4 5\n", "line 2 has 3 of the 2 fields"),
        ("1 2\n3 x\n", "line 2: dst is 'x', which is no integer"),
        ("1 2\n3.0 4\n", "line 2: src is '3.0', which is no integer"),
        ("1,2\n3,\n", "line 2: dst is ''"),
        ('1 2\n"3 4\n5 6\n', "line 2 has a quote that does not end"),
        ('1,2,9\n3,4,"5\n6,7,8"\n', "line 2 has a quote that does not end"),
        ('"1 2\n', "line 1 has a quote that does not end"),
        ("1,2\n3,4 5\n", "line 2: dst is '4 5'"),
        ("1 2 x\n", "line 1: weight is 'x', which is no number"),
        (
            "1 2\n18446744073709551616 4\n",
            "line 2: src is '18446744073709551616', which does not fit",
        ),
        ("1 2 3 4 5\n", "line 1 has 5 fields; say what they are"),
        ("alice bob\n", "the columns alice, bob of the first line have no src or no dst"),
        ("src,dst,ts,Time\n1,2,3,4\n", "have two columns ts"),
        ("src,type,dst,TYPE\n1,2,3,4\n", "have two columns type"),
        ("op,src,dst\ninsert,1,2\nupsert,1,2\n", "line 3: op is 'upsert', which is no operation"),
        ("1,2,2026-01-31\n1,2,2026-13-31\n", "line 2: ts is '2026-13-31', which is no time"),
        (
            "1,2,2026-01-31T10:00Z\n1,2,2026-01-31\n",
            "line 2: ts is '2026-01-31', which has no zone",
        ),
        (
            "1,2,2020-01-01\n2,3,2021-01-01T00:00:00Z\n",
            "line 2: ts is '2021-01-01T00:00:00Z', which has a zone, where times of this file have",
        ),
        ("1,2,2020-01-01\n" + "2,3,2021-01-01T00:00Z\n" * 2, "line 1: ts is '2020-01-01', which"),
        ("1,2,2020-01-01\n" * 2 + "2,3,n/a\n", "line 3: ts is 'n/a', which is no time"),
        ("1,2,9,1.5\n" * 2 + "2,3,9,n/a\n", "line 3: ts is 'n/a', which is no number"),
        ("src;dst;weight\n1;2;0,5\n2;x;1,5\n", "line 3: dst is 'x', which is no integer"),
        ("src weight\n1 2\n", "have no src or no dst"),
        ("src dst src\n1 2 3\n", "have two columns src"),
    ],
)
def test_lines_that_are_refused(read, text, words):
    with pytest.raises(UpdateLogError, match=r"edges\.txt") as caught:
        read(text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["src", "dst", "colour"], "'colour' is unknown"),
        (["src", "to", "dst"], "two columns dst"),
        (["src", "_", "ts"], "no src or no dst"),
    ],
)
def test_columns_that_cannot_be_meant(read, columns, words):
    with pytest.raises(SettingsError, match=words):
        read("1 2 3\n", columns=columns)


UTC_TIMES = [datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 2 1082040961\n3 4 1082155839\n", {"ts": [1082040961, 1082155839]}),
        ("1 2 1082040961000\n3 4 1082155839000\n", {"ts": [1082040961000, 1082155839000]}),
        # Not all of them: weights.
        ("1 2 1082040961\n3 4 5\n", {"weight": [1082040961.0, 5.0]}),
        ("1 2 1\n3 4 -1\n", {"weight": [1.0, -1.0]}),
        ("1 2 0.5 1082040961\n", {"weight": [0.5], "ts": [1082040961]}),
        ("1 2 1082040961 0.5\n", {"weight": [0.5], "ts": [1082040961]}),
        ("1 2 1082040961 1082040961\n", {"weight": [1082040961.0], "ts": [1082040961]}),
        ("1,2,2026-01-31T12:00:00Z\n3,4,2026-02-01T01:00:00+01:00\n", {"ts": UTC_TIMES}),
        ("1\t2\t2026-01-31 12:00\n", {"ts": [datetime(2026, 1, 31, 12)]}),
    ],
)
def test_a_third_field_that_looks_like_times_is_taken_so(read, text, expected):
    found = read(text)
    assert {name: found[name] for name in found if name not in ("src", "dst")} == expected


def test_what_is_decided_is_told(tmp_path):
    path = tmp_path / "e.txt"

    def notes(text):
        path.write_text(text)
        return " ".join(open_edge_list(str(path)).reading.notes)

    told = notes("1 2 1082040961\n")
    assert (
        "the third field looks like unix seconds (2004-04-15 and later) and is taken as ts" in told
    )
    assert "--columns src,dst,weight" in told
    assert "--columns src,dst,ts" in notes("1 2 3\n")
    assert "--columns src,dst,_" in notes("source,target,rating\n1,2,3\n")
    assert notes("1 2\n") == notes("1 2 3 4\n") == notes("src dst ts\n1 2 3\n") == ""


def test_times_with_a_fraction_are_unix_seconds(read):
    found = read("6,2,4,1289241911.72836\n7,2,-1,1289241941\n")
    expected = [1289241911.72836, 1289241941.0]
    assert [time.timestamp() for time in found["ts"]] == expected
    with pytest.raises(UpdateLogError, match="line 2: ts is 'nan'"):
        read("6,2,4,1289241911.5\n7,2,-1,nan\n")


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("source,target,weight", ["src", "dst", "weight"]),
        ("From;TO;Time", ["src", "dst", "ts"]),
        ('"Dst","Src","type"', ["src", "dst", "type"]),
        ("src\tdst\ttimestamp", ["src", "dst", "ts"]),
        ("src,inferred,dst", ["src", "dst"]),
        ("src,other,dst", ["src", "dst"]),
    ],
)
def test_headers(read, header, names):
    mark = next(mark for mark in ",;\t" if mark in header)
    found = read(f"{header}\n{mark.join('123')}\n")
    assert list(found) == names
    assert sum(value for (value,) in found.values()) == (6 if len(names) == 3 else 4)


def test_spellings_of_other_programs(read):
    # A byte order mark, a comment of two slashes, quotes, semicolons and a decimal comma.
    text = (
        '\ufeff// made by x\n"source";"target";"weight";"note"\n"1";2;"0,5";"a;b"\n3; 4 ;1,25;""\n'
    )
    assert read(text) == {"src": [1, 3], "dst": [2, 4], "weight": [0.5, 1.25]}
    # And as Excel has it.
    text = "\ufeffsep=;\r\nfrom;to;weight\r\n1;2;0,5\r\n3;4;1,25\r\n"
    assert read(text) == {"src": [1, 3], "dst": [2, 4], "weight": [0.5, 1.25]}
    assert read('1 2\n"3" 4\n') == {"src": [1, 3], "dst": [2, 4]}
    with pytest.raises(UpdateLogError, match=r"ts is '03.* write times as 2026-01-31T10:"):
        read("from,to,ts\n1,2,03.01.2026\n")
    with pytest.raises(UpdateLogError, match="UTF-16"):
        read("1 2\n", encoding="utf-16")
    with pytest.raises(UpdateLogError, match="JSON lines, which is a log as it is"):
        read('{"src": 1, "dst": 2}\n')


def test_operations(read):
    text = "op,src,dst\ninsert,1,2\nDelete,1,2\n+1,3,4\n-1,3,4\n1,5,6\n"
    assert read(text)["op"] == [1, -1, 1, -1, 1]


def test_columns_that_do_not_go_with_the_file(read):
    with pytest.raises(UpdateLogError, match="has 3 fields, but 2 columns are named"):
        read("1 2 3\n", columns=["src", "dst"])


def test_lines_are_counted_through_blocks(read, monkeypatch):
    monkeypatch.setattr(text_blocks, "_BLOCK_BYTES", 64)
    lines = [f"{number} {number + 1}" for number in range(100)]
    lines[10:10] = ["# " + "x" * 200]
    assert read("\n".join(lines))["src"] == list(range(100))
    assert read("#\n" * 100 + "\n".join(lines) + "\n")["dst"] == list(range(1, 101))
    lines[90] = "1 two"
    with pytest.raises(UpdateLogError, match="line 91: dst is 'two'"):
        read("\n".join(lines))


@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1)] * 2), min_size=1), st.integers(1, 99))
@settings(
    max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
def test_any_ids_come_back(tmp_path, monkeypatch, pairs, block_bytes):
    monkeypatch.setattr(text_blocks, "_BLOCK_BYTES", block_bytes)
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{src} {dst}\n" for src, dst in pairs))
    table = read_edge_list(str(path))
    assert list(zip(*table.to_pydict().values(), strict=True)) == pairs


def test_compressed_and_missing_files(tmp_path):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"1 2\n"))
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(b"1 2\n"))
    packed = pa.compress(b"1 2\n", codec="zstd", asbytes=True)
    (tmp_path / "a.txt.zst").write_bytes(packed)
    for name in ("a.txt.gz", "a.txt.bz2", "a.txt.zst"):
        assert read_edge_list(str(tmp_path / name)).to_pydict() == {"src": [1], "dst": [2]}
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(b"1 2\n" * 1000)[:-9])
    (tmp_path / "cut.txt.zst").write_bytes(packed[:-3])
    for name in ("cut.txt.gz", "cut.txt.zst"):
        with pytest.raises(UpdateLogError, match=rf"{re.escape(name)} cannot be read"):
            read_edge_list(str(tmp_path / name))
    with pytest.raises(UpdateLogError, match=r"there is no file .*; check the path$"):
        read_edge_list(str(tmp_path / "none.txt"))
    with pytest.raises(UpdateLogError, match=r"there is no file .*; give one file, as patterns"):
        read_edge_list(str(tmp_path / "*.txt"))


# -- Matrix Market

BANNER = "%%MatrixMarket matrix coordinate"


def test_matrices(read_matrix):
    text = f"{BANNER} real general\n% c\n\n3 4 2\n1 4 2.5\n\n3 1 -1e2\n"
    assert read_matrix(text) == {"src": [1, 3], "dst": [4, 1], "weight": [2.5, -100.0]}
    text = f"{BANNER.upper().replace('%%M', '%%m')} Pattern Symmetric\n3 3 3\n1 1\n2 1\n3 2\n"
    assert read_matrix(text) == {"src": [1, 2, 3, 1, 2], "dst": [1, 1, 2, 2, 3]}
    assert read_matrix(f"{BANNER} integer general\n3 3 0\n")["weight"] == []


@pytest.mark.parametrize("name", ["m.mtx", "M.MTX", "m.MTX.gz"])
def test_a_matrix_is_known_by_its_name_in_capitals_too(tmp_path, name):
    """As an edge list it would have the line of its size for an edge."""
    text = f"{BANNER} real general\n3 3 1\n1 2 0.5\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert import_edges(str(tmp_path / name), str(tmp_path / "a.parquet")) == 1


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_a_matrix_is_what_scipy_reads(tmp_path, symmetry):
    rng = np.random.default_rng(1)
    matrix = scipy.sparse.random_array((30, 30), density=0.1, rng=rng)
    if symmetry == "symmetric":
        matrix = matrix + matrix.T
    path = str(tmp_path / "a.mtx")
    scipy.io.mmwrite(path, matrix, symmetry=symmetry)
    table = read_matrix_market(path)
    read = scipy.sparse.coo_array(
        (table["weight"], (np.array(table["src"]) - 1, np.array(table["dst"]) - 1)), (30, 30)
    )
    assert (read != scipy.io.mmread(path, spmatrix=False)).nnz == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not begin with %%MatrixMarket"),
        ("1 2\n", "does not begin with %%MatrixMarket"),
        ("%%MatrixMarket matrix array real general\n3 3\n", "is array"),
        (f"{BANNER} complex general\n", "is complex is not read; write it as pattern or real"),
        (f"{BANNER} real skew-symmetric\n", "is skew-symmetric"),
        (f"{BANNER} real general\n%\n3 3\n", "line 3 is not 'rows columns entries'"),
        (f"{BANNER} real general\n", "is not 'rows columns entries'"),
        (f"{BANNER} pattern symmetric\n3 2 1\n2 1\n", "line 2: a symmetric matrix of 3 rows"),
        (f"{BANNER} pattern general\n3 3 3\n1 1\n2 2\n", "announces 3 entries but has 2"),
        (f"{BANNER} pattern general\n3 3 2\n1 1\n\n4 2\n", "line 5: row 4 lies outside 1 to 3"),
        (f"{BANNER} pattern general\n3 3 1\n1 0\n", "line 3: column 0 lies outside 1 to 3"),
        (f"{BANNER} real general\n3 3 2\n1 1 1\n1 2\n", "line 4 has 2 of the 3 fields"),
    ],
)
def test_matrices_that_are_refused(read_matrix, text, words):
    with pytest.raises(UpdateLogError, match=r"matrix\.mtx") as caught:
        read_matrix(text)
    assert words in str(caught.value)


# -- import


def test_import_makes_a_log(tmp_path):
    source, log_file = tmp_path / "edges.txt", tmp_path / "log" / "a.parquet"
    source.write_text("1 2 3\n4 5 6\n")
    assert import_edges(str(source), str(log_file), columns=("src", "dst", "ts")) == 2
    log = UpdateLog(str(log_file.parent), records="semantic")
    listing_of(log)
    assert log.read("a.parquet", 0, 2).to_pydict() == {"src": [1, 4], "dst": [2, 5], "ts": [3, 6]}
    matrix = tmp_path / "m.mtx"
    matrix.write_text(f"{BANNER} pattern symmetric\n2 2 1\n2 1\n")
    assert import_edges(str(matrix), str(log_file)) == 2
    with pytest.raises(SettingsError, match="needs no columns"):
        import_edges(str(matrix), str(log_file), columns=("src", "dst"))


def test_a_file_that_is_a_log_already_is_not_imported(tmp_path):
    source = tmp_path / "edges.parquet"
    write_log_file(str(source), pa.table({"src": [1], "dst": [2]}))
    with pytest.raises(UpdateLogError, match=r"edges\.parquet is a Parquet file.*graphtide run"):
        import_edges(str(source), str(tmp_path / "log.parquet"))


def test_an_import_that_fails_leaves_the_old_log(tmp_path):
    source, log_file = tmp_path / "edges.txt", tmp_path / "a.parquet"
    source.write_text("1 2\n")
    import_edges(str(source), str(log_file))
    source.write_text("1 2\n1 x\n")
    with pytest.raises(UpdateLogError, match="line 2"):
        import_edges(str(source), str(log_file))
    assert pq.read_table(log_file).num_rows == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.parquet", "edges.txt"]
