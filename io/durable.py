"""Atomic writes: files and folders are whole or absent, also after a crash or a power cut.

Everything is written beside its place, under a name ending in ``.tmp``, brought to the disk,
renamed into place, and the folder that holds it is brought to the disk too. So a reader never sees
half a file, and what a killed writer left behind is known by its name.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..gpu_core.errors import GraphtideError, StateError

TEMPORARY = ".tmp"


@contextmanager
def new_file(
    path: Path, error_type: type[GraphtideError] = StateError, *, is_synced: bool = True
) -> Iterator[Path]:
    """Give a path to write to, which becomes ``path`` when the block ends without an error.

    Without ``is_synced`` it is not brought to the disk, which takes milliseconds, and a power cut
    may damage it: for files whose reader sees that and makes them again.
    """
    temporary = _temporary(path)
    try:
        make_folder(path.parent)
        yield temporary
        if is_synced:
            sync(temporary)
        os.replace(temporary, path)
        if is_synced:
            sync(path.parent)
    except OSError as error:
        _discard(temporary)
        raise error_type(_cannot_write(path, error)) from error
    except BaseException:
        _discard(temporary)
        raise


def check_new_file(path: Path, error_type: type[GraphtideError] = StateError) -> None:
    """Refuse a path at which `new_file` can make no file, before what it is for is computed.

    Folders above it may be missing. Nothing is left there.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with suppress(FileNotFoundError):
            _temporary(path).lstat()  # refuses names that are too long
        with tempfile.TemporaryFile(dir=next(each for each in path.parents if each.exists())):
            pass
    except OSError as error:
        raise error_type(_cannot_write(path, error)) from error


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes ``path`` when the block ends without an error.

    A folder that is in the place already is set aside first, and goes when the new one is there.
    """
    temporary = _temporary(path)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        make_folder(path.parent)
        temporary.mkdir()
        yield temporary
        for file in temporary.iterdir():
            sync(file)
        sync(temporary)
        if path.exists():
            _set_aside(path)
        os.rename(temporary, path)
        sync(path.parent)
        shutil.rmtree(set_aside_as(path), ignore_errors=True)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise StateError(_cannot_write(path, error)) from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def make_folder(path: Path) -> None:
    """Make a folder and those above it, if they are missing, and bring their names to the disk.

    Else a power cut could take the folder away with all that was brought to the disk in it.
    """
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def remove_folder(path: Path) -> None:
    """Take a folder away at once: it is whole, or it is gone."""
    shutil.rmtree(_set_aside(path), ignore_errors=True)


def set_aside_as(path: Path) -> Path:
    """Path where a folder is set aside until another one has its path."""
    return path.with_name(path.name + ".old" + TEMPORARY)


def _set_aside(path: Path) -> Path:
    doomed = set_aside_as(path)
    shutil.rmtree(doomed, ignore_errors=True)
    os.rename(path, doomed)
    # Else a power cut could give the folder its name back, without some of its files.
    sync(path.parent)
    return doomed


def remove_leftovers(folder: Path) -> None:
    """Remove what killed writers left in a folder and below it; the caller is the only writer."""
    for path in sorted(folder.rglob("*" + TEMPORARY)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _temporary(path: Path) -> Path:
    return path.with_name(path.name + TEMPORARY)


def _discard(file: Path) -> None:
    with suppress(OSError):
        file.unlink()


def _cannot_write(path: Path, error: OSError) -> str:
    # Arrow has its own words around those of the system.
    reason = os.strerror(error.errno) if error.errno else str(error)
    is_taken = error.errno in (errno.EISDIR, errno.ENOTDIR, errno.EEXIST)
    cure = "name another file" if is_taken else "make room or grant access, then run again"
    return f"{path} cannot be written ({reason}); {cure}"
