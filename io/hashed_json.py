"""JSON files with the SHA-256 of their own content, so that damage is detected.

The hash is the value of the last key, `HASH_KEY`; hashed is all else, in a canonical form: sorted
keys, no spaces. So a file may be indented, and a changed digit, key or word is found.

A file whose `HASH_KEY` itself was damaged looks like one that never had a hash. The reader decides
what that means (``must_have_hash``): by the version of the state, which is hashed itself. So no
single damage makes a file look old.

Not here: which files must have a hash (``state/directory.py``).
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .durable import new_file

#: Holds the hash.
HASH_KEY = "sha256"


class DamagedJsonError(ValueError):
    """A file is no JSON object, or not as it was written; the text says which, but not of what."""


def write_json(path: Path, values: Mapping[str, Any], *, is_synced: bool = True) -> None:
    """Write a JSON object with its hash, whole or not at all; ``is_synced`` as of `new_file`."""
    with new_file(path, is_synced=is_synced) as temporary:
        temporary.write_text(json_text(values), encoding="utf-8")


def json_text(values: Mapping[str, Any]) -> str:
    """The text that `write_json` writes."""
    return json.dumps({**values, HASH_KEY: _hash(values)}, indent=1) + "\n"


def read_json(path: Path, *, must_have_hash: bool) -> dict[str, Any]:
    """Read a JSON object, without its hash.

    Parameters
    ----------
    path
        The file; FileNotFoundError where it is missing.
    must_have_hash
        Whether a file without a hash is damaged, rather than of an older graphtide. A hash that is
        there is always compared.

    Raises
    ------
    DamagedJsonError
        It cannot be read, or is not as it was written.
    """
    values, has_hash = _read(path)
    if must_have_hash and not has_hash:
        msg = "the hash of its content is missing"
        raise DamagedJsonError(msg)
    return values


def add_hash(path: Path) -> None:
    """Write a file with its hash, if it has none; damaged ones are refused as by `read_json`."""
    values, has_hash = _read(path)
    if not has_hash:
        write_json(path, values)


def _read(path: Path) -> tuple[dict[str, Any], bool]:
    """Content of a file, and whether it had a hash; that is compared."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except NotADirectoryError as error:
        # A file was given as the folder that it would be in.
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    except OSError as error:
        msg = f"it cannot be read: {error.strerror or error}"
        raise DamagedJsonError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"it is no JSON: {error}"
        raise DamagedJsonError(msg) from error
    if not isinstance(values, dict):
        msg = "it is no JSON object"
        raise DamagedJsonError(msg)
    if HASH_KEY not in values:
        return values, False
    if values.pop(HASH_KEY) != _hash(values):
        msg = "its content does not have the hash that it was written with"
        raise DamagedJsonError(msg)
    return values, True


def _hash(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
