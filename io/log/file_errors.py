"""Errors of a log's files for which a run may leave files or rows out, see ``bad_rows.py``.

To users they are `UpdateLogError`. What a file system or a server refuses is none of them: it may
pass.
"""

from ...gpu_core.errors import UpdateLogError


class UnusableFileError(UpdateLogError):
    """What a file of a log holds is none, before any row is read: its format, columns or types."""


class EmptyLogError(UpdateLogError):
    """There is no file at an address of a log, or none yet."""


class UnreadableRowsError(UpdateLogError):
    """Rows of a planned file cannot be decoded, or are not as their checksums say."""
