"""Files and folders that are either whole or not there, also after a crash or a power cut.

Everything is written beside its place, under a name ending in ``.tmp``, brought to the disk,
renamed into place, and the folder that holds it is brought to the disk too. So a reader never sees
half a file, and what a killed writer left behind is known by its name.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..gpu_core.errors import GraphtideError, StateError

TEMPORARY = ".tmp"


@contextmanager
def new_file(path: Path, error_type: type[GraphtideError] = StateError) -> Iterator[Path]:
    """Give a path to write to, which becomes ``path`` when the block ends without an error."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)
    except OSError as error:
        _discard(temporary)
        raise error_type(_cannot_write(path, error)) from error
    except BaseException:
        _discard(temporary)
        raise


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes ``path`` when the block ends without an error.

    A folder that is in the place already is taken away first.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        for file in temporary.iterdir():
            sync(file)
        sync(temporary)
        if path.exists():
            remove_folder(path)
        os.rename(temporary, path)
        sync(path.parent)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise StateError(_cannot_write(path, error)) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def remove_folder(path: Path) -> None:
    """Take a folder away at once: it is whole, or it is gone."""
    doomed = path.with_name(path.name + ".old" + TEMPORARY)
    shutil.rmtree(doomed, ignore_errors=True)
    os.rename(path, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder and below it; the caller is the only writer."""
    for path in sorted(folder.rglob("*" + TEMPORARY)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file, whole or not at all."""
    with new_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file; `StateError` if it is not one. A missing file is FileNotFoundError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        msg = (
            f"{path} cannot be read ({error}); the state is damaged: restore it, or start anew "
            f"with another --state"
        )
        raise StateError(msg) from error


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _discard(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _cannot_write(path: Path, error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{path} cannot be written ({reason}); make room or grant access, then run again"
