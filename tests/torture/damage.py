"""A file of the state or of the log is damaged, and then a run goes on with it.

The run ends as the undisturbed one, or it is refused with a sentence and leaves the state as it is,
and ends well once the file is put back. What a run does not need, such as older results, may stay
damaged where ``status`` names it. Files of the log that nothing has read yet are damaged only where
they carry checksums: in others, another digit is another log.
"""

import random
from collections.abc import Callable
from pathlib import Path

from graphtide.gpu_core.errors import GraphtideError

from .cases import Bench, Failure
from .forked import Ended
from .logs import FILES, Kind
from .outcomes import difference, files_of, outcome_of


def case(bench: Bench, seed: int) -> str:
    """Damage one file; gives what was tried."""
    draw = random.Random(seed)
    kind, applied = bench.any_kind(draw), draw.randrange(1, FILES + 1)
    bench.expected(kind)
    bench.begin()
    bench.give(kind, applied)
    place = _drawn_file(bench, kind, draw)
    is_unread = place.parent == bench.log and int(place.name[:4]) >= applied
    harmful = [name for name in DAMAGES if not is_unread or name not in OTHER_LOGS]
    name = draw.choice(harmful)
    original = place.read_bytes()
    damaged = DAMAGES[name](original, place, draw)
    if damaged is None:
        place.unlink()
    else:
        place.write_bytes(damaged)
    shown = place.relative_to(bench.folder)
    tried = f"{'log' if place.parent == bench.log else shown.parts[1]}, {name}"
    when = f"{shown} of {kind.name}, {applied} files applied: {name}"
    before = files_of(bench.state)
    asked = _status(bench, when)
    done = bench.command(*bench.words(kind))
    if done.status:
        bench.must_be_refused(done, when)
        if not is_unread and files_of(bench.state) != before:
            raise Failure(f"{when}: refused, and yet the state was changed: {done.stderr}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(original)
        bench.must_end_well(kind, when=f"{when}; mended")
        return tried
    if "Traceback" in done.stderr:
        raise Failure(f"{when}: {done.stderr[-3000:]}")
    _must_be_whole_or_told(bench, kind, place, original, (asked, done), when)
    return tried


def _must_be_whole_or_told(
    bench: Bench, kind: Kind, place: Path, original: bytes, ended: tuple[Ended, ...], when: str
) -> None:
    differs = _difference(bench, kind)
    if not differs:
        return
    flat = " ".join(f"{each.stdout} {each.stderr}" for each in (*ended, _status(bench, when)))
    flat = "".join(flat.split())
    is_reported = place.name in flat or place.parent.name in flat or "lacksreports" in flat
    if not is_reported:
        raise Failure(f"{when}: nothing is told, and yet {differs}")
    if place.parent == bench.log and "quarantine" in kind.flags:
        return  # left out, to be requeued
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(original)
    differs = _difference(bench, kind)
    if differs:
        raise Failure(f"{when}: put back, and yet {differs}")


def _difference(bench: Bench, kind: Kind) -> str:
    try:
        return difference(outcome_of(bench.state), bench.expected(kind))
    except GraphtideError as error:
        return str(error)


def _status(bench: Bench, when: str) -> Ended:
    done = bench.command("status", "state")
    if done.status:
        bench.must_be_refused(done, f"{when}; status")
    elif done.stderr:
        raise Failure(f"{when}: status says {done.stderr[-2000:]}")
    return done


def _drawn_file(bench: Bench, kind: Kind, draw: random.Random) -> Path:
    """One file; each folder of the state, and the log, is as likely as the others."""
    state = sorted(path for path in bench.state.rglob("*") if path.is_file())
    groups: dict[str, list[Path]] = {}
    for path in state:
        if path.name != "lock":
            groups.setdefault(path.relative_to(bench.state).parts[0], []).append(path)
    if kind.ending == ".parquet":
        groups["log"] = sorted(bench.log.iterdir())
    return draw.choice(groups[draw.choice(sorted(groups))])


def _bit(content: bytes, _place: Path, draw: random.Random) -> bytes:
    changed = bytearray(content)
    changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _digit(content: bytes, place: Path, draw: random.Random) -> bytes:
    digits = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return _bit(content, place, draw)
    changed = bytearray(content)
    at = draw.choice(digits)
    changed[at] = draw.choice([each for each in range(48, 58) if each != changed[at]])
    return bytes(changed)


def _zeroed(content: bytes, _place: Path, draw: random.Random) -> bytes:
    begin = draw.randrange(len(content))
    end = min(len(content), begin + draw.randrange(1, 600))
    return content[:begin] + bytes(end - begin) + content[end:]


def _cut(content: bytes, _place: Path, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content))]


def _grown(content: bytes, _place: Path, draw: random.Random) -> bytes:
    return content + draw.randbytes(draw.randrange(1, 100))


def _exchanged(_content: bytes, place: Path, draw: random.Random) -> bytes | None:
    """Another file of that kind, nearby if there is one."""
    folder = place.parent
    others = [path for path in sorted(folder.iterdir()) if path.suffix == place.suffix != ""]
    if len(others) < 2:
        others = [path for path in sorted(folder.parent.rglob("*")) if path.suffix == place.suffix]
    others = [path for path in others if path != place and path.is_file()]
    return draw.choice(others).read_bytes() if others else None


DAMAGES: dict[str, Callable[[bytes, Path, random.Random], bytes | None]] = {
    "flipped bit": _bit,
    "changed digit": _digit,
    "zeroed stretch": _zeroed,
    "cut": _cut,
    "bytes appended": _grown,
    "empty": lambda _content, _place, _draw: b"",
    "another file's content": _exchanged,
    "missing": lambda _content, _place, _draw: None,
}

#: What makes another log of one whose files were not read.
OTHER_LOGS = ("another file's content", "missing")
