"""Ctrl-C at the edges of a command: while it is imported, the second time, and as it ends."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import ctrl_c_is_heard
from graphtide.flows.commands.run import stopped_cleanly
from made_state import apply_log, random_rows, write_rows

BEGIN = """
import os, signal, sys
from graphtide.flows import cli, interrupts, start
def press():
    os.kill(os.getpid(), signal.SIGINT)
def command():
    with interrupts.raised_once():
        {0}
cli.main = command
start.main()
"""

CASES = {
    "while it is imported": (
        "from graphtide.flows.interrupts import end_at_once_until_a_command_begins as begin\n"
        "import os, signal; begin(); os.kill(os.getpid(), signal.SIGINT)\nprint('went on')",
        "graphtide: stopped at once\n",
    ),
    "twice": (
        BEGIN.format(
            "\n        try: press()\n        except KeyboardInterrupt: press(); print('went on')"
        ),
        "graphtide: stopped at once\n",
    ),
    "in the midst of an eval": (
        BEGIN.format(
            "\n        try: eval('press()')\n        except KeyboardInterrupt: sys.exit(130)"
        ),
        "",
    ),
    "while an object is finalized, which ignores errors": (
        BEGIN.format(
            "\n        class Last:\n            def __del__(self): press()"
            "\n        import time"
            "\n        try: Last(); time.sleep(10)"
            "\n        except KeyboardInterrupt: sys.exit(130)"
        ),
        "",
    ),
    "while an import forgets its lock, which ignores errors": (
        BEGIN.format(
            "\n        import _frozen_importlib as machinery, time, types"
            "\n        imp, lock = machinery._imp, machinery._get_module_lock('nothing')"
            "\n        def acquire(): imp.acquire_lock(); press()"
            "\n        machinery._imp = types.SimpleNamespace("
            "acquire_lock=acquire, release_lock=imp.release_lock)"
            "\n        try:"
            "\n            try: del lock"
            "\n            finally: machinery._imp = imp"
            "\n            time.sleep(10)"
            "\n        except KeyboardInterrupt: sys.exit(130)"
        ),
        "",
    ),
    **{
        f"while a {kind} forgets an object, which ignores errors": (
            BEGIN.format(
                "\n        import time, weakref"
                "\n        class Item: pass"
                "\n        class Pressing:"
                "\n            def __bool__(self): press(); return False"
                f"\n        item = Item(); holder = weakref.{kind}({given})"
                "\n        holder._iterating = Pressing()"
                "\n        try: del item; time.sleep(10)"
                "\n        except KeyboardInterrupt: sys.exit(130)"
            ),
            "",
        )
        for kind, given in [
            ("WeakSet", "[item]"),
            ("WeakKeyDictionary", "[(item, 1)]"),
            ("WeakValueDictionary", "[(1, item)]"),
        ]
    },
    "as Python ends": (
        BEGIN.format(
            "\n        class Last:\n            def __del__(self, press=press): press()"
            "\n        sys.last = Last()\n        sys.exit(130)"
        ),
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_status_is_130_and_there_is_no_traceback(case: str) -> None:
    code, said = CASES[case]
    with ctrl_c_is_heard():
        done = subprocess.run(
            [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", said)


def test_what_is_kept_is_told(tmp_path: Path) -> None:
    write_rows(tmp_path / "log", "a.parquet", random_rows(1, 30))
    apply_log(tmp_path / "log", tmp_path / "state", 1, batch_rows=10, keep_checkpoints="all")
    for state, kept in (("state", "keeps everything up to batch 2"), ("none", "nothing is kept")):
        with (
            pytest.raises(KeyboardInterrupt, match=f"stopped; .*{kept}.*; go on"),
            stopped_cleanly(str(tmp_path / state), "go on"),
        ):
            raise KeyboardInterrupt
