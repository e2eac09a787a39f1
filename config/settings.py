"""The settings of a run: read from Dask's configuration, checked once, and then plain values.

Where a value comes from, later wins: ``graphtide.yaml`` beside this file; Dask's own configuration
(its YAML files, ``DASK_GRAPHTIDE__…`` variables, ``dask.config.set``); the file of ``--config``;
flags. Keys may be written with ``-`` or ``_``. An unknown key or a value out of bounds is refused
by name, with what is allowed (``graphtide-schema.yaml``).

Not here: what a setting does. `GraphSettings` and `RunSettings` are handed to the layers that know.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import dask.config
import yaml
from dask.utils import parse_bytes, parse_timedelta

from ..gpu_core.engines import CUDA_LAYOUTS
from ..gpu_core.errors import SettingsError

SECTION = "graphtide"

#: Keys whose values may be written with a unit.
_BYTES_KEYS = ("page_bytes", "arena_bytes", "max_arena_bytes")


@dataclass(frozen=True)
class GraphSettings:
    """What the graph is and how it lies in memory; see ``graphtide.yaml`` for each."""

    directed: bool = True
    records: str = "simple"
    ids: str = "any"
    reverse: bool = True
    self_loops: str = "drop"
    create_vertices: bool = True
    layout: str = "runs"
    storage: str = "soa"
    engine: str = "auto"
    page_bytes: int | None = None
    arena_bytes: int | None = None
    max_arena_bytes: int | None = None

    def graph_arguments(self) -> dict[str, Any]:
        """Keyword arguments of `DynamicGraph`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def batch_arguments(self) -> dict[str, Any]:
        """Keyword arguments of `UpdateBatch.from_rows` that say what a row means."""
        names = ("directed", "records", "self_loops", "create_vertices")
        return {name: getattr(self, name) for name in names}

    def identity(self) -> dict[str, Any]:
        """What defines the graph: the state keeps it, and a later run may not contradict it."""
        names = ("directed", "records", "ids", "reverse", "self_loops", "create_vertices")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class RunSettings:
    """All settings of one run; see ``graphtide.yaml`` for each."""

    graph: GraphSettings = field(default_factory=GraphSettings)
    #: Canonical column -> its name in the log.
    columns: dict[str, str] = field(default_factory=dict)
    batch_rows: int | None = None
    analytics: tuple[str, ...] = ("pagerank", "clustering")
    #: Batches between two results; None: at the end only.
    analytics_every: int | None = None
    #: ``alpha``, ``tol`` and ``max_iter``.
    pagerank: dict[str, Any] = field(default_factory=dict)
    #: Seconds between two checkpoints; excludes ``checkpoint_batches``.
    checkpoint_seconds: float | None = 60.0
    #: Batches between two checkpoints; excludes ``checkpoint_seconds``.
    checkpoint_batches: int | None = None
    scheduler: str | None = None
    graph_worker: str | None = None
    workers: int | None = None
    window: int | None = None
    handover: str = "auto"
    #: Who works out what the rows of a batch come to: ``cpu`` workers, or the graph's ``gpu``.
    convert: str = "cpu"
    graph_restarts: int = 3
    start_timeout_seconds: float = 60.0
    dashboard: bool = True


def load_settings(
    overrides: Mapping[str, object] | None = None, config_file: str | None = None
) -> RunSettings:
    """Read, check and type the settings.

    Parameters
    ----------
    overrides
        Flags: key -> value. None means that the flag was not given. ``pagerank`` and ``columns``
        are merged key by key.
    config_file
        A YAML file with a section ``graphtide:``.

    Raises
    ------
    SettingsError
        An unknown key, a value that is not allowed, settings that contradict each other, or a file
        that cannot be read.
    """
    if _defaults() not in dask.config.defaults:
        dask.config.update_defaults(_defaults())
    # dask.config.set may have replaced the whole section, so the defaults are merged in again.
    settings: dict[str, Any] = dict(_defaults()[SECTION])
    _merge(settings, _section(dask.config.config.get(SECTION), "Dask's configuration"))
    if config_file is not None:
        _merge(settings, _file_section(config_file))
    flags = {key: value for key, value in (overrides or {}).items() if value is not None}
    _merge(settings, _section(flags, "the flags"))
    _check(settings)
    return _typed(settings)


def _resource(name: str) -> Any:
    return resources.files(__package__).joinpath(name)


@cache
def _defaults() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(_resource("graphtide.yaml").read_text("utf-8"))
    return loaded


@cache
def _schema() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(_resource("graphtide-schema.yaml").read_text("utf-8"))
    return loaded


def _section(values: object, origin: str) -> dict[str, Any]:
    """Keys with ``_``, at both depths."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        msg = f"{SECTION}: in {origin} is {values!r}; write keys and values below it"
        raise SettingsError(msg)
    return {
        str(key).replace("-", "_"): dict(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
    }


def _merge(settings: dict[str, Any], newer: Mapping[str, Any]) -> None:
    for key, value in newer.items():
        if isinstance(value, dict) and isinstance(settings.get(key), dict):
            settings[key] = {**settings[key], **value}
        else:
            settings[key] = value


def _file_section(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            loaded = yaml.safe_load(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"the settings file {path} cannot be read: {reason}; check the path"
        raise SettingsError(msg) from None
    except yaml.YAMLError as error:
        msg = f"the settings file {path} is not YAML: {' '.join(str(error).split())}"
        raise SettingsError(msg) from None
    loaded = {} if loaded is None else loaded
    others = sorted(str(key) for key in loaded if key != SECTION) if loaded else []
    if not isinstance(loaded, dict) or others:
        found = ", ".join(others) if isinstance(loaded, dict) else type(loaded).__name__
        msg = f"the settings file {path} holds {found}; put all settings below '{SECTION}:'"
        raise SettingsError(msg)
    return _section(loaded.get(SECTION), path)


def _check(settings: dict[str, Any]) -> None:
    """Refuse what the schema refuses, then what only several keys together show."""
    import jsonschema  # takes a tenth of a second

    validator = jsonschema.Draft202012Validator(_schema())
    error = min(validator.iter_errors(settings), key=lambda e: list(map(str, e.path)), default=None)
    if error is not None:
        raise SettingsError(_explain(error))
    if settings["self_loops"] == "keep" and not settings["directed"]:
        msg = "self_loops: keep is for directed graphs; use drop or reject, or directed: true"
        raise SettingsError(msg)
    if settings["engine"] == "cuda" and settings["layout"] not in CUDA_LAYOUTS:
        msg = (
            f"engine: cuda has no layout {settings['layout']}; use layout: {CUDA_LAYOUTS[0]}, or "
            f"engine: host"
        )
        raise SettingsError(msg)
    if settings["convert"] == "gpu" and not _may_be_on_gpu(settings):
        msg = (
            "convert: gpu is for a graph on a GPU; use engine: cuda or auto with layout: "
            f"{CUDA_LAYOUTS[0]}, or convert: cpu"
        )
        raise SettingsError(msg)
    names = list(settings["columns"].values())
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        msg = f"columns: {twice[0]!r} stands for two columns; give each column a name of its own"
        raise SettingsError(msg)
    if settings["scheduler"] is not None and settings["workers"] is not None:
        msg = (
            "workers is for a cluster on this machine, but scheduler names a running one; "
            "leave one of them out"
        )
        raise SettingsError(msg)
    if settings["scheduler"] is None and settings["graph_worker"] is not None:
        msg = "graph_worker names a worker of a running scheduler; give its address as scheduler"
        raise SettingsError(msg)


def _may_be_on_gpu(settings: dict[str, Any]) -> bool:
    return settings["engine"] != "host" and settings["layout"] in CUDA_LAYOUTS


def _explain(error: Any) -> str:
    """One sentence for an error of jsonschema: key, value found, what is allowed."""
    key = ".".join(str(part) for part in error.path if not isinstance(part, int))
    if error.validator == "additionalProperties":
        allowed = sorted(error.schema["properties"])
        unknown = sorted(str(name) for name in error.instance if name not in allowed)[0]
        close = difflib.get_close_matches(unknown, allowed, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        where = f"{key}." if key else ""
        return f"setting {where}{unknown} is unknown{hint}; there are {', '.join(allowed)}"
    return f"setting {key}: {error.instance!r} is not allowed; {_allowed(error)}"


def _allowed(error: Any) -> str:
    limit = error.validator_value
    if error.validator == "enum":
        return f"use {_either(limit)}"
    if error.validator == "type":
        kinds = [limit] if isinstance(limit, str) else limit
        return f"use {_either(kinds)}"
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


def _typed(settings: dict[str, Any]) -> RunSettings:
    values = dict(settings)
    for key in _BYTES_KEYS:
        values[key] = _parsed_bytes(key, values[key])
    if values["page_bytes"] is not None:
        page_bytes = values["page_bytes"]
        if not 16 <= page_bytes <= 4096 or page_bytes & (page_bytes - 1):
            msg = f"setting page_bytes: {page_bytes} is not allowed; use a power of two, 16 to 4096"
            raise SettingsError(msg)
    values["start_timeout_seconds"] = _parsed_seconds("start_timeout", values.pop("start_timeout"))
    seconds, batches = _parsed_cadence(values.pop("checkpoint_every"))
    graph = GraphSettings(**{name: values.pop(name) for name in GraphSettings.__dataclass_fields__})
    values["analytics"] = tuple(values["analytics"])
    if values["graph_worker"] is not None:
        values["graph_worker"] = str(values["graph_worker"])
    return RunSettings(
        graph=graph, checkpoint_seconds=seconds, checkpoint_batches=batches, **values
    )


def _parsed_bytes(key: str, value: object) -> int | None:
    if value is None:
        return None
    try:
        parsed = int(parse_bytes(value))
    except ValueError:
        parsed = 0
    if parsed < 1:
        msg = f"setting {key}: {value!r} is not allowed; use a number of bytes, or one like 8GiB"
        raise SettingsError(msg)
    return parsed


def _parsed_seconds(key: str, value: object) -> float:
    try:
        parsed = float(parse_timedelta(value))
    except (ValueError, KeyError):
        parsed = 0.0
    if parsed <= 0:
        msg = f"setting {key}: {value!r} is not allowed; use a time such as 60s or 5m"
        raise SettingsError(msg)
    return parsed


def _parsed_cadence(value: object) -> tuple[float | None, int | None]:
    """``(seconds, None)``, ``(None, batches)`` or ``(None, None)``."""
    if value is None:
        return None, None
    if isinstance(value, int) or str(value).strip().isdecimal():
        batches = int(str(value))
        if batches < 1:
            msg = "setting checkpoint_every: 0 is not allowed; use 1 or more batches, or a time"
            raise SettingsError(msg)
        return None, batches
    try:
        return _parsed_seconds("checkpoint_every", value), None
    except SettingsError:
        msg = (
            f"setting checkpoint_every: {value!r} is not allowed; use a number of batches, or a "
            f"time such as 60s or 5m"
        )
        raise SettingsError(msg) from None
