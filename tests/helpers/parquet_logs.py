"""Tables for logs of Parquet files, and what is said of a log that is refused."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from graphtide import UpdateLogError
from graphtide.io.log.log_listing import listing_of
from graphtide.io.log.update_log import UpdateLog


def table_of(rows: int, **more: Any) -> pa.Table:
    ids = np.arange(rows, dtype=np.int64)
    return pa.table({"op": np.ones(rows, np.int8), "src": ids, "dst": ids + 1, **more})


def refused(log: UpdateLog, *words: str) -> str:
    """The log is refused in one line that holds all words."""
    with pytest.raises(UpdateLogError) as caught:
        listing_of(log)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text
    return text
