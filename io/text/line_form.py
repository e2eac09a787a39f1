"""How the lines of a file are to be read: their fields, and the types that these have."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ..log.columns.schema import CANONICAL

#: Types of columns where nothing else is known.
TYPES: Mapping[str, pa.DataType] = {
    "op": pa.int8(),
    "src": pa.int64(),
    "dst": pa.int64(),
    "weight": pa.float64(),
    "type": pa.int32(),
    "ts": pa.int64(),
}


@dataclass(frozen=True)
class Form:
    """Options for reading the lines of a file."""

    path: str
    #: A column for each field of a line; None: not wanted.
    columns: tuple[str | None, ...]
    #: What is between two fields; a space stands for any white space.
    delimiter: str = " "
    #: Column -> its type in the table, for all that are wanted.
    types: Mapping[str, pa.DataType] = field(default_factory=lambda: TYPES)
    #: Whether times are decimal numbers: unix seconds with a fraction.
    has_decimal_times: bool = False
    decimal_point: str = "."
    #: Whether an empty field is null, and no fault.
    has_nulls: bool = False
    #: Columns of text to which the white space around it belongs.
    as_written: frozenset[str] = frozenset()
    #: Columns where an empty field in quotes is a text, and only one without them is empty.
    texts: frozenset[str] = frozenset()
    #: Columns of a log's ids; a flag says that they are names.
    ids: frozenset[str] = frozenset()
    #: Whether a column ``op`` has operations: a log may have mapped it to something else.
    has_operations: bool = True
    #: Column of floats -> the type that a whole number has to fit into.
    floats: Mapping[str, str] = field(default_factory=dict)
    #: Column -> type as which its text is parsed first.
    parsed: Mapping[str, pa.DataType] = field(init=False)

    def __post_init__(self) -> None:
        parsed = {name: self.types[name] for name in self.columns if name is not None}
        if self.has_operations and "op" in parsed:
            parsed["op"] = pa.string()  # whatever it becomes
        if self.has_decimal_times:
            parsed["ts"] = pa.float64()
        object.__setattr__(self, "parsed", parsed)

    @property
    def schema(self) -> pa.Schema:
        """Schema of what is wanted: columns of a log in canonical order, then others."""
        others = [name for name in self.columns if name is not None and name not in CANONICAL]
        names = [*(name for name in CANONICAL if name in self.columns), *others]
        return pa.schema([(name, self.types[name]) for name in names])

    @property
    def field_names(self) -> list[str]:
        """A name for each field of a line."""
        return [name or f"unused {index}" for index, name in enumerate(self.columns)]
