"""File systems by address: local disks, and all that fsspec supports, such as S3.

All that is not local goes through here, and is read by ranges of bytes. What keys, regions and
endpoints a store needs, fsspec's libraries take from the environment, and from fsspec's own
configuration, as they do for Dask: nothing of it is an argument, so nothing of it is kept in a
state, and every command has it, on every worker.

Invariants, of what is not local
--------------------------------
* nothing is remembered of listings from one look to the next: a file that is new, or another one,
  is seen at once
* an open file is one and the same to its end; if it is replaced meanwhile, reading it fails
* whatever a store or its library refuses is an `OSError` with a number, as a disk's refusal is: so
  it is never taken for damage, and never for a folder that is not there
* a store that does not answer is waited for, but `_CONTACT_SECONDS` at most before there is a word

Libraries of stores are imported by fsspec, when such an address is met.
"""

import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ..gpu_core.errors import GraphtideError, StateError, UpdateLogError
from ..gpu_core.printable import printable
from .durable import check_new_file, new_file
from .error_text import RESTORE, one_line
from .log.file_errors import GoneFileError

#: Seconds that a store may take for its first answer, all tries together.
_CONTACT_SECONDS = 20.0

#: What is read from an address with this protocol, and how to install it.
_INSTALLED_BY = dict.fromkeys(
    ("s3", "s3a"),
    "pip install -e '.[s3]' in the checkout of graphtide, or pip install s3fs, here and on all "
    "workers",
)


#: Cure for what a store refuses.
CHECK_STORE = "check the address, the network, and the keys that the environment gives"


class StorageError(OSError):
    """An error of a store, or of the library that accesses it; its text is one line."""

    def __str__(self) -> str:
        return str(self.strerror)


def file_system_of(address: str) -> tuple[Any, str]:
    """File system of an address, and the path within it.

    Raises
    ------
    StorageError
        There is none, or its library is not installed, or refuses the address.
    """
    if is_local_address(address):
        # fsspec itself takes a path with :: for two.
        return LocalFileSystem(), LocalFileSystem._strip_protocol(address)
    options: dict[str, Any] = {}
    protocol = fsspec.core.split_protocol(address)[0]
    if "::" not in address:
        options["use_listings_cache"] = False
        if protocol in _INSTALLED_BY and "config_kwargs" not in fsspec.config.conf.get("s3", {}):
            # Three tries rather than five, unless AWS_MAX_ATTEMPTS says otherwise.
            options["config_kwargs"] = {"retries": {"mode": "standard"}}
    try:
        filesystem, path = fsspec.core.url_to_fs(address, **options)
    except ImportError as error:
        cure = _INSTALLED_BY.get(protocol or "")
        text = one_line(error) if cure is None else f"it is read with s3fs; {cure}"
        raise StorageError(errno.ENOPKG, text) from error
    except Exception as error:
        raise failure(error) from error
    return filesystem, path


def is_local(filesystem: Any) -> bool:
    """Whether files are on a disk of this machine."""
    return isinstance(filesystem, LocalFileSystem)


def reach(filesystem: Any, path: str) -> None:
    """Ask a store for a path, once: fsspec takes what it refuses for a folder that is not there.

    Raises
    ------
    StorageError
        It does not answer in time, or refuses: but not because nothing is there.
    """
    if is_local(filesystem):
        return
    from fsspec.asyn import AsyncFileSystem, sync

    is_async = isinstance(filesystem, AsyncFileSystem)
    asks = (filesystem._info, filesystem._ls) if is_async else (filesystem.info, filesystem.ls)
    denied: Exception | None = None
    with as_storage_errors(filesystem):
        for ask in asks:
            try:
                if is_async:
                    sync(filesystem.loop, ask, path, timeout=_CONTACT_SECONDS)
                else:
                    ask(path)
            except FileNotFoundError:
                return
            except PermissionError as error:
                # Who may list a folder need not be allowed to ask whether its name is a file.
                denied = error
            else:
                return
        assert denied is not None
        raise denied


@contextmanager
def one_look(filesystem: Any) -> Iterator[None]:
    """Remember what a store lists until the block ends: what is asked for again is no request."""
    if is_local(filesystem):
        yield
        return
    listings = filesystem.dircache
    before = listings.use_listings_cache
    filesystem.invalidate_cache()
    listings.use_listings_cache = True
    try:
        yield
    finally:
        listings.use_listings_cache = before
        filesystem.invalidate_cache()


@contextmanager
def as_storage_errors(filesystem: Any) -> Iterator[None]:
    """Turn the errors of a store's library into `StorageError`; those of a disk stay."""
    try:
        yield
    except GraphtideError:
        raise
    except Exception as error:
        if is_local(filesystem):
            raise
        raise failure(error) from error


def failure(error: Exception) -> StorageError:
    """An exception of a store's library, as an error with a number."""
    if isinstance(error, StorageError):
        return error
    text = one_line(error)
    if isinstance(error, FileNotFoundError):
        return StorageError(errno.ENOENT, text)
    if isinstance(error, PermissionError):
        return StorageError(errno.EACCES, f"access is denied ({text})")
    if isinstance(error, TimeoutError):
        return StorageError(errno.ETIMEDOUT, f"no answer within {_CONTACT_SECONDS:.0f} s")
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EBUSY:
        # So s3fs calls an object whose ETag is not that of the one that was opened.
        text = "it was replaced while it was read"
    return StorageError(number or errno.EIO, text)


class RemoteFile(io.RawIOBase):
    """A file of a store, open for reading.

    Parameters
    ----------
    filesystem, path
        Where it is.
    block_bytes
        Read ahead of what is asked for.

    Raises
    ------
    StorageError
        The store refuses it, here or when it is read; or it is not what it was when it was opened.
    """

    def __init__(self, filesystem: Any, path: str, block_bytes: int) -> None:
        super().__init__()
        self._filesystem = filesystem
        with as_storage_errors(filesystem):
            self._file = filesystem.open(path, "rb", block_size=block_bytes)

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a byte, counted from the beginning, from here or from the end."""
        with as_storage_errors(self._filesystem):
            return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Offset of the next byte that is read."""
        return int(self._file.tell())

    def read(self, size: int = -1) -> bytes:
        """Read ``size`` bytes, or all that are left."""
        with as_storage_errors(self._filesystem):
            return bytes(self._file.read(size))

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            self._file.close()
        super().close()


def open_file(filesystem: Any, path: str, block_bytes: int) -> Any:
    """Open a file for reading, wherever it is; the caller closes it."""
    if is_local(filesystem):
        kind = os.stat(path).st_mode
        if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
            # Opening a pipe that has no writer waits without an end.
            msg = "it is a pipe, a socket or a device; write what comes from it to a file"
            raise OSError(msg)
        return filesystem.open(path, "rb")
    return RemoteFile(filesystem, path, block_bytes)


@contextmanager
def opened(filesystem: Any, path: str, shown: str, block_bytes: int) -> Iterator[Any]:
    """Open a file of a log until the block ends; ``shown``: its name, for messages."""
    try:
        file = open_file(filesystem, path, block_bytes)
    except OSError as error:
        if error.errno == errno.ENOENT:
            if is_local(filesystem) and os.path.islink(path):
                msg = (
                    f"{shown} is a symbolic link to {printable(os.readlink(path))}, which is not "
                    f"there; put that file there, or remove the link"
                )
                raise GoneFileError(msg) from None
            msg = f"{shown} is gone from the log; {RESTORE}"
            raise GoneFileError(msg) from None
        msg = f"{shown} cannot be read: {one_line(error)}"
        raise UpdateLogError(msg) from error
    with file:
        yield file


@contextmanager
def new_file_at(address: str, error_type: type[GraphtideError] = StateError) -> Iterator[Path]:
    """Give a local path to write to, which becomes the file at an address when the block ends.

    In a store it is there as a whole or not at all, if the store puts files so, as S3 does.
    """
    if is_local_address(address):
        with new_file(Path(address.removeprefix("file://")), error_type) as temporary:
            yield temporary
        return
    try:
        filesystem, target = _reached(address)
        with tempfile.TemporaryDirectory(prefix="graphtide-") as folder:
            temporary = Path(folder) / Path(target).name
            yield temporary
            with as_storage_errors(filesystem):
                filesystem.put_file(str(temporary), target)
    except OSError as error:
        raise error_type(_cannot_write(address, error)) from error


def check_new_file_at(address: str, error_type: type[GraphtideError] = StateError) -> None:
    """Refuse an address at which `new_file_at` can make no file, as far as that shows before."""
    if is_local_address(address):
        check_new_file(Path(address.removeprefix("file://")), error_type)
        return
    try:
        _reached(address)
    except OSError as error:
        raise error_type(_cannot_write(address, error)) from error


def _reached(address: str) -> tuple[Any, str]:
    """A store that answers, and a path in it."""
    filesystem, path = file_system_of(address)
    reach(filesystem, path)
    return filesystem, path


def _cannot_write(address: str, error: OSError) -> str:
    return f"{address} cannot be written ({one_line(error)}); {CHECK_STORE}"


def is_local_address(address: str) -> bool:
    """Whether an address is a path on a disk of this machine.

    A path may have ``::``, which behind a protocol of fsspec, as in ``zip::s3://…``, makes a chain
    of file systems.
    """
    first, chained, _ = address.partition("::")
    if chained and first in fsspec.available_protocols():
        return False
    return fsspec.core.split_protocol(first)[0] in (None, "file", "local")


def size_at(address: str) -> int:
    """Bytes of a file that is there."""
    filesystem, path = file_system_of(address)
    return int(filesystem.size(path))
