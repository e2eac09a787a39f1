"""``graphtide generate``: update logs from generators."""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...gpu_core.errors import SettingsError
from ...gpu_core.generators.barabasi_albert import MAX_EDGES, barabasi_albert_edges
from ...gpu_core.generators.erdos_renyi import erdos_renyi_edges
from ...gpu_core.generators.geometric import geometric_edges, geometric_size
from ...gpu_core.generators.grid import grid_edges, grid_size
from ...gpu_core.generators.rmat import EDGE_FACTOR, rmat_edges
from ...gpu_core.generators.uniform import uniform_edges
from ...gpu_core.generators.update_streams import (
    MAX_ROWS,
    EdgeList,
    UpdateMix,
    UpdateRows,
    swept,
    update_rows,
)
from ...gpu_core.generators.watts_alpha import watts_alpha_edges
from ...gpu_core.generators.watts_strogatz import watts_strogatz_edges
from ...gpu_core.printable import amount, counted
from ...io.durable import TEMPORARY, check_new_file, sync
from ...io.log.columns.column_types import op_bytes
from ...io.log.log_writer import write_log_file
from ..printing.text import command
from ..processes import run_in_processes
from .output_files import local_folder

Int64s = npt.NDArray[np.int64]

_NO_NUMBERS = np.empty(0, dtype=np.uint64)

#: Files of a log, unless the number is given.
_FILES = 4

#: Rows drawn at a time.
_BLOCK_ROWS = 1_000_000

#: Fewest rows of a log that several processes write; they take a second to start.
_PARALLEL_ROWS = 8_000_000

#: Ids of all generators are below 2^31. They take half the bytes of int64, and are read faster.
_ID_TYPE = pa.int32()

#: Rows happen a second apart from here on (2026-01-01 in milliseconds), where they have times.
_FIRST_TIME = 1_767_225_600_000
_TIME_STEP = 1000
_TIME_TYPE = pa.timestamp("ms", tz="UTC")


def generate_uniform(out: str, rows: int, vertices: int, options: Mapping[str, Any]) -> None:
    """Write a log over uniformly random edges."""
    edges = partial(uniform_edges, num_vertices=vertices, seed=options["seed"])
    _write_stream(out, edges, rows, options, vertices)


def generate_erdos_renyi(
    out: str, rows: int | None, vertices: int, degree: int, options: Mapping[str, Any]
) -> None:
    """Write a log over edges of Erdős and Rényi's model."""
    edges = partial(erdos_renyi_edges, num_vertices=vertices, seed=options["seed"])
    edges(_NO_NUMBERS)  # vertices that are refused have no degree
    if rows is None and not 1 <= degree < vertices:
        msg = f"degree={degree} must be from 1 to {vertices - 1}, all other vertices"
        raise SettingsError(msg)
    pairs = vertices * (vertices - 1) // 2
    rows = vertices * degree // 2 if rows is None else rows
    _write_stream(out, edges, rows, options, most_edges=pairs)


def generate_geometric(
    out: str, rows: int | None, vertices: int, degree: float, options: Mapping[str, Any]
) -> None:
    """Write a log over edges of a random geometric graph."""
    check_empty(out)
    edges = partial(geometric_edges, num_vertices=vertices, degree=degree, seed=options["seed"])
    edges(_NO_NUMBERS)  # a graph without edges has no log
    size = geometric_size(vertices, degree, seed=options["seed"])
    _write_stream(out, edges, size if rows is None else rows, options, most_edges=size)


def generate_grid(
    out: str, rows: int | None, vertices: int, width: int | None, options: Mapping[str, Any]
) -> None:
    """Write a log over the edges of a grid."""
    edges = partial(grid_edges, num_vertices=vertices, width=width)
    size = grid_size(vertices, width)
    _write_stream(out, edges, size if rows is None else rows, options, most_edges=size)


def generate_rmat(out: str, rows: int | None, scale: int, options: Mapping[str, Any]) -> None:
    """Write a log over R-MAT edges."""
    edges = partial(rmat_edges, scale=scale, seed=options["seed"])
    edges(_NO_NUMBERS)  # a scale that is refused gives no number of rows
    rows = EDGE_FACTOR << scale if rows is None else rows
    _write_stream(out, edges, rows, options, 1 << scale)


def generate_watts_strogatz(
    out: str, rows: int | None, vertices: int, degree: int, beta: float, options: Mapping[str, Any]
) -> None:
    """Write a log over edges of the beta model."""
    edges = partial(
        watts_strogatz_edges, num_vertices=vertices, degree=degree, beta=beta, seed=options["seed"]
    )
    size = vertices * degree // 2
    _write_stream(out, edges, size if rows is None else rows, options, most_edges=size)


def generate_barabasi_albert(
    out: str, rows: int | None, vertices: int, degree: int, options: Mapping[str, Any]
) -> None:
    """Write a log over edges of Barabási and Albert's model."""
    edges = partial(barabasi_albert_edges, degree=degree, seed=options["seed"])
    edges(_NO_NUMBERS)  # a degree that is refused gives no number of rows
    if vertices < 1:
        msg = f"num_vertices={vertices} bring no edges; it must be 1 or more"
        raise SettingsError(msg)
    rows = vertices * degree if rows is None else rows
    if rows > MAX_EDGES:
        msg = f"rows={rows} are more than the edges that can be drawn, {MAX_EDGES}"
        raise SettingsError(msg)
    _write_stream(out, edges, rows, options, most_edges=vertices * degree)


def generate_watts_alpha(
    out: str, rows: int | None, files: int | None, vertices: int, model: Mapping[str, Any]
) -> None:
    """Write the inserts that a graph of the alpha model grew by, or the first of them.

    ``model``: further arguments of `watts_alpha_edges`.
    """
    check_empty(out)
    src, dst = watts_alpha_edges(vertices, **model)
    if src.size == 0:
        msg = f"degree={model['degree']:g} makes no edge of {counted(vertices, 'vertex')}; raise it"
        raise SettingsError(msg)
    if rows is not None and rows > src.size:
        msg = f"rows={rows} are more than the {counted(src.size, 'edge')}; raise --degree"
        raise SettingsError(msg)
    write_log(
        out, partial(_listed, src, dst), src.size if rows is None else rows, files=files,
        mix=UpdateMix(), properties=False, seed=model["seed"],
    )  # fmt: skip


#: Shares of a stream of updates drawn at random, where none are given.
_SHARES = {"repeats": 0.05, "deletes": 0.15, "vertex_deletes": 0.0}


def _write_stream(
    out: str,
    edges: EdgeList,
    rows: int,
    options: Mapping[str, Any],
    vertices: int | None = None,
    *,
    most_edges: int | None = None,
) -> None:
    """Write a log of the stream that the options of a command name.

    ``vertices``: how many there are, where sources may be moved; ``most_edges``: edges that the
    model has, after which its list would begin again.
    """
    plain = dict(options)
    edges(_NO_NUMBERS)  # a model that is refused has no number of edges
    stream, window = plain.pop("stream", "random"), plain.pop("window", None)
    if window is not None and stream != "sliding-window":
        msg = f"--window is of --stream sliding-window, not {stream}"
        raise SettingsError(msg)
    if stream == "sliding-window":
        given = [name for name in _SHARES if plain[name] is not None]
        if given:
            msg = f"--stream sliding-window deletes the oldest by turns: leave --{given[0]} out"
            raise SettingsError(msg.replace("_", "-"))
        # A window that is never full has all rows insert.
        window = max(rows // 4, 1) if window is None else min(window, max(rows, 1))
        plain.update(dict.fromkeys(_SHARES, 0.0))
    elif stream == "sweep":
        if vertices is None:
            msg = "--stream sweep moves sources, which changes a model; use it with uniform or rmat"
            raise SettingsError(msg)
        edges = partial(swept, edges, vertices, max(rows, 1))
    chosen = {name: plain.pop(name) for name in _SHARES}
    shares = {name: _SHARES[name] if share is None else share for name, share in chosen.items()}
    mix = UpdateMix(**shares, window=window)
    # A row that inserts has the edge of its own number, except in a window.
    needed = rows if window is None else (rows + window + 1) // 2
    if most_edges is not None and needed > most_edges:
        msg = (
            f"{counted(rows, 'row')} need {counted(needed, 'edge')}, but the graph has "
            f"{most_edges:,}; lower --rows, or raise --vertices or --degree"
        )
        raise SettingsError(msg)
    write_log(out, edges, rows, mix=mix, **plain)


def _listed(src: Int64s, dst: Int64s, numbers: npt.NDArray[np.uint64]) -> tuple[Int64s, Int64s]:
    return src[numbers], dst[numbers]


def write_log(
    out: str,
    edges: EdgeList,
    rows: int,
    *,
    mix: UpdateMix,
    files: int | None,
    properties: bool,
    seed: int,
    quiet: bool = False,
) -> None:
    """Write ``rows`` rows of an update stream over ``edges`` as ``files`` Parquet files.

    The folder must be new or empty: a log is a whole, and files of another stream would be rows of
    this one. For the same reason files get the names of a log when all of them are there: a log of
    fewer, which a killed call would leave, looks like a whole one. Long logs are written by several
    processes, so ``edges`` must be picklable. Its ids are below 2^31. ``files`` None: 4, of fewer
    rows as many.
    """
    edges(_NO_NUMBERS)  # settings of the generator are refused before a folder is made
    if not 1 <= rows <= MAX_ROWS:
        msg = f"rows={rows} are no log; it must be from 1 to {MAX_ROWS}"
        raise SettingsError(msg)
    files = min(_FILES, rows) if files is None else files
    if not 1 <= files <= rows:
        what, of = counted(rows, "row"), counted(files, "file")
        msg = f"{what} cannot be cut into {of}; give each file a row at least"
        raise SettingsError(msg)
    folder = empty_folder(out)
    bounds = [rows * file // files for file in range(files + 1)]
    paths = [folder / _file_name(file) for file in range(files)]
    # Runs take no files of such names.
    unnamed = [path.with_name(path.name + TEMPORARY) for path in paths]
    write = partial(_write_file, edges, mix, properties, seed)
    try:
        if rows < _PARALLEL_ROWS:
            total_bytes = sum(map(write, unnamed, bounds, bounds[1:]))
        else:
            parts = list(zip(unnamed, bounds, bounds[1:], strict=False))
            total_bytes = sum(run_in_processes(write, parts))
    except BaseException:
        for path in unnamed:
            path.unlink(missing_ok=True)
        raise
    for path, target in zip(unnamed, paths, strict=True):
        os.replace(path, target)
    sync(folder)
    if not quiet:
        size = f"{counted(rows, 'row')} in {counted(files, 'file')}, {amount(total_bytes)}"
        click.echo(f"{size}: {folder}")
        run = command("graphtide", "run", str(folder))
        click.echo(f"next: {run} --state STATE")


def _file_name(number: int) -> str:
    return f"updates-{number:05d}.parquet"


def _write_file(
    edges: EdgeList, mix: UpdateMix, properties: bool, seed: int, path: Path, first: int, last: int
) -> int:
    """Write rows ``first … last - 1`` of the stream; return the size of the file."""
    tables = (
        table_of_rows(
            update_rows(
                edges,
                low,
                min(_BLOCK_ROWS, last - low),
                mix,
                seed=seed,
                first_time=_FIRST_TIME,
                time_step=_TIME_STEP,
            ),
            properties,
            with_vertex_rows=mix.vertex_deletes > 0,
        )
        for low in range(first, last, _BLOCK_ROWS)
    )
    write_log_file(str(path), tables)
    return path.stat().st_size


def table_of_rows(rows: UpdateRows, properties: bool, *, with_vertex_rows: bool) -> pa.Table:
    """The rows as columns of an update log; ``dst`` is null where a row is about a vertex.

    Columns that never hold a null say so: without marks of nulls they are read a fifth faster.
    """
    dst_is_null = None if rows.dst_valid.all() else ~rows.dst_valid
    columns = {
        "op": op_bytes(rows.op),
        "src": pa.array(rows.src, _ID_TYPE),
        "dst": pa.array(rows.dst, _ID_TYPE, mask=dst_is_null),
    }
    if properties:
        # Rows that delete carry no properties.
        is_delete = rows.op < 0
        columns["weight"] = pa.array(rows.weight, mask=is_delete)
        columns["type"] = pa.array(rows.type, mask=is_delete)
        columns["ts"] = pa.array(rows.ts).cast(_TIME_TYPE)
    has_nulls = {"dst": with_vertex_rows, "weight": True, "type": True}
    fields = [
        pa.field(name, column.type, nullable=has_nulls.get(name, False))
        for name, column in columns.items()
    ]
    return pa.table(columns, schema=pa.schema(fields))


def empty_folder(name: str) -> Path:
    """Make the folder ``name``, if it is not there; refused as by `check_empty`."""
    folder = check_empty(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_empty(name: str) -> Path:
    """The folder ``name``, which need not be there; refused when there is something in it."""
    folder = local_folder(name)
    if folder.is_dir() and any(folder.iterdir()):
        msg = f"{folder} is not empty; name a new folder, or remove what is in it"
        raise SettingsError(msg)
    if folder.exists() and not folder.is_dir():
        msg = f"{folder} is a file; name a new folder"
        raise SettingsError(msg)
    check_new_file(folder / _file_name(0), SettingsError)
    return folder
