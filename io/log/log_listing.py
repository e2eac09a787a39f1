"""The files of a log at one moment: what a footer or an index shows of each, and of all together.

`UpdateLog.listing` makes it. Which files there are: ``log_paths.py``.
"""

from dataclasses import dataclass

from ..text.text_index import TextIndex


@dataclass(frozen=True)
class LogFile:
    """One file of a log, as its footer describes it."""

    #: Name within the log, see ``log_paths.py``.
    name: str
    #: Bytes.
    size: int
    #: SHA-256 of the footer or the index, after the size: ``<size>-<hex digits>``.
    fingerprint: str
    rows: int
    #: Rows of each row group, or of each block of text.
    row_group_rows: tuple[int, ...]
    #: Whether its first page carries a checksum; true where it has no page. Without checksums,
    #: damage is noticed only where it cannot be decoded, or where rows are read again.
    has_checksums: bool = True


@dataclass(frozen=True)
class LogListing:
    """The files of a log at one moment, and what their schemas have in common."""

    #: In the order in which they are read.
    files: tuple[LogFile, ...]
    #: ``int64`` or an Arrow type; None where no time is read.
    time_unit: str | None
    #: One line on columns that do not enter the graph.
    not_kept: str | None
    #: `LogSchema.id_types` of all files.
    id_types: frozenset[tuple[str, str]]
    #: File -> its index, of text files.
    indexes: dict[str, TextIndex]
    #: File -> why it cannot be used, of those that were left out for that.
    left_out: dict[str, str]
    #: Columns that are read of at least one file.
    found: set[str]
    #: Columns in paths that would be read, but that files have columns of their own of.
    hidden: frozenset[str]

    def joined(self, later: "LogListing") -> "LogListing":
        """Return these files, and after them others that came later."""
        return LogListing(
            files=self.files + later.files,
            time_unit=self.time_unit or later.time_unit,
            not_kept=self.not_kept or later.not_kept,
            id_types=self.id_types | later.id_types,
            indexes={**self.indexes, **later.indexes},
            left_out={**self.left_out, **later.left_out},
            found=self.found | later.found,
            hidden=self.hidden | later.hidden,
        )

    @property
    def has_narrow_ids(self) -> bool:
        """Whether ids are columns of 32 bits in all files."""
        return all("int64" not in pair for pair in self.id_types)
