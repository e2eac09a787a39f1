"""Logs that are partitioned by their operations, which therefore have lost their order.

Of ``op=delete/0.parquet`` and ``op=insert/0.parquet`` in one folder, or in one version of a table,
there is no order of the rows: files would be read in the order of the words.
"""

from collections.abc import Iterable, Mapping, Sequence

from ....gpu_core.errors import UpdateLogError
from ...tables.table_files import TableFile
from .file_names import FileName
from .partitions import partitions_of


def refuse_operations_apart(
    names: Iterable[str], column: str, words: Mapping[str, int], addresses: Sequence[str]
) -> None:
    """Refuse files whose order is that of the words for their operations.

    Parameters
    ----------
    names
        Of the files of a log.
    column
        What the column ``op`` is called there.
    words
        Word in small letters -> 1 or -1.
    addresses
        Of the log.

    Raises
    ------
    UpdateLogError
        A folder, or a version of a table, has inserts in one folder and deletes in another.
    """
    seen: dict[tuple[object, ...], dict[int, str]] = {}
    for name in names:
        number, within = FileName.of(name)
        table = TableFile.of_name(within)
        folders = (table.path if table else within).split("/")[:-1]
        for depth, folder in enumerate(folders):
            word = partitions_of(f"{folder}/").get(column)
            kind = words.get((word or "").lower())
            if kind is None:
                continue
            around = number, table.version if table else None, *folders[:depth]
            kinds = seen.setdefault(around, {})
            kinds.setdefault(kind, "/".join(folders[: depth + 1]))
            if len(kinds) == 2:
                address = addresses[number]
                cure = f"write the log in its order, with {column} as a column"
                if table:
                    address += f", version {table.version},"
                    cure = f"write a table that is not partitioned by {column}"
                else:
                    cure += ", or give both folders as addresses in the order that is meant"
                msg = (
                    f"log {address} has deletes in {kinds[-1]} and inserts in {kinds[1]}, and "
                    f"nothing tells which rows came first; {cure}"
                )
                raise UpdateLogError(msg)
