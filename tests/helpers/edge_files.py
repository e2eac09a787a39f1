"""Files of edges, read whole: the tables that `import_edges` would write to a log."""

from collections.abc import Sequence

import pyarrow as pa

from graphtide.io.interchange.edge_lists import open_edge_list
from graphtide.io.interchange.matrix_market import matrix_tables


def read_edge_list(path: str, columns: Sequence[str | None] | None = None) -> pa.Table:
    """The rows of an edge list in text form."""
    return pa.concat_tables(open_edge_list(path, columns).tables)


def read_matrix_market(path: str) -> pa.Table:
    """The rows of a matrix."""
    return pa.concat_tables(matrix_tables(path))
