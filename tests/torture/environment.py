"""Disks that are full, read-only or broken, and clocks that jump.

What a file system refuses is refused from one operation on (``faults.refuse``), or by the system:
files may not become larger than so many bytes, the state is mounted read-only. The command must end
with one sentence, and the next one, without the fault, as the undisturbed run. A clock that jumps
must change nothing.
"""

import errno
import random
from typing import Any

from .cases import Bench, Failure
from .logs import FILES
from .outcomes import files_of

_ERRORS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)


def case(bench: Bench, seed: int) -> str:
    """Disturb one run; gives what was tried."""
    draw = random.Random(seed)
    kind, applied = bench.any_kind(draw), draw.choice([0, 2, 3])
    bench.expected(kind)
    bench.begin()
    bench.give(kind, applied)
    name = draw.choice(["refuse", "refuse", "clock", "largest", "readonly"])
    if name == "readonly" and not applied:
        name = "largest"
    fault: dict[str, Any] = {"kind": name, "paths": [str(bench.state)], "at": draw.randrange(120)}
    fault["errno"] = draw.choice(_ERRORS)
    # Standard error is a file, too, and says a sentence.
    fault["bytes"] = draw.choice([700, 1000, 1500, 2000, 5000])
    fault["seconds"] = draw.choice([-1, 1]) * draw.choice([3, 61, 3_700, 86_400 * 400])
    # Of a cluster of its own, the scheduler's clock jumps as well.
    is_own = name == "clock" and draw.random() < 0.5
    before = files_of(bench.state)
    words = bench.words(kind, scheduler="" if is_own else None)
    done = bench.command(*words, fault=fault, seconds=bench.patience + 30 * is_own)
    shown = {"refuse": errno.errorcode[fault["errno"]], "clock": f"{fault['seconds']:+} s"}
    when = f"{name} {shown.get(name, '')} at {fault['at']} of {kind.name}, {applied} files applied"
    if name == "clock" and done.status:
        raise Failure(f"{when}: status {done.status}, {done.stderr[-2000:]}")
    if done.status:
        bench.must_be_refused(done, when)
    elif done.stderr:
        raise Failure(f"{when}: {done.stderr[-2000:]}")
    if name == "readonly" and (not done.status or files_of(bench.state) != before):
        raise Failure(f"{when}: a state that is read-only was written")
    if done.status == 0:
        bench.must_be(bench.expected(kind), when)
    bench.must_end_well(kind, when=f"{when}; then without")
    name += ", own cluster" if is_own else ""
    return f"{name}, {'from nothing' if not applied else f'{applied} of {FILES} files'}"
