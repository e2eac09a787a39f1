"""Kinds of users' ids by their names, as settings and `DynamicGraph` have them.

``any``: int64 ids through a dictionary; ``dense``: the id is the vertex index. The others have an
int64 key for each id: ``names/user_ids.py``.
"""

import re

from .choices import choice_shown, is_among
from .errors import SettingsError

ID_KINDS = ("any", "dense", "string", "uuid", "uint64")

#: Narrowed hashes of names, for tests alone: ``string:12`` keeps 12 bits (``names/hashing.py``).
_NARROWED = re.compile(r"(string|uuid):([1-9][0-9]?)")


def form_of(ids: str) -> str:
    """One of `ID_KINDS`, of a value that may also narrow a hash (``string:12``)."""
    if is_among(ids, ID_KINDS):
        return ids
    narrowed = _NARROWED.fullmatch(ids) if isinstance(ids, str) else None
    if narrowed is None:
        msg = f"ids={choice_shown(ids)} is unknown; use one of {', '.join(ID_KINDS)}"
        raise SettingsError(msg)
    return narrowed[1]


def hash_bits(ids: str) -> int:
    """Bits of the hash of names, see ``hashing.py``."""
    narrowed = _NARROWED.fullmatch(ids)
    return min(int(narrowed[2]), 64) if narrowed else 64


def are_names(ids: str) -> bool:
    """Whether ids of this kind go through a table of names."""
    return form_of(ids) in ("string", "uuid")


def is_whole(given: object) -> bool:
    """Whether an id as a setting gives it, a number or text of one, is a whole number."""
    return re.fullmatch(r"-?\d+", str(given)) is not None


def number_of_key(ids: str, key: int) -> int:
    """The number that a key stands for, of ids that are numbers."""
    return key + 2**63 if form_of(ids) == "uint64" else key
