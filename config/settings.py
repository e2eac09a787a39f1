"""The settings of a run: read from Dask's configuration, checked once, and then plain values.

Where a value comes from, later wins: ``graphtide.yaml`` beside this file, and the registry of
analytics (``analytics.py``); Dask's own configuration (its YAML files, ``DASK_GRAPHTIDE__…``
variables, ``dask.config.set``); the file of ``--config``; flags. Keys may be written with ``-`` or
``_``. An unknown key or a value out of bounds is refused by name, with what is allowed
(``checks.py``, by ``graphtide-schema.yaml``).

Not here: what a setting does. `GraphSettings` and `RunSettings` are handed to the layers that know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import dask.config
import yaml

from ..gpu_core.errors import SettingsError
from ..gpu_core.kind import GraphKind, RowMeaning, row_meaning
from ..gpu_core.properties.kinds import column_kinds
from ..gpu_core.records import record_named
from .analytics import (
    cadences_of,
    can_follow,
    kinds_of,
    maintained_of,
    parameters_of,
    sections,
    with_analytics,
    with_names,
)
from .checks import check_settings
from .units import checkpoint_cadence, number_of_bytes, number_or_all, plain, seconds, with_numbers
from .yaml_text import read_yaml

SECTION = "graphtide"

#: What `default_text` replaces in ``graphtide.yaml``: a line by the parameters of the analytics,
#: and words by the names of those that can be maintained.
_SECTIONS = "  # (their parameters: `graphtide settings` prints them here)"
_FOLLOWING = "(`graphtide settings` lists them here)"

#: Keys whose values may be written with a unit.
_BYTES_KEYS = ("page_bytes", "arena_bytes", "max_arena_bytes")

#: Holds an empty graph with any page size but the largest, for which the graph itself says it.
_LEAST_ARENA_BYTES = 64 * 2**10


@dataclass(frozen=True)
class GraphSettings:
    """Kind of the graph and its layout in memory; see ``graphtide.yaml`` for each."""

    directed: bool = True
    records: str = "simple"
    weights: str = "float32"
    ids: str = "any"
    reverse: bool = True
    self_loops: str = "drop"
    create_vertices: bool = True
    on_repeat: str = "last"
    #: Name -> type.
    properties: Mapping[str, str] = field(default_factory=dict)
    vertex_properties: Mapping[str, str] = field(default_factory=dict)
    #: As it was written: a time such as ``7d``, or a number; None: edges do not expire.
    time_window: str | None = None
    layout: str = "runs"
    storage: str = "soa"
    engine: str = "auto"
    page_bytes: int | None = None
    mean_degree: float | str | None = None
    arena_bytes: int | None = None
    max_arena_bytes: int | None = None
    arena_growth: float = 2.0
    arena_grow_at: float = 1.0

    @property
    def record(self) -> str:
        """Name of the edge record: ``records`` with these ``weights``."""
        return record_named(self.records, self.weights).name

    def graph_arguments(self) -> dict[str, Any]:
        """Keyword arguments of `DynamicGraph`; who applies batches has edges expire."""
        names = (name for name in self.__dataclass_fields__ if name != "time_window")
        return {name: getattr(self, name) for name in names}

    def row_meaning(self) -> RowMeaning:
        """Meaning of the rows of the log."""
        return row_meaning(
            directed=self.directed, records=self.records, weights=self.weights,
            self_loops=self.self_loops, create_vertices=self.create_vertices, ids=self.ids,
            on_repeat=self.on_repeat, properties=self.properties,
            vertex_properties=self.vertex_properties,
        )  # fmt: skip

    def own_columns(self) -> dict[str, str]:
        """Columns of the log that are properties -> type in which they are read.

        Of floats it is the type that they are kept in, into which a whole number has to fit.
        """
        meaning = self.row_meaning()
        kinds = column_kinds(meaning.properties, meaning.vertex_properties)
        given = {*meaning.properties, *meaning.vertex_properties}
        narrow = {name for name in kinds if {"float32"} == {k for n, k in given if n == name}}
        return kinds | dict.fromkeys(narrow, "float32")

    def kind(self) -> GraphKind:
        """Kind of the graph."""
        return GraphKind(
            **vars(self.row_meaning()), reverse=self.reverse, layout=self.layout,
            storage=self.storage, page_bytes=self.page_bytes, mean_degree=self.mean_degree,
        )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """Settings that define the graph: a state keeps them, and later runs may not contradict."""
        names = (
            "directed", "records", "weights", "ids", "reverse", "self_loops", "create_vertices",
            "on_repeat", "properties", "vertex_properties", "time_window",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class RunSettings:
    """All settings of one run; see ``graphtide.yaml`` for each."""

    graph: GraphSettings = field(default_factory=GraphSettings)
    #: Canonical column -> its name in the log.
    columns: dict[str, str] = field(default_factory=dict)
    #: Words of the column op, besides those that every log may have.
    op_insert: tuple[str, ...] = ()
    op_delete: tuple[str, ...] = ()
    #: Column whose order the rows are applied in; None: that of the files.
    order_by: str | None = None
    #: How much later than a later one a row may come; None: not at all.
    order_within: str | float | None = None
    #: ``halt`` or ``quarantine``; None: as the state has it, and ``halt`` in a new one.
    bad_rows: str | None = None
    batch_rows: int | None = None
    #: Name of each result -> analytic that it is of; most are called as that.
    analytics: dict[str, str] = field(
        default_factory=lambda: {"pagerank": "pagerank", "clustering": "clustering"}
    )
    #: Name of each result -> batches between two of it; None: at the end only.
    cadences: dict[str, int | None] = field(
        default_factory=lambda: {"pagerank": None, "clustering": None}
    )
    #: Graphs that may be pinned at once for results and checkpoints.
    epochs: int = 2
    #: Batches between two results of which all columns are written; None: they are of each result.
    columns_every: int | None = None
    #: Between those, rows are written in which a value changed by more than this; None: no rows.
    changes_beyond: float | None = None
    #: What columns of float64 are written as: ``float64`` or ``float32``.
    result_floats: str = "float64"
    #: Analytics that follow each batch, and those that do so if the graph is on a GPU.
    maintain: tuple[str, ...] = ()
    maintain_on_gpu: tuple[str, ...] = ()
    #: Analytic, or name of a result -> its parameters, of all analytics that have some.
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Seconds between two checkpoints; excludes ``checkpoint_batches``.
    checkpoint_seconds: float | None = 60.0
    #: Batches between two checkpoints; excludes ``checkpoint_seconds``.
    checkpoint_batches: int | None = None
    #: Checkpoints that remain when a new one is written, that one among them; None: all.
    keep_checkpoints: int | None = 2
    scheduler: str | None = None
    graph_worker: str | None = None
    workers: int | None = None
    window: int | None = None
    handover: str = "auto"
    #: Who works out what the rows of a batch come to: ``cpu`` workers, or the graph's ``gpu``.
    convert: str = "cpu"
    graph_restarts: int = 3
    start_timeout_seconds: float = 30.0
    dashboard: bool = True

    def reading(self) -> dict[str, Any]:
        """Settings by which the log is read, other than defaults: the state keeps them, too."""
        values = {
            "op_insert": list(self.op_insert),
            "op_delete": list(self.op_delete),
            "order_by": self.order_by,
            "order_within": self.order_within,
        }
        return {name: value for name, value in values.items() if value}


def load_settings(
    overrides: Mapping[str, object] | None = None,
    config_file: str | None = None,
    assignments: Mapping[str, object] | None = None,
) -> RunSettings:
    """Read, check and type the settings.

    Parameters
    ----------
    overrides
        Flags: key -> value. None means that the flag was not given. ``columns`` and the parameters
        of an analytic are merged key by key.
    config_file
        A YAML file with a section ``graphtide:``.
    assignments
        Values of ``--set``: as the file's, None included; flags win over them.

    Raises
    ------
    SettingsError
        An unknown key, a value that is not allowed, settings that contradict each other, or a file
        that cannot be read.
    """
    _refuse_joined_keys(dask.config.config)
    # dask.config.set may have replaced the whole section, so the defaults are merged in again.
    settings: dict[str, Any] = dict(_defaults()[SECTION])
    _merge(settings, _section(dask.config.config.get(SECTION), "Dask's configuration"))
    if config_file is not None:
        _merge(settings, _file_section(config_file))
    _merge(settings, _section(assignments, "--set"))
    flags = {key: value for key, value in (overrides or {}).items() if value is not None}
    _merge(settings, _section(flags, "the flags"))
    schema = settings_schema()
    settings = with_numbers(settings, with_names(schema, settings))
    check_settings(settings, schema)
    if _defaults() not in dask.config.defaults:
        # Only now: in the place of a text where a mapping belongs Dask puts the default.
        dask.config.update_defaults(_defaults())
    return _typed(settings)


def _resource(name: str) -> Any:
    return resources.files(__package__).joinpath(name)


def default_text() -> str:
    """All settings with their defaults and what they mean, as a YAML file."""
    text: str = _resource("graphtide.yaml").read_text("utf-8")
    return text.replace(_SECTIONS, sections()).replace(_FOLLOWING, ", ".join(can_follow()))


@cache
def _defaults() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(default_text())
    return loaded


@cache
def settings_schema() -> dict[str, Any]:
    """Types, bounds and meaning of all settings, as a JSON Schema."""
    text = _resource("graphtide-schema.yaml").read_text("utf-8")
    return with_analytics(yaml.safe_load(text))


def _refuse_joined_keys(config: Mapping[str, Any]) -> None:
    """Refuse ``graphtide_batch_rows``, which Dask makes of a variable that lacks an underscore.

    No setting has this key, so Dask accepts it silently, and the setting that is meant would keep
    its default. Keys that resemble no setting are accepted: Kubernetes sets
    ``DASK_GRAPHTIDE_PORT`` for a service of that name.
    """
    known = {str(name) for name in _defaults()[SECTION]}
    for key in map(str, config):
        section, _, name = key.replace("-", "_").partition("_")
        if section == SECTION and name.lstrip("_").partition(".")[0] in known:
            msg = (
                f"Dask's configuration has {key}, which is no setting; a variable has two "
                f"underscores there, as in DASK_{SECTION.upper()}__{name.upper().lstrip('_')}"
            )
            raise SettingsError(msg)


def _section(values: object, origin: str) -> dict[str, Any]:
    """Keys with ``_``, and plain values."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        msg = f"{SECTION}: in {origin} is {values!r}; write keys and values below it"
        raise SettingsError(msg)
    names = [str(key).replace("-", "_") for key in values]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        msg = f"{origin}: {twice} is there with - and with _, which are the same; write it once"
        raise SettingsError(msg)
    return {name: plain(value) for name, value in zip(names, values.values(), strict=True)}


def _merge(settings: dict[str, Any], newer: Mapping[str, Any]) -> None:
    for key, value in newer.items():
        if isinstance(value, dict) and isinstance(settings.get(key), dict):
            settings[key] = {**settings[key], **value}
        else:
            settings[key] = value


def _file_section(path: str) -> dict[str, Any]:
    try:
        return _section(_loaded(path), path)
    except RecursionError:
        msg = f"the settings file {path} is nested too deeply; an alias there may name itself"
        raise SettingsError(msg) from None


def _loaded(path: str) -> object:
    """What a settings file has below ``graphtide:``."""
    try:
        with open(path, encoding="utf-8") as file:
            loaded = read_yaml(file)
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
    return loaded.get(SECTION)


def _typed(settings: dict[str, Any]) -> RunSettings:
    values = dict(settings)
    for key in _BYTES_KEYS:
        values[key] = number_of_bytes(key, values[key])
    for key in ("arena_bytes", "max_arena_bytes"):
        if values[key] is not None and values[key] < _LEAST_ARENA_BYTES:
            msg = f"setting {key}: {values[key]} bytes are too few; use 64kiB or more, such as 8GiB"
            raise SettingsError(msg)
    if values["page_bytes"] is not None:
        page_bytes = values["page_bytes"]
        if not 16 <= page_bytes <= 4096 or page_bytes & (page_bytes - 1):
            msg = f"setting page_bytes: {page_bytes} is not allowed; use a power of two, 16 to 4096"
            raise SettingsError(msg)
    values["start_timeout_seconds"] = seconds("start_timeout", values.pop("start_timeout"))
    every_seconds, every_batches = checkpoint_cadence(values.pop("checkpoint_every"))
    values["keep_checkpoints"] = number_or_all("keep_checkpoints", values["keep_checkpoints"])
    graph = GraphSettings(**{name: values.pop(name) for name in GraphSettings.__dataclass_fields__})
    if graph.time_window is not None:
        graph = replace(graph, time_window=str(graph.time_window).strip())
    for key in ("op_insert", "op_delete"):
        values[key] = tuple(values[key])
    values["maintain"], values["maintain_on_gpu"] = maintained_of(settings)
    values["analytics"], values["cadences"] = kinds_of(settings), cadences_of(settings)
    del values["analytics_every"]
    values["parameters"] = parameters_of(settings)
    for name in {*values["parameters"], *values["analytics"]}:
        values.pop(name, None)
    if values["graph_worker"] is not None:
        values["graph_worker"] = str(values["graph_worker"])
    return RunSettings(
        graph=graph, checkpoint_seconds=every_seconds, checkpoint_batches=every_batches, **values
    )
