"""Rows of several files as one table: what one says by numbers, another says by words, or not."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide.io.log.columns.column_types import op_bytes
from graphtide.io.log.operations import Operations
from graphtide.io.log.order.joined_tables import joined

#: An insert and a delete, and an insert in a file without the column.
OPS: dict[str, Any] = {
    "numbers": pa.array([1, -1], pa.int8()),
    "0 for a delete": pa.array([1, 0]),
    "truths": pa.array([True, False]),
    "bytes": op_bytes(np.array([1, -1], np.int8)),
    "words": pa.array(["insert", "delete"]),
    "words of a dictionary": pa.array(["insert", "delete"]).dictionary_encode(),
    "none": None,
}


def table_of(**columns: Any) -> pa.Table:
    return pa.table({name: column for name, column in columns.items() if column is not None})


#: … as they are in a table of files that have them in one form alone.
KINDS = {1: 1, -1: -1, 0: -1, b"\x01": 1, b"\xff": -1, **Operations().words}


@pytest.mark.parametrize("first", OPS)
def test_operations_mean_the_same_beside_those_of_another_file(first: str) -> None:
    for second in OPS:
        tables = [table_of(op=OPS[each], src=[1, 2], dst=[3, 4]) for each in (first, second)]
        expected = [[1, 1 if each == "none" else -1] for each in (first, second)]
        for begin in (0, 1):  # whole columns, and parts of them
            table = joined([each[begin:] for each in tables], Operations())
            wanted = [kind for kinds in expected for kind in kinds[begin:]]
            found = table["op"].to_pylist() if "op" in table.column_names else [1] * len(table)
            assert [KINDS[each] for each in found] == wanted, (second, begin)


def test_a_number_that_is_no_operation_stays_none() -> None:
    tables = [table_of(op=pa.array([2, None])), table_of(op=pa.array(["delete"]))]
    first, second, third = joined(tables, Operations())["op"].to_pylist()
    assert first not in Operations().words
    assert (second, third) == (None, "delete")


def test_what_a_file_lacks_is_what_its_edges_have_and_its_vertices_have_not() -> None:
    dst = pa.array([2, None], pa.int64())
    with_both = table_of(src=[1, 1], dst=dst, weight=[0.5, None], type=pa.array([7, None]))
    table = joined([table_of(src=[1, 1], dst=dst), with_both], Operations())
    assert table["weight"].to_pylist() == [1.0, None, 0.5, None]
    assert table["type"].to_pylist() == [0, None, 7, None]


@pytest.mark.parametrize(
    ("signed", "unsigned", "kind"),
    [([1, 2], [3, 2**63], "uint64"), ([-1, 2], [3, 4], "int64"), ([], [2**64 - 1], "uint64")],
)
def test_signed_and_unsigned_ids_are_of_one_kind(
    signed: list[int], unsigned: list[int], kind: str
) -> None:
    tables = [pa.table({"src": pa.array(ids, form), "dst": pa.array(ids, form)})
              for ids, form in ((signed, pa.int64()), (unsigned, pa.uint64()))]  # fmt: skip
    for pair in (tables, tables[::-1]):
        table = joined(pair, Operations())
        assert table.schema.types == [pa.type_for_alias(kind)] * 2
        assert sorted(table["src"].to_pylist()) == sorted(signed + unsigned)


def test_names_and_numbers_are_no_ids_of_one_log() -> None:
    tables = [pa.table({"src": [1], "dst": [2]}), pa.table({"src": ["1"], "dst": ["2"]})]
    with pytest.raises(ValueError, match="src is of the types int64 and string"):
        joined(tables, Operations())
