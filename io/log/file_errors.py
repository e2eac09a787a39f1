"""Errors of a log's files for which a run may leave files or rows out, see ``bad_rows.py``.

To users they are `UpdateLogError`. What a file system or a server refuses is none of them: it may
pass.
"""

from ...gpu_core.errors import UpdateLogError


class UnusableFileError(UpdateLogError):
    """A file is not a log by its format, columns or types, before any row is read."""


class GoneFileError(UpdateLogError):
    """A file that was listed is not there any more."""


class EmptyLogError(UpdateLogError):
    """There is no file at an address of a log, or none yet."""


class UnreadableRowsError(UpdateLogError):
    """Rows of a planned file cannot be decoded, or are not as their checksums say."""
