"""Entry point of ``graphtide``: Ctrl-C ends it quietly from the first moment on.

Imports only what is there at once; the commands are imported when a Ctrl-C is prepared for.
"""

import gc
import os
import sys

from .interrupts import end_at_once_until_a_command_begins

#: Objects after which Python looks for garbage.
_GARBAGE_OBJECTS = 50_000

#: Seconds after which a thread that computes lets others go on: those that write results hold up
#: the scheduler, which is in this process too.
_SWITCH_SECONDS = 0.0005


def main() -> None:
    """Entry point of ``graphtide``; ends the process with the command's exit status."""
    end_at_once_until_a_command_begins()
    # NumPy's library would start a thread for each other core, which wait at work for 0.1 s and
    # more: 1.7 s of processor time on 16 cores, and no command multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.dont_write_bytecode:
        from ..pipeline.workers.forking.kept_bytecode import keep_bytecode

        keep_bytecode()
    # Modules come in their thousands, and stay: looking for garbage among them each time that 700
    # objects were made takes a fifth of the time of their import.
    gc.set_threshold(_GARBAGE_OBJECTS)
    sys.setswitchinterval(_SWITCH_SECONDS)
    from .cli import main as run_command_line

    try:
        run_command_line()
    finally:
        # The system takes all memory back at once; looking for garbage in it first takes 0.7 s.
        gc.freeze()
        # CPython ends by SIGINT rather than with the exit status where the last text that was
        # evaluated, such as that of a dataclass, was cut off by Ctrl-C. This one is not.
        eval("0")
