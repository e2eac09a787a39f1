"""Makes the `UpdateLog` that settings describe, and lists it as a first run would."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..config.settings import GraphSettings, RunSettings
from ..io.log.log_listing import LogListing, check_properties, listing_of
from ..io.log.operations import Operations
from ..io.log.paths.addresses import Address
from ..io.log.update_log import UpdateLog
from ..io.state.state_settings import QUARANTINE


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


def first_listing(log: UpdateLog, settings: RunSettings) -> tuple[UpdateLog, LogListing]:
    """List the files of a log that no state has planned yet, as the first run of it does.

    Gives the log as that run goes on to read it, with what was found, and the files.

    Raises
    ------
    UpdateLogError
        Such a run would refuse the log before it reads rows.
    """
    listing = listing_of(log, () if settings.bad_rows == QUARANTINE else None)
    check_properties(log, listing)
    if settings.order_by is None:
        log.check_operations(file.name for file in listing.files)
    found = replace(
        log,
        time_unit=listing.time_unit,
        indexes=listing.indexes,
        left_out=frozenset(listing.left_out),
    )
    return found, listing
