"""The form in which CPU workers convert batches: which one the graph takes, and the conversion.

``docs/architecture.md`` has the forms in a table; their modules are in ``gpu_core/batch/``.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from ..gpu_core.batch.numbered_batch import NumberedBatch
from ..gpu_core.batch.packed_batch import pack, packed_rows
from ..gpu_core.batch.raw_rows import raw_rows
from ..gpu_core.batch.update_batch import UpdateBatch
from ..gpu_core.id_kinds import are_names
from ..gpu_core.kind import RowMeaning
from ..io.log.batch_times import InsertTimes
from ..io.log.conversion import convert_table
from .graph_worker.ring import ConvertedBatch


@dataclass(frozen=True)
class BatchForm:
    """What decides the form, besides the kind of ids and properties."""

    #: Whether the graph is on a GPU: batches are packed for it then.
    on_gpu: bool = False
    #: Whether its ids are vertex indices.
    dense: bool = False
    #: Whether the GPU computes the net effect of rows; CPU workers only check them.
    raw: bool = False


#: For a graph in host memory.
HOST_FORM = BatchForm()


def convert_for_host(table: pa.Table, times: InsertTimes, **arguments: Any) -> UpdateBatch:
    """Convert a table for a graph in host memory; one on a GPU takes such a batch, too.

    Arguments: `convert_to_form`.
    """
    meaning: RowMeaning = arguments["meaning"]
    kind = NumberedBatch if are_names(meaning.ids) else UpdateBatch
    return convert_table(table, times.recording(kind.of_rows), **arguments)


def convert_to_form(
    table: pa.Table, form: BatchForm, times: InsertTimes, **arguments: Any
) -> ConvertedBatch:
    """Convert a table to the form that the graph gets, and record its times in ``times``.

    Other arguments: `convert_table`.
    """
    if not form.on_gpu:
        return convert_for_host(table, times, **arguments)
    meaning: RowMeaning = arguments["meaning"]
    if meaning.has_host_tables:
        return convert_table(table, times.recording(UpdateBatch.of_rows), **arguments)
    make = partial(raw_rows if form.raw else packed_rows, dense=form.dense)
    made: ConvertedBatch = convert_table(table, times.recording(make), **arguments)
    return pack(made, dense=form.dense) if isinstance(made, UpdateBatch) else made
