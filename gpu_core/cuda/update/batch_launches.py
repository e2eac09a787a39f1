"""The launches of a batch, from ids to report: the compiled function that writes them all.

Out of one record of facts (`facts.py`) they are written at once into a list (`launches.py`): each
step learns on the device what the one before has found, so the host waits for none but the last.
What is launched in which case: `delta_launches.py`; then `row_launches.py` for rows on runs, and
`page_launches.py` for rows on pages.
"""

import numpy as np

from ...jit.compile import compiled
from ..device.launches import begin_after_all
from ..memory.scratch import aligned
from .deltas.delta_launches import write_deltas, write_mapping
from .facts import FACTS
from .pages.page_launches import write_pages
from .rows.row_launches import provide_long_rows, write_rows
from .steps import ALLOCATE, COMMIT, PLAN

_OF_ROWS = PLAN | ALLOCATE | COMMIT


@compiled
def write_launches(launches, words, header, steps):
    """Write the launches of some steps of a batch.

    Scratch is allocated in the same order whatever the steps are: a list that commits finds what
    another one has planned.

    Parameters
    ----------
    launches
        A list, which is cleared first.
    words
        int64[]: `FACTS`; ``call`` and ``batch`` are those of the batch, and in the mode
        ``ASSISTED`` ``mapped`` is too. The rest is filled in.
    header
        int64[]: fields of the image as they are before the batch.
    steps
        Sum of steps (`steps.py`).

    Returns
    -------
    int
        Address after the scratch that was allocated: beyond ``scratch_end`` nothing may run.
    """
    launches[0] = 0
    facts = np.frombuffer(words, FACTS)[0]
    end = write_mapping(launches, facts, header, steps, aligned(facts.call.scratch))
    end = write_deltas(launches, facts, header, steps, end)
    if steps & _OF_ROWS == 0:
        return end
    made = launches[0]
    if facts.image.page_entries[0] > 0:
        end = write_pages(launches, facts, header, steps, end)
    else:
        if steps & PLAN:
            provide_long_rows(facts, header)
        end = write_rows(launches, facts, steps, end)
    if 0 < made < launches[0]:
        # Kernels that write rows read a delta before they wait.
        begin_after_all(launches, made)
    return end
