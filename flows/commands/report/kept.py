"""What a report says of rows and files that were left out, of checkpoints, and of damage."""

from collections import Counter
from typing import Any

from ....gpu_core.errors import StateError
from ....gpu_core.printable import amount, counted
from ....io.log.bad_rows import origin_names
from ....io.state.quarantine import Quarantine
from ..status import Status, unchecked_text
from .page import MOST_ROWS, HtmlTable, Section, more_text, written_text

#: Files of the quarantine that are read for their reasons.
_READ = 20


def left_out_section(status: Status) -> Section:
    """Rows and files in quarantine, with their reasons."""
    quarantine = Quarantine(status.state)
    waiting = {k: v for k, v in quarantine.waiting().items() if k < status.boundary}
    files = quarantine.files()
    rows = status.totals["quarantined"]
    if not (rows or files):
        return Section("Left out", ["No row and no file."])
    reasons: Counter[str] = Counter()
    warnings = []
    kept = status.state.settings().identity
    reason = origin_names({**kept["properties"], **kept["vertex_properties"]})["reason"]
    for path in list(waiting.values())[:_READ]:
        try:
            reasons.update(quarantine.read(path)[reason].to_pylist())
        except (KeyError, StateError) as error:
            warnings.append(str(error))
    texts = [
        f"{counted(rows, 'row')} against the log's contract, and so not in the graph; those of "
        f"{counted(len(waiting), 'batch')} are in {quarantine.path}, to be corrected."
    ]
    most = [(why, f"{count:,}") for why, count in reasons.most_common(MOST_ROWS)]
    listed = [(file.name, file.reason, "yes" if file.done else "no") for file in files[:MOST_ROWS]]
    tables = []
    if most:
        more = "" if len(waiting) <= _READ else f"Of the first {_READ} batches."
        tables.append(HtmlTable(most, "why", ("reason", "rows"), (1,), more))
    if listed:
        head = ("file", "why it could not be used", "in the log again, or given up")
        tables.append(HtmlTable(listed, "files", head, more=more_text(len(files), "file")))
    return Section("Left out", texts, warnings, tables=tables)


def checkpoints_section(status: Status) -> Section:
    """The newest checkpoints."""
    if not status.kept:
        return Section("Checkpoints", ["None yet."])
    newest = [*status.kept.items()][-MOST_ROWS:]
    rows = [
        (f"{batch:,}", amount(size), written_text(status.state.checkpoint(batch)))
        for batch, size in reversed(newest)
    ]
    head = ("after batch", "size", "written")
    text = "Copies of the whole graph on the disk. The next run goes on from the newest one."
    table = HtmlTable(
        rows, head=head, numbers=(0, 1), more=more_text(len(status.kept), "checkpoint")
    )
    return Section("Checkpoints", [text], tables=[table])


def damage_section(status: Status, values: dict[str, Any]) -> Section:
    """What is damaged, missing or cannot be checked."""
    texts = [] if status.damage else [
        "None. Checkpoints, the reports of all batches and the results were compared "
        "with the checksums that they were written with."
    ]  # fmt: skip
    if unchecked := values["files_without_page_checksums"]:
        texts.append(f"{unchecked_text(len(unchecked))}.")
    return Section("Damage", [*texts, *status.notes], status.damage)
