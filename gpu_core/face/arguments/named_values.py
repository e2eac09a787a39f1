"""Values of vertices, as users give them by ids: what has ids, and which value each of them has.

Mappings, pairs ``(ids, values)``, frames with a column ``vertex``, results, and the Series of
pandas, which is a mapping from its index. What has no ids, arrays and lists, has a value of each
vertex, in the order of ``vertices()``; so has a column of Polars or Arrow.

Not here: how ids become what an engine calls them (`graph_calls.py`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import BatchError, SettingsError
from ...properties.masked import refuse_masked
from .given_rows import is_frame


def is_series(given: object) -> bool:
    """Whether something is a column with an index of its own: a Series of pandas, or alike."""
    return hasattr(given, "iloc") and np.ndim(given) == 1  # type: ignore[arg-type]


def named_values(name: str, given: Any) -> tuple[Any, Any] | None:
    """Ids and values, where something has both; None: it is values alone.

    Parameters
    ----------
    name
        Of the argument, for messages.
    given
        What a user gave.

    Raises
    ------
    BatchError
        A frame has no column ``vertex``, or several others and none is ``value``.
    SettingsError
        A Series has nulls, or it is a list of two tuples of two.
    """
    if isinstance(given, Mapping):
        return list(given.keys()), list(given.values())
    if is_series(given):
        # As an array it does not say so.
        refuse_masked(name, given)
        return given.index, given.to_numpy()
    if isinstance(given, list) and [len(each) for each in given if type(each) is tuple] == [2, 2]:
        # As a mapping of two has its items.
        msg = f"{name}={given!r} may be meant as (id, value) twice; give a mapping or (ids, values)"
        raise SettingsError(msg)
    if isinstance(given, tuple | list) and len(given) == 2 and np.ndim(given[0]) == 1:
        return given[0], given[1]
    if not is_frame(given):
        return None
    # A column of a frame is a stream of Arrow as well, and has no columns.
    columns = getattr(given, "column_names", getattr(given, "columns", None))
    if columns is None:
        return None
    values = [column for column in columns if column != "vertex"]
    if "vertex" not in columns or not ("value" in values or len(values) == 1):
        msg = f"{name} has columns {', '.join(map(str, columns))}; give vertex and value"
        raise BatchError(msg)
    frame: Any = given
    return frame["vertex"], frame["value" if "value" in values else values[0]]
