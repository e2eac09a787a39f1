"""Where ``graphtide`` begins: Ctrl-C ends it quietly from the first moment on.

Imports only what is there at once; the commands are imported when a Ctrl-C is prepared for.
"""

from .interrupts import end_at_once_until_a_command_begins


def main() -> None:
    """Entry point of ``graphtide``; ends the process with the command's exit status."""
    end_at_once_until_a_command_begins()
    from .cli import main as run_command_line

    try:
        run_command_line()
    finally:
        # CPython ends by SIGINT rather than with the exit status where the last text that was
        # evaluated, such as that of a dataclass, was cut off by Ctrl-C. This one is not.
        eval("0")
