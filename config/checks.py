"""Refusals of settings, in one sentence each: what is wrong, and what is allowed.

First what the schema refuses, key by key; then what only several keys together show.
"""

import difflib
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from ..gpu_core.errors import SettingsError
from ..gpu_core.properties.kinds import checked_kinds
from .analytics import check_analytics, with_names
from .units import seconds

#: Types of JSON, in the words of who writes settings.
_KINDS = {
    "array": "a list, such as [a, b]",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping, such as {name: value}",
    "string": "text",
}

#: What is added to the refusal of a type, or of a number too large, by key: flags of the commands
#: have other names and words.
_OF_FLAGS = {
    "analytics": "; [] computes none",
    "window": "; after which time edges leave, as by the flag --window, is the setting time_window",
}

#: What is added where brackets came as text, as of a variable, which Dask reads by another rule.
_OF_VARIABLES = "; texts in it are in quotes where it is a variable, as in ['name']"


def check_settings(settings: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Refuse settings that the schema, or their combination, does not allow.

    Raises
    ------
    SettingsError
        Names the first setting that is wrong.
    """
    import jsonschema  # takes a tenth of a second

    schema = _with_own_columns(with_names(schema, settings), settings)
    validator = jsonschema.Draft202012Validator(schema)
    error = min(validator.iter_errors(settings), key=lambda e: list(map(str, e.path)), default=None)
    if error is not None:
        raise SettingsError(_explain(error))
    _check_magnitudes(settings)
    _check_graph(settings)
    if settings["convert"] == "gpu":
        _check_conversion_on_gpu(settings)
    check_analytics(settings)
    _check_log(settings)
    _check_cluster(settings)


def _check_magnitudes(settings: Mapping[str, Any], within: str = "") -> None:
    """Refuse numbers that are not finite, and whole ones that no float holds: arithmetic fails."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            _check_magnitudes(value, f"{within}{name}.")
        elif isinstance(value, int) and value.bit_length() >= sys.float_info.max_exp:
            msg = f"setting {within}{name}: a number beyond {sys.float_info.max:.1e} is not allowed"
            raise SettingsError(msg)
        elif isinstance(value, float) and not math.isfinite(value):
            msg = f"setting {within}{name}: {value} is not allowed; use a number that is finite"
            raise SettingsError(msg)


def _check_graph(settings: Mapping[str, Any]) -> None:
    """Refuse a kind of graph that contradicts itself."""
    if settings["self_loops"] == "keep" and not settings["directed"]:
        msg = "self_loops: keep is for directed graphs; use drop or reject, or directed: true"
        raise SettingsError(msg)
    if settings["weights"] == "float64" and settings["records"] == "simple":
        msg = "weights: float64, but simple records keep no weights; use records: weighted"
        raise SettingsError(msg)
    if settings["on_repeat"] != "last" and settings["records"] == "simple":
        rule = settings["on_repeat"]
        msg = f"on_repeat: {rule}, but simple records keep no weights; use records: weighted"
        raise SettingsError(msg)
    if settings["time_window"] is not None:
        _check_time_window(settings)
    for setting in ("properties", "vertex_properties"):
        checked_kinds(setting, settings[setting])


def _check_conversion_on_gpu(settings: Mapping[str, Any]) -> None:
    """Refuse what only CPU workers can convert."""
    if settings["on_repeat"] != "last":
        rule = settings["on_repeat"]
        msg = f"convert: gpu keeps the last weight alone, but on_repeat: {rule}; use convert: cpu"
        raise SettingsError(msg)
    for setting in ("properties", "vertex_properties"):
        if settings[setting]:
            msg = f"convert: gpu knows no {setting}; use convert: cpu"
            raise SettingsError(msg)
    if settings["engine"] == "host":
        msg = "convert: gpu is for a graph on a GPU; use engine: cuda or auto, or convert: cpu"
        raise SettingsError(msg)
    if settings["ids"] not in ("any", "dense"):
        msg = f"convert: gpu takes int64 ids, but ids: {settings['ids']}; use convert: cpu"
        raise SettingsError(msg)


def _check_log(settings: Mapping[str, Any]) -> None:
    """Refuse words and columns of the log that stand for two things."""
    both = {word.lower() for word in settings["op_insert"]}
    both &= {word.lower() for word in settings["op_delete"]}
    if both:
        msg = (
            f"op_insert and op_delete both name {min(both)!r} (capitals make no difference); leave "
            f"it out of one of them"
        )
        raise SettingsError(msg)
    if settings["order_within"] and settings["order_by"] is None:
        msg = "order_within is for rows in the order of a column; name it as order_by, such as ts"
        raise SettingsError(msg)
    names = list(settings["columns"].values())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        msg = f"columns: {twice[0]!r} stands for two columns; give each column a name of its own"
        raise SettingsError(msg)


def _check_cluster(settings: Mapping[str, Any]) -> None:
    """Refuse settings of a cluster of this machine beside those of a running one."""
    if settings["scheduler"] is not None and settings["workers"] is not None:
        msg = (
            "workers is for a cluster on this machine, but scheduler names a running one; "
            "leave one of them out"
        )
        raise SettingsError(msg)
    if settings["scheduler"] is not None:
        _check_address(settings["scheduler"])
    if settings["scheduler"] is None and settings["graph_worker"] is not None:
        msg = "graph_worker names a worker of a running scheduler; give its address as scheduler"
        raise SettingsError(msg)


def _with_own_columns(schema: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with properties of the user's own among the columns of a log."""
    columns = schema["properties"]["columns"]
    own = {
        name: {"type": "string", "minLength": 1}
        for setting in ("properties", "vertex_properties")
        if isinstance(settings[setting], Mapping)
        for name in settings[setting]
    }
    columns = {**columns, "properties": {**columns["properties"], **own}}
    return {**schema, "properties": {**schema["properties"], "columns": columns}}


def _check_time_window(settings: Mapping[str, Any]) -> None:
    """Refuse a window that is no length, or one of edges without times."""
    window = str(settings["time_window"]).strip()
    if settings["records"] != "semantic":
        msg = (
            f"time_window: {window}, but {settings['records']} records keep no times; use records: "
            f"semantic"
        )
        raise SettingsError(msg)
    if window.isdecimal() and int(window):
        return
    # Dask takes a bare 1.5 for seconds, and M, which others have for months, for minutes.
    if not window[-1:].isalpha() or window.endswith("M"):
        msg = f"setting time_window: {window!r} is not allowed; use a time with its unit, as in 7d"
        raise SettingsError(msg)
    seconds("time_window", window)


def _check_address(address: str) -> None:
    """Refuse the address of a scheduler that has no port: Dask would wait for minutes."""
    protocol, _, location = address.rpartition("://")
    _, _, port = location.rpartition(":")
    if protocol == "inproc" or (port.isdecimal() and 0 < int(port) < 2**16):
        return
    host = location.removesuffix(f":{port}") if ":" in location else location
    msg = (
        f"setting scheduler: {address!r} has no port; write it as the scheduler prints it, such as "
        f"{protocol or 'tcp'}://{host or '127.0.0.1'}:8786"
    )
    raise SettingsError(msg)


def _explain(error: Any) -> str:
    """One sentence for an error of jsonschema: key, value found, what is allowed."""
    key = ".".join(str(part) for part in error.path if not isinstance(part, int))
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        unknown = sorted(str(name) for name in error.instance if name not in allowed)[0]
        close = difflib.get_close_matches(unknown, allowed, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        where = f"{key}." if key else ""
        if not where and isinstance(error.instance[unknown], dict):
            hint += f", nor named in analytics, as {unknown}=pagerank would"
        return f"setting {where}{unknown} is unknown{hint}; there are {', '.join(allowed)}"
    found = "null" if error.instance is None else repr(error.instance)
    hint = _OF_FLAGS.get(key, "") if error.validator in ("type", "maximum") else ""
    is_text = isinstance(error.instance, str) and (error.validator == "type" or _may_be_list(error))
    if is_text and error.instance.startswith(("[", "{")):
        hint += _OF_VARIABLES
    return f"setting {key}: {found} is not allowed; {_allowed(error)}{hint}"


def _may_be_list(error: Any) -> bool:
    return "array" in error.schema.get("type", ())


def _allowed(error: Any) -> str:
    limit = error.validator_value
    if error.validator in ("pattern", "type") and "allowed" in error.schema:
        # An annotation of ours.
        return f"use {error.schema['allowed']}"
    if error.validator == "enum":
        return f"use {_either(['null' if each is None else each for each in limit])}"
    if error.validator == "pattern":
        return f"use {error.schema['description']}"
    if error.validator == "type":
        kinds = [limit] if isinstance(limit, str) else limit
        return f"use {_either([_KINDS.get(kind, kind) for kind in kinds])}"
    if error.validator == "minimum":
        return f"use {limit} or more"
    if error.validator == "maximum":
        return f"use {limit} or less"
    if error.validator == "exclusiveMinimum":
        return f"use more than {limit}"
    if error.validator == "exclusiveMaximum":
        return f"use less than {limit}"
    if error.validator == "uniqueItems":
        return "name each once"
    return str(error.message)


def _either(values: Sequence[object]) -> str:
    """``one, another or a third``."""
    *others, last = map(str, values)
    return f"{', '.join(others)} or {last}" if others else last
