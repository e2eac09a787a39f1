"""Natural order of file names: runs of digits compare as numbers.

So ``part.2.parquet`` precedes ``part.10.parquet``, as is meant by writers that number their files
without leading zeros, such as Dask. A path compares component by component. The order is total:
names that differ in leading zeros alone (``part.01``, ``part.1``) compare as text.

Polars numbers the files of ``sink_parquet`` in hexadecimal, ``00000009``, ``0000000a``,
``00000010``: a name that begins so stands behind the last decimal one before it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from ...gpu_core.errors import UpdateLogError
from .partitions import partitions_of

_DIGITS = re.compile(r"([0-9]+)")
#: Eight hexadecimal digits, the first a zero, letters from some digit on; and what is behind them.
_HEXADECIMAL = re.compile(r"(?=[0-9a-f]{8}(?:\.|$))(0[0-9]*)([a-f][0-9a-f]*)")


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key of a file name or a path with ``/``."""
    return tuple(_component_key(component) for component in name.split("/")), name


def _component_key(component: str) -> tuple[object, ...]:
    # A split by one group alternates text and digits, beginning with text, so like meets like.
    number = _HEXADECIMAL.match(component)
    if number is not None:
        # Nines instead of its letters: 0000000a is behind 00000009, and before 00000010.
        digits, letters = number.groups()
        return "", int(digits + "9" * len(letters)), component
    parts = _DIGITS.split(component)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts))


#: A UUID, as Spark and pyarrow have one for each job in the names of its files.
_UUID = re.compile(r"[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}", re.IGNORECASE)


def unordered_note(names: Iterable[str]) -> str | None:
    """Tell of two files of a folder that go apart in a UUID, which does not tell the first one.

    Such are ``part-00000-<UUID>.parquet`` of two jobs that Spark has run one after the other.
    """
    seen: dict[str, tuple[str, str]] = {}
    for name in names:
        start = name.rfind("/") + 1
        found = _UUID.search(name, start)
        if found is None:
            continue
        writer, other = seen.setdefault(name[: found.start()], (found[0], name))
        if writer != found[0]:
            return (
                f"{other} and {name} are of two writers, and no name says which came first: this "
                f"order is chance; give the files of each writer, by a folder or a quoted pattern "
                f"of their own, in the order that is meant"
            )
    return None


def refuse_operations_apart(
    names: Iterable[str], column: str, words: Mapping[str, int], addresses: Sequence[str]
) -> None:
    """Refuse files whose order is that of the words for their operations.

    Such are those of ``op=delete`` and ``op=insert`` side by side, as a log is written that is
    partitioned by its operations: all deletes would come before all inserts.

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
        A folder has inserts in one folder, and deletes in another.
    """
    seen: dict[str, dict[int, str]] = {}
    for name in names:
        number, _, within = name.rpartition("//")
        folders = within.split("/")[:-1]
        for depth, folder in enumerate(folders):
            word = partitions_of(f"{folder}/").get(column)
            kind = words.get((word or "").lower())
            if kind is None:
                continue
            around = "/".join([number, *folders[:depth]])
            kinds = seen.setdefault(around, {})
            kinds.setdefault(kind, "/".join(folders[: depth + 1]))
            if len(kinds) == 2:
                address = addresses[int(number) - 1 if number else 0]
                msg = (
                    f"log {address} has deletes in {kinds[-1]} and inserts in {kinds[1]}, and "
                    f"nothing tells which rows came first; write the log in its order, with "
                    f"{column} as a column, or give both folders as addresses in the order that is "
                    f"meant"
                )
                raise UpdateLogError(msg)
