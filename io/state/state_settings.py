"""What defines the graph of a state: kept from its first run on, compared with what later ones ask.

It is what `GraphSettings.identity` names, the column mapping, words of operations and order of the
rows, the unit of time, and the address of the log. Some of it may change: the address, if the
planned files are the same; how the log is read, as long as there is no checkpoint; the unit of
time, from none to that of the first times. Whether bad rows are left out (`BAD_ROWS`) is kept and
may change at any time, as it is about batches to come.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ... import __version__
from ..log.operations import Operations
from ..log.paths.addresses import Address, address_text

#: Key of `StateSettings.reading` that later runs may change, and its value where it is there.
BAD_ROWS, QUARANTINE = "bad_rows", "quarantine"

#: What states do not say that were made before it could be anything else.
_LATER: dict[str, Any] = {
    "weights": "float32", "on_repeat": "last", "properties": {}, "vertex_properties": {},
    "time_window": None,
}  # fmt: skip

#: All names that a state may have, at the top of its file and in ``identity`` and ``reading``.
_KNOWN = {
    "": {"format", "version", "graphtide", "identity", "log", "columns", "time_unit", "reading"},
    "identity": {
        "directed", "records", "ids", "reverse", "self_loops", "create_vertices", *_LATER,
    },
    "reading": {"op_insert", "op_delete", "order_by", "order_within", BAD_ROWS},
}  # fmt: skip

#: Name of the unit of time among differences.
_TIME_UNIT = "unit of time"


class Difference(NamedTuple):
    """A setting that a run asks for otherwise than a state has it, with both values as text."""

    name: str
    kept: str
    wanted: str


@dataclass(frozen=True)
class StateSettings:
    """Settings that define the graph of a state."""

    #: ``directed``, ``records``, ``weights``, ``ids``, ``reverse``, ``self_loops``,
    #: ``create_vertices``, ``on_repeat``, ``properties``, ``vertex_properties``, ``time_window``.
    identity: dict[str, Any]
    #: Address of the log, or its addresses in order; local paths are absolute.
    log_address: Address
    #: Canonical column -> name in the log.
    columns: dict[str, str]
    #: Unit of the times that edges carry; None where they carry none.
    time_unit: str | None
    #: ``op_insert``, ``op_delete``, ``order_by``, ``order_within``, of those that are set; and
    #: ``bad_rows``, where they are left out.
    reading: dict[str, Any] = field(default_factory=dict)
    #: graphtide that made the state.
    made_by: str = __version__

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> "StateSettings":
        """Settings as `to_json` gave them, or an older version did."""
        return cls(
            identity={**_LATER, **values["identity"]},
            log_address=_address(values["log"]),
            columns=dict(values["columns"]),
            time_unit=values["time_unit"],
            reading=dict(values.get("reading", {})),
            made_by=str(values["graphtide"]),
        )

    @staticmethod
    def unknown_names(values: Mapping[str, Any]) -> list[str]:
        """Names in what `of_json` takes that are of a later version, which has more settings.

        To go on without regard to one of them could make another graph.
        """
        parts = {"": values, **{name: values.get(name, {}) for name in _KNOWN if name}}
        return [name for part, names in parts.items() for name in sorted({*names} - _KNOWN[part])]

    def to_json(self) -> dict[str, Any]:
        """Plain values, made by this graphtide."""
        values = {
            "graphtide": __version__,
            "identity": self.identity,
            "log": self.log_address,
            "columns": self.columns,
            "time_unit": self.time_unit,
        }
        return values | ({"reading": self.reading} if self.reading else {})

    def differences(self, wanted: "StateSettings") -> list[Difference]:
        """Settings that define the graph and are others in ``wanted``."""
        pairs = {name: (self.identity.get(name), value) for name, value in wanted.identity.items()}
        pairs["columns"] = (self.columns, wanted.columns)
        pairs[_TIME_UNIT] = (self.time_unit, wanted.time_unit)
        for name in sorted({*self.reading, *wanted.reading} - {BAD_ROWS}):
            pairs[name] = (self.reading.get(name), wanted.reading.get(name))
        pairs["log"] = (address_text(self.log_address), address_text(wanted.log_address))
        return [Difference(name, _text(a), _text(b)) for name, (a, b) in pairs.items() if a != b]

    def contradictions(
        self,
        wanted: "StateSettings",
        *,
        has_checkpoint: bool,
        is_moved_log: bool,
        may_add_words: bool,
    ) -> list[Difference]:
        """Differences for which a run is refused; none where the state may become as ``wanted``.

        ``is_moved_log`` and ``may_add_words`` as of `StateDirectory.create_or_open`.
        """
        differences = self.differences(wanted)
        if self.time_unit is None:
            # Where no file before had a time, nothing has been counted yet.
            differences = [each for each in differences if each.name != _TIME_UNIT]
        if is_moved_log:
            differences = [each for each in differences if each.name != "log"]
        names = {each.name for each in differences}
        # That rows are refused as they are read is how another reading comes to be asked for.
        if not has_checkpoint and names <= self.reading.keys() | wanted.reading.keys():
            return []
        if may_add_words and names <= {"op_insert", "op_delete"}:
            words, known = (Operations.of_reading(each.reading).words for each in (wanted, self))
            if known.items() <= words.items():
                return []
        return differences


def _address(value: Any) -> Address:
    return tuple(map(str, value)) if isinstance(value, list) else str(value)


def _text(value: object) -> str:
    """A value as YAML settings write it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {name}" for key, name in value.items()) + "}"
    return "none" if value is None else str(value)
