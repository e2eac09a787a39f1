"""The plan of a state on disk: files of the log and how they are cut, in parts.

::

    STATE/plan/<part>.json     files planned from ``first_file`` on; parts count up from 0

A part replaces what earlier ones planned from its first file on; so a plan that has grown, or was
made anew from one of its files on, is kept by one more part, and no part is ever rewritten.

Not here: what a plan is (``io/log/plan.py``).
"""

from pathlib import Path

from ...gpu_core.errors import StateError
from ..hashed_json import write_json
from ..log.plan import BatchPlan, PlannedFile
from .batch_names import padded_id
from .directory import StateDirectory, damaged_text, read_state_json


def read_plan(state: StateDirectory) -> BatchPlan:
    """Read the plan; an empty one where nothing is planned.

    Raises
    ------
    StateError
        A part is missing or damaged.
    """
    files: tuple[PlannedFile, ...] = ()
    parts = _parts(state)
    must_have_hash = bool(parts) and state.must_have_hashes
    for number, part in enumerate(parts):
        if part.stem != padded_id(number):
            msg = (
                f"part {padded_id(number)}.json of the plan in {state.path} is missing; restore "
                f"it, or start over with another --state"
            )
            raise StateError(msg)
        read = read_state_json(part, must_have_hash=must_have_hash)
        first, added = read.get("first_file"), read.get("files")
        if not isinstance(added, list):
            raise StateError(damaged_text(part, "it lists no files"))
        if type(first) is not int or not 0 <= first <= len(files):
            raise StateError(damaged_text(part, f"its first_file is {first!r}"))
        files = (*files[:first], *BatchPlan.from_json(added, str(part)).files)
    return BatchPlan(files)


def write_plan(state: StateDirectory, plan: BatchPlan, before: BatchPlan | None = None) -> None:
    """Keep a plan: what differs from the plan that is kept, as one more part.

    ``before``: that plan, where the caller has it.
    """
    kept = (read_plan(state) if before is None else before).files
    same = 0
    while same < min(len(kept), len(plan.files)) and kept[same] == plan.files[same]:
        same += 1
    if same < max(len(kept), len(plan.files)):
        part = state.path / "plan" / f"{padded_id(len(_parts(state)))}.json"
        write_json(part, {"first_file": same, "files": plan.to_json(same)})


def _parts(state: StateDirectory) -> list[Path]:
    return sorted(state.path.glob("plan/*.json"))
