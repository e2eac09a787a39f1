"""Properties of the user's own that cannot be, and values of them that are refused."""

import inspect
import re
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest

from graphtide import (
    BatchError,
    DynamicGraph,
    EdgeNotFoundError,
    Program,
    SettingsError,
    UpdateBatch,
    VertexNotFoundError,
    from_networkx,
)
from graphtide.config.settings import load_settings
from property_graphs import OWN, small_graph

pytestmark = [pytest.mark.usefixtures("engine"), pytest.mark.runs]


REFUSED = {
    "a type": ({"amount": "complex64"}, "amount is of type 'complex64'; use one of bool, int8"),
    "a name": ({"weight": "int8"}, "'weight' is a column of every log or export"),
    "a parameter": ({"self": "int8"}, "'self' is a parameter of methods that take properties"),
    "no name": ({"amount ": "int8"}, "'amount ' is no name; use letters, digits and _"),
    "twice": ([("a", "int8"), ("a", "int16")], "a name stands there twice; give each property"),
    "no mapping": ("amount", "not a mapping of names to types"),
}


@pytest.mark.parametrize(("given", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("setting", list(OWN))
def test_properties_that_cannot_be(setting: str, given: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        DynamicGraph(**{setting: given})


def test_no_property_is_called_as_a_parameter_of_what_takes_them_by_name() -> None:
    for method in (
        DynamicGraph.insert_edges,
        DynamicGraph.insert_vertices,
        DynamicGraph.from_edges,
    ):
        parameters = inspect.signature(getattr(method, "__func__", method)).parameters.values()
        for each in parameters:
            if each.kind is not each.VAR_KEYWORD:
                for setting in OWN:
                    given = {setting: {each.name: "int8"}}
                    with pytest.raises(SettingsError, match=f"{setting}: '{each.name}' is a"):
                        DynamicGraph(**given)
                    with pytest.raises(SettingsError, match=f"{setting}: '{each.name}' is a"):
                        load_settings(given)


def test_a_misspelled_argument_is_told_the_one_that_it_resembles() -> None:
    graph = DynamicGraph(records="weighted")
    for wrong, right in (("weights", "weight"), ("time", "ts"), ("Weight", "weight")):
        told = rf"{wrong} is not a property.*the argument is {right}"
        with pytest.raises(BatchError, match=told):
            graph.insert_edges([1], [2], **{wrong: 1})


WRONG = {
    "left out": ({"amount": 1}, "channel is left out, but int16 has no missing value"),
    "unknown": ({"amuont": 1}, "amuont is not a property of edges here; there are amount, channel"),
    "of vertices": ({"score": 1}, "score is not a property of edges here; there are amount"),
    "too large": ({"channel": 2**15}, "row 0 of the batch: channel 32768 does not fit into int16"),
    "rounded": ({"channel": 1, "amount": 2**53 + 1}, "amount 9007199254740993 does not fit into"),
    "rounded up": ({"channel": 1, "amount": 2**63 - 1}, "amount 9223372036854775807 does not fit"),
    "no integer": ({"channel": 0.5}, "channel is of type float64, but the graph keeps it as int16"),
    "text": (
        {"channel": 1, "amount": "much"},
        "amount is of type <U4, but the graph keeps it as float64",
    ),
    "dimensions": ({"channel": [[1], [2]]}, r"channel has shape \(2, 1\)"),
    "length": ({"channel": 1, "amount": [1, 2, 3]}, "amount has shape"),
}


@pytest.mark.parametrize(("values", "message"), WRONG.values(), ids=WRONG)
def test_values_that_cannot_be(values: dict[str, Any], message: str) -> None:
    graph = small_graph()
    before = graph.state_hash()
    with pytest.raises(BatchError, match=message):
        graph.insert_edges([4, 5], [5, 6], **values)
    assert graph.state_hash() == before


@pytest.mark.parametrize("about", ["edge", "vertex"])
def test_values_of_deletes_are_not_looked_at(about: str) -> None:
    kinds = {"properties": {"age": "int8"}, "vertex_properties": {"age": "int8"}}
    graph = DynamicGraph(**kinds)
    is_edge = [about == "edge"] * 2
    batch = UpdateBatch.from_rows(
        [-1, 1], [1, 3], [2, 4], dst_valid=is_edge, values={"age": [1000, 5]}, **kinds
    )
    graph.apply(batch)
    found = graph.edge_values(3, 4) if about == "edge" else graph.vertex_values(3)
    assert found == {"age": 5}


def test_what_is_not_there() -> None:
    graph = small_graph()
    with pytest.raises(EdgeNotFoundError, match=r"edge \(2, 1\) is not in the graph"):
        graph.edge_values([1, 2], [2, 1])
    with pytest.raises(VertexNotFoundError, match="vertex 99 is not in the graph"):
        graph.vertex_values([1, 99])
    for ask in (lambda: DynamicGraph().edge_values(1, 2), DynamicGraph().vertex_values):
        with pytest.raises(SettingsError, match="have no properties here"):
            ask()


def test_batches_of_other_properties() -> None:
    """Without them, with others, or for a graph that has none."""
    graph, plain = small_graph(), DynamicGraph()
    values = {"amount": [1.0], "channel": [2]}
    with pytest.raises(BatchError, match=re.escape("is for properties={}; the graph has")):
        graph.apply(UpdateBatch.from_rows([1], [1], [2]))
    other = {**OWN, "properties": {"amount": "float32"}}
    with pytest.raises(BatchError, match="float32"):
        graph.apply(UpdateBatch.from_rows([1], [1], [2], **other, values=values))
    with pytest.raises(BatchError, match="the batch has properties, the graph has none"):
        plain.apply(UpdateBatch.from_rows([1], [1], [2], **OWN, values=values))
    for given, words in (
        (
            {**values, "much": [1]},
            "much is not a property of this graph, which has amount, channel",
        ),
        (
            {**values, "channel": [2, 3]},
            "channel has 2 rows but src has 1; give columns of one len",
        ),
    ):
        with pytest.raises(BatchError, match=words):
            UpdateBatch.from_rows([1], [1], [2], **OWN, values=given)
    arrays = DynamicGraph().checkpoint_arrays()
    with pytest.raises(SettingsError, match="the checkpoint has no edge property amount"):
        DynamicGraph.from_checkpoint_arrays(arrays, **OWN)


@pytest.mark.parametrize(
    ("kind", "column", "words"),
    [
        ("float64", pa.array([2**53 + 1, None]), "row 0: amount 9007199254740993 does not fit"),
        ("float32", pa.array([None, 2**24 + 1]), "row 1: amount 16777217 does not fit"),
        ("float64", pa.array([2**63 + 1, None], pa.uint64()), "amount 9223372036854775809 does"),
        ("float32", pa.array([True, None]), "amount is of type bool"),
        ("int64", pa.array([5, None]), "row 1: amount is null, which int64 cannot be"),
        ("bool", pa.array([None, None]), "row 0: amount is null, which bool cannot be"),
    ],
)
def test_a_null_beside_numbers_changes_nothing_about_them(
    kind: str, column: pa.Array, words: str
) -> None:
    graph = DynamicGraph(properties={"amount": kind})
    with pytest.raises(BatchError, match=words):
        graph.apply(pa.table({"src": [1, 2], "dst": [2, 3], "amount": column}))
    assert graph.num_edges == 0


def test_a_name_of_edges_and_of_vertices_is_of_the_type_of_each() -> None:
    graph = DynamicGraph(properties={"amount": "int64"}, vertex_properties={"amount": "float32"})
    amount = pa.array([2**53 + 1, None, 5])
    graph.apply(pa.table({"src": [1, 1, 2], "dst": pa.array([2, None, None]), "amount": amount}))
    assert graph.edges().properties["amount"].tolist() == [2**53 + 1]
    values = graph.vertex_values()["amount"].tolist()
    assert np.isnan(values[0])
    assert values[1] == 5


COLUMNS: dict[str, Any] = {
    "arrow": pa.array,
    "arrow, through a dictionary": lambda values: pa.array(values).dictionary_encode(),
    "arrow, with a null as a word": lambda values: pa.chunked_array(
        [pa.array(values).dictionary_encode(null_encoding="encode")]
    ),
    "arrow, in runs": lambda values: pa.RunEndEncodedArray.from_arrays([1, 2], pa.array(values)),
    "polars": polars.Series,
    "pandas": lambda values: pd.Series(pd.array(values)),
    "pandas of arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.array(values).type)),
}


@pytest.mark.parametrize("column_of", COLUMNS.values(), ids=COLUMNS)
def test_whole_numbers_beside_a_null_are_not_rounded(column_of: Any) -> None:
    # With nulls NumPy makes floats of them, and 2^53 + 1 is then 2^53.
    column = column_of([2**53 + 1, None])
    graph = DynamicGraph(properties={"amount": "float64"})
    with pytest.raises(BatchError, match="amount is null in some rows; give each a value"):
        graph.insert_edges([1, 2], [2, 1], amount=column)
    assert graph.num_edges == 0
    graph.insert_edges([1, 2], [2, 1], amount=column_of([1.5, None]))
    assert np.isnan(graph.edge_values(2, 1)["amount"])


@pytest.mark.parametrize("column_of", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("values", [[2**53 + 1, None], [1.5, None]], ids=["whole", "floats"])
def test_a_null_is_no_value_of_a_vertex(column_of: Any, values: list[Any]) -> None:
    graph = DynamicGraph()
    graph.insert_edges([1, 0], [0, 1])
    column = column_of(values)
    program = Program(
        lambda source_value, weight: source_value, "sum", lambda old, message: (message, False)
    )
    for given in (column, ([0, 1], column)):
        for ask in (
            lambda given: graph.spmv(given),
            lambda given: graph.vertex_state(count=given),
            lambda given: graph.run_program(program, given),
        ):
            with pytest.raises(SettingsError, match="is null in some rows"):
                ask(given)
    # Where NaN is a number, as in NumPy's arrays, it stays one.
    assert np.isnan(graph.spmv(pd.Series([1.0, np.nan])).value[0])


def test_large_whole_numbers_beside_fractions_are_not_rounded() -> None:
    graph = DynamicGraph(properties={"amount": "float64"}, records="weighted", weights="float64")
    large = 2**53 + 1
    words = "has 9007199254740993 beside fractions or NaN, where it becomes 9007199254740992"
    for values in ({"amount": [large, 0.5]}, {"amount": (large, np.nan)}, {"weight": [large, 0.5]}):
        with pytest.raises(BatchError, match=words):
            graph.insert_edges([1, 2], [2, 3], **values)
    rows = {"amount": [2.5, np.int64(large)]}
    with pytest.raises(BatchError, match=words):
        UpdateBatch.from_rows([1, 1], [1, 2], [2, 3], values=rows, properties=graph.properties)
    lacking = nx.Graph([(1, 2, {"amount": large}), (2, 3)])
    with pytest.raises(BatchError, match=words):
        from_networkx(lacking, properties={"amount": "float64"})
    assert graph.num_edges == 0
    graph.insert_edges([1, 2], [2, 3], amount=[2**53, 1e300], weight=[2**60, 0.5])
    program = Program(
        lambda source_value, weight: source_value, "max", lambda old, message: (old, False),
        value="int64", message="int64",
    )  # fmt: skip
    for given in ([large, 1.0, 2], ([1, 2, 3], [1.0, 2, large]), {1: large, 2: 1.0, 3: 2.0}):
        with pytest.raises(SettingsError, match=words):
            graph.run_program(program, given)
        with pytest.raises(SettingsError, match=words):
            graph.vertex_state(count=given)
    assert graph.edge_values(1, 2)["amount"] == 2**53
    # A float16 has no such number to compare with.
    graph.insert_edges([1, 2], [2, 3], amount=[np.float16(2), np.float16(3)])
