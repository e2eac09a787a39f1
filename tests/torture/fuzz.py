"""Settings, command lines and files of logs that nobody would write.

Whatever it is, it is taken, or refused with a sentence: no other error, no wrong graph. A Parquet
file with checksums is read as it was written or not at all. A text file has none, so what it says
counts; but it says the same in batches of any size.

Thousands of cases take a process of their own together, without a cluster, so that one that ends
the process is noticed (`case` tells which).
"""

import contextlib
import gzip
import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from graphtide.config.settings import RunSettings, default_text, settings_schema
from graphtide.flows.cli import main
from graphtide.flows.flag_settings import settings_from_options
from graphtide.gpu_core.errors import GraphtideError, SettingsError
from graphtide.io.state.checkpoint import newest_checkpoint
from graphtide.io.state.directory import StateDirectory
from graphtide.io.state.reports import read_reports
from made_state import apply_log

from .cases import Bench, Failure
from .forked import PROGRESS
from .logs import FILES, KINDS, Kind
from .outcomes import NOBODY_THOUGHT_OF_IT

#: Inputs of one call of `case`.
INPUTS = 50


def case(bench: Bench, seed: int) -> str:
    """Try `INPUTS` inputs; gives their kinds."""
    bench.begin()
    kind = KINDS["parquet"]
    bench.expected(kind)
    bench.give(kind, FILES)
    job = bench.forker.call("fuzz.try_inputs", bench.folder, first=seed * INPUTS, count=INPUTS)
    done = bench.ended(job, 120)
    if done.status:
        at = (bench.folder / "at").read_text()
        raise Failure(f"input {at}: the process ended with {done.status}, {done.stderr[-2000:]}")
    if done.stdout:
        raise Failure(done.stdout)
    return f"{INPUTS} inputs"


def try_inputs(first: int, count: int) -> None:
    """Try inputs in this process and folder; prints what went wrong."""
    for number in range(first, first + count):
        Path("at").write_text(str(number))
        draw = random.Random(number)
        name = draw.choice(sorted(_INPUTS))
        try:
            _INPUTS[name](draw)
        except Failure as failure:
            print(f"input {number} ({name}): {failure}")
        except Exception as error:
            # Of the product or of this package: neither was thought of.
            print(f"input {number} ({name}): {type(error).__name__}: {error}")


# -- settings

_KEYS = sorted(settings_schema()["properties"])
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**64, 10**400, 0.5, -0.0, float("nan"), float("inf"), "",
    "x", "60s", "8GiB", "-1s", "1e999", "auto", "\0", "ä" * 300, "a=b", "/", [], [[]], ["x", None],
    {}, {"alpha": "x"}, {"src": "src", "dst": "src"}, {1: 2}, {None: None}, "tcp://h:1", "halt",
    "all", "host", "ts", [1, 2], ["pagerank", "pagerank"], ["a=bfs"], {"tol": -1, "max_iter": 0},
)  # fmt: skip


def _try_settings(draw: random.Random) -> None:
    """As a mapping, as text that was damaged, or as assignments."""
    form = draw.randrange(3)
    options: dict[str, Any] = {}
    if form == 0:
        keys = draw.sample(_KEYS, draw.randrange(1, 4))
        values = {key: draw.choice(_VALUES) for key in keys}
        Path("c.yaml").write_text(yaml.safe_dump({"graphtide": values}, allow_unicode=True))
        options["config_file"] = "c.yaml"
    elif form == 1:
        Path("c.yaml").write_bytes(_mutated(default_text().encode(), draw))
        options["config_file"] = "c.yaml"
    else:
        names = [draw.choice([*_KEYS, "pagerank.alpha", "bfs.sources", "a.b.c", "", "="])]
        options["assignments"] = [f"{name}={_word(draw)}" for name in names]
    try:
        found = settings_from_options(options)
    except SettingsError as error:
        if not str(error).strip():
            raise Failure("refused without a word") from None
        return
    if not isinstance(found, RunSettings):
        raise Failure(f"{found!r}")


# -- command lines

_COMMANDS = (
    "status", "query", "export", "diff", "replay", "inspect", "settings", "import", "run",
    "requeue", "verify", "generate", "nothing", "",
)  # fmt: skip
_WORDS = (
    "state", "log", "none", "log/0000.parquet", "state/graphtide.json", "out.csv", "e.parquet", ".",
    "--at", "--from", "--to", "--edges", "--vertices", "--json", "--state", "--undirected", "--ids",
    "--records", "--engine", "--layout", "--columns", "--output", "--set", "--config", "--help",
    "--batch-rows", "--order-by", "--order-within", "--debug=1", "--version", "-h", "--", "-",
    "neighbors 5", "degree 9", "path 1 2", "path 5", "edge 1 2", "top pagerank", "top pagerank 3",
    "host", "chain", "simple", "semantic", "ts", "5m", "dense", "src,dst", "a=b",
    "pagerank.alpha=2",
)  # fmt: skip


def _try_words(draw: random.Random) -> None:
    command = draw.choice(_COMMANDS)
    words = [command, *(_word(draw) for _ in range(draw.randrange(5)))]
    if command == "run":
        # It ends before it would need a cluster.
        words = [*words, "none", "--scheduler", "127.0.0.1:1"]
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as ended:
            status = ended.code
    said = PROGRESS.sub("", err.getvalue())
    if status not in (0, 1, 2):
        raise Failure(f"{words}: status {status}, {said!r}")
    is_help = command == "generate" and said.startswith("Usage:")
    bad = status != 0 and (said.count("\n") != 1 or not said.startswith("graphtide"))
    if (bad and not is_help) or "Traceback" in said or NOBODY_THOUGHT_OF_IT in said:
        raise Failure(f"{words}: status {status}, {said!r}")


def _word(draw: random.Random) -> str:
    if draw.random() < 0.7:
        return draw.choice(_WORDS)
    return str(draw.choice(_VALUES)).replace("\0", "")[:200]


# -- files of a log


def _try_parquet(draw: random.Random) -> None:
    kind = KINDS[draw.choice(["parquet", "semantic"])]
    log, path = _log_of(kind, draw)
    expected = _hash_of(kind, log)
    left_out = _rows_left_out()
    path.write_bytes(_mutated(path.read_bytes(), draw))
    found = _hash_of(kind, log)
    # Of a batch whose pages are damaged all rows may be left out, and the state tells so.
    if found not in (expected, None) and _rows_left_out() == left_out:
        raise Failure(f"{path} of {kind.name}: another graph")


def _try_table(draw: random.Random) -> None:
    """Whole files of odd columns, by another writer."""
    log = _empty("log")
    names = draw.choices(["op", "src", "dst", "weight", "ts", "type", "é", ""], k=4)
    arrays = [_array(draw, 20) for _ in names]
    with contextlib.suppress(pa.ArrowNotImplementedError):
        pq.write_table(pa.Table.from_arrays(arrays, names), log / "0.parquet")
    if not list(log.iterdir()) or (log / "0.parquet").stat().st_size == 0:
        return
    for name in ("parquet", "semantic"):
        _hash_of(KINDS[name], log)


def _array(draw: random.Random, rows: int) -> pa.Array:
    integers = [draw.choice([None, 0, 1, -1, 5, 2**31, 2**63 - 1, -(2**63)]) for _ in range(rows)]
    small = [draw.choice([None, 0, 1, 2]) for _ in range(rows)]
    makers: list[Callable[[], pa.Array]] = [
        lambda: pa.array(integers, pa.int64()),
        lambda: pa.array(small, pa.int8()),
        lambda: pa.array(small, pa.uint64()),
        lambda: pa.array(small, pa.float32()),
        lambda: pa.array(small, pa.timestamp("ns", "UTC")),
        lambda: pa.array(small, pa.decimal128(10, 2)),
        lambda: pa.array(small, pa.date32()),
        lambda: pa.array([draw.choice(["insert", "-", "x", None]) for _ in range(rows)]),
        lambda: pa.array([draw.choice(["1", "1", None]) for _ in range(rows)]).dictionary_encode(),
        lambda: pa.array([[1], None, [], [2]] * (rows // 4)),
        lambda: pa.nulls(rows),
        lambda: pa.array([draw.choice([True, False, None]) for _ in range(rows)]),
        lambda: pa.array([draw.choice([1.0, float("nan"), -0.5, 1e300]) for _ in range(rows)]),
    ]
    return draw.choice(makers)()


def _try_text(draw: random.Random) -> None:
    kind = KINDS[draw.choice(["csv", "json"])]
    log, path = _log_of(kind, draw)
    content = path.read_bytes()
    if kind.name == "json" and draw.random() < 0.8:
        content = gzip.compress(_mutated_lines(gzip.decompress(content), draw), 1, mtime=0)
    else:
        content = _mutated_lines(content, draw)
    path.write_bytes(content)
    # Of a batch that cannot be decoded all rows are left out, so that batches do count there.
    policy = {"bad_rows": "halt"}
    found = [_hash_of(kind, log, batch_rows=rows, **policy) for rows in (150, 1000)]
    if found[0] != found[1]:
        raise Failure(f"{path} of {kind.name}: {found} in batches of 150 and of 1000")


_INPUTS: dict[str, Callable[[random.Random], None]] = {
    "settings": _try_settings,
    "words": _try_words,
    "parquet": _try_parquet,
    "table": _try_table,
    "text": _try_text,
}

_SETTINGS: dict[str, dict[str, Any]] = {
    "parquet": {},
    "csv": {"directed": False, "records": "weighted"},
    "json": {"records": "semantic", "ids": "dense"},
    "semantic": {"directed": False, "records": "semantic", "bad_rows": "quarantine"},
}


def _hash_of(kind: Kind, log: Path, **changes: Any) -> str | None:
    """State hash of a log's graph; None where it is refused."""
    state = _empty("state")
    state.rmdir()
    settings = {"batch_rows": 150, **_SETTINGS[kind.name], **changes}
    try:
        apply_log(log, state, 100, **settings)
    except GraphtideError:
        return None
    newest = newest_checkpoint(StateDirectory(state))
    return newest.state_hash if newest else ""


def _rows_left_out() -> int:
    state = StateDirectory(Path("fuzzed/state"))
    return sum(report.quarantined for report in read_reports(state))


def _log_of(kind: Kind, draw: random.Random) -> tuple[Path, Path]:
    log = _empty("log")
    return log, kind.write(log, draw.randrange(FILES))


def _empty(name: str) -> Path:
    folder = Path("fuzzed") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _mutated(content: bytes, draw: random.Random) -> bytes:
    """Some bytes are changed, cut out, doubled, put in; near the end as likely as anywhere."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 8])):
        length = len(changed)
        if not length:
            break
        at = (
            draw.randrange(length)
            if draw.random() < 0.5
            else max(0, length - draw.randrange(1, 400))
        )
        match draw.randrange(5):
            case 0:
                changed[at] ^= 1 << draw.randrange(8)
            case 1:
                changed[at] = draw.choice([0, 10, 34, 255, 127, 44, 58])
            case 2:
                del changed[at : at + draw.choice([1, 4, 100])]
            case 3:
                changed[at:at] = changed[at : at + draw.choice([1, 8, 50])]
            case 4:
                changed[at:at] = draw.randbytes(draw.choice([1, 4, 30]))
    return bytes(changed)


def _mutated_lines(content: bytes, draw: random.Random) -> bytes:
    """Fields become others; or any bytes do."""
    if draw.random() < 0.3:
        return _mutated(content, draw)
    lines = content.split(b"\n")
    for _ in range(draw.choice([1, 2, 20])):
        at = draw.randrange(len(lines))
        line = lines[at]
        odd = draw.choice(
            [b"", b"null", b"1e5", b"-1", b'"', b"9" * 30, b"\xff", b"1.5", b"{", b"\r"]
        )
        begin = draw.randrange(len(line) + 1)
        lines[at] = line[:begin] + odd + line[begin + draw.choice([0, 1, 3]) :]
        if draw.random() < 0.2:
            lines.insert(at, draw.choice(lines))
    return b"\n".join(lines)
