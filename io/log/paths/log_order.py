"""Natural order of file names: runs of digits compare as numbers.

So ``part.2.parquet`` precedes ``part.10.parquet``, as is meant by writers that number their files
without leading zeros, such as Dask. A path compares component by component. Endings such as
``.csv.gz`` count last, as for ``sort -V``: ``export.csv`` precedes ``export2.csv`` and
``export-2.csv``; ``.v9`` and ``.c000`` are no endings. The order is total: names that differ in
leading zeros alone (``part.01``, ``part.1``) compare as text.

Polars numbers the files of ``sink_parquet`` in hexadecimal, ``00000009``, ``0000000a``,
``00000010``: a name that begins so stands after the last decimal one before it.
"""

import re
from collections.abc import Iterable

_DIGITS = re.compile(r"([0-9]+)")
#: With a digit in it, but for one of packed files, it is a number: of a version, or a part.
_ENDINGS = re.compile(r"(?:\.(?:[A-Za-z]+|bz2))*$")
#: Eight hexadecimal digits, the first a zero, letters from some digit on; and what is after them.
_HEXADECIMAL = re.compile(r"(?=[0-9a-f]{8}(?:\.|$))(0[0-9]*)([a-f][0-9a-f]*)")


def natural_key(name: str) -> tuple[object, ...]:
    """Sort key of a file name or a path with ``/``."""
    return tuple(_component_key(component) for component in name.split("/")), name


def _component_key(component: str) -> tuple[object, ...]:
    number = _HEXADECIMAL.match(component)
    if number is not None:
        # Nines instead of its letters: 0000000a is after 00000009, and before 00000010.
        digits, letters = number.groups()
        return ("", int(digits + "9" * len(letters)), component), ()
    endings = _ENDINGS.search(component)
    assert endings is not None
    return _text_and_numbers(component[: endings.start()]), _text_and_numbers(endings[0])


def _text_and_numbers(text: str) -> tuple[object, ...]:
    # A split by one group alternates text and digits, beginning with text, so like meets like.
    parts = _DIGITS.split(text)
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts))


#: A UUID, as Spark and pyarrow have one for each job in the names of its files.
_UUID = re.compile(r"[0-9a-f]{8}(-?)(?:[0-9a-f]{4}\1){3}[0-9a-f]{12}", re.IGNORECASE)


def unordered_note(names: Iterable[str]) -> str | None:
    """Report two files of a folder that differ first in a UUID, which gives no order.

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


#: Endings that say how rows are written, and not which.
_FORMS = re.compile(
    r"(?:\.(?:parquet|csv|tsv|jsonl|ndjson|json))?(?:\.(?:gz|zst|bz2))?$", re.IGNORECASE
)


def twice_note(names: Iterable[str]) -> str | None:
    """Report two files of a folder that may have the same rows, by their names.

    Such are ``day.csv`` and ``day.csv.gz``, while one is packed or if both were kept.
    """
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(_FORMS.sub("", name), name)
        if other != name:
            return (
                f"{other} and {name} differ by their endings alone, and both are read; if one is a "
                f"copy of the other, its rows are applied twice: keep one of them"
            )
    return None
