"""Steps that a list of launches may have: bits of one number, in the order of the launches."""

from typing import Final

#: Ids to vertex indices.
MAP: Final = 1
#: The deltas are made.
SORT: Final = 2
#: What becomes of each row, and the demand of the batch.
PLAN: Final = 4
#: Runs and pages for that demand.
ALLOCATE: Final = 8
#: Vertices that the lists put are entered, whichever are not there.
ENTER: Final = 16
#: Rows, records and free runs are written, and the report.
COMMIT: Final = 32

#: Steps of a batch that needs no help of the host; `ENTER` follows from its mode.
ALL_STEPS: Final = MAP | SORT | PLAN | ALLOCATE | COMMIT
