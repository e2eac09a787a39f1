"""Identity of a process: number, start time and boot, because numbers are reused."""

from contextlib import suppress
from pathlib import Path
from typing import Any


def process_identity(pid: Any) -> dict[str, Any]:
    """Identity of the process with a number: its start in ticks since the machine's, and that.

    ``start`` is empty where there is none.
    """
    start, boot = "", ""
    with suppress(OSError, IndexError, TypeError, ValueError):
        # The name in parentheses may hold anything, also half a letter.
        start = Path(f"/proc/{int(pid)}/stat").read_bytes().rsplit(b")", 1)[1].split()[19].decode()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return {"pid": pid, "start": start, "boot": boot}
