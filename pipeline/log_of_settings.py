"""Makes the `UpdateLog` that settings describe."""

from collections.abc import Mapping
from typing import Any

from ..config.settings import GraphSettings
from ..io.log.addresses import Address
from ..io.log.operations import Operations
from ..io.log.update_log import UpdateLog


def log_of_settings(
    address: Address,
    graph: GraphSettings,
    columns: dict[str, str],
    reading: Mapping[str, Any],
) -> UpdateLog:
    """A log of which nothing is known yet but what its rows mean.

    Parameters
    ----------
    address, columns
        As of `UpdateLog`.
    graph
        The graph that its rows are for.
    reading
        As of `RunSettings.reading` and `StateSettings.reading`: words of ``op`` among others.
    """
    return UpdateLog(
        address,
        columns,
        graph.records,
        operations=Operations.of_reading(reading),
        ids=graph.ids,
        on_repeat=graph.on_repeat,
        own=graph.own_columns(),
    )
