"""Sentences that a run may rightly end with if its workers were struck; each is counted apart.

The state goes on from there, as every case proves by the next run.
"""

import re
import signal
from dataclasses import dataclass

from .outcomes import NOBODY_THOUGHT_OF_IT


@dataclass(frozen=True)
class _Sentence:
    #: What is counted.
    name: str
    #: All of standard error.
    words: re.Pattern[str]
    #: Signals to workers of the run that it takes.
    struck: int
    #: One of them must have been one of these; empty: any.
    signals: frozenset[signal.Signals] = frozenset()


_SENTENCES = (
    # Dask counts all deaths of workers that a batch was given to, as a file may kill its readers.
    _Sentence(
        "workers of one file died 4 times",
        re.compile(r"graphtide run: the workers that were to read \S+ died 4 times; .*\n"),
        struck=4,
    ),
    # Its cluster is started twice.
    _Sentence(
        "workers did not start",
        re.compile(r"graphtide run: a worker of the cluster on this machine did not start .*\n"),
        struck=2,
    ),
    # Told to end by that, a worker of others ends with its Nanny, and has no successor.
    _Sentence(
        "no other graph worker",
        re.compile(r"graphtide run: no worker of the cluster can hold the graph .*\n"),
        struck=1,
        signals=frozenset({signal.SIGINT}),
    ),
)


def right_sentence(status: int, stderr: str, struck: int, number: signal.Signals) -> str:
    """Name of the sentence that a run ended with; "" if it is none that it may end with.

    Parameters
    ----------
    struck
        How often workers of the run were struck.
    number
        The last signal.
    """
    if status != 1 or NOBODY_THOUGHT_OF_IT in stderr:
        return ""
    for each in _SENTENCES:
        is_by_that = not each.signals or number in each.signals
        if struck >= each.struck and is_by_that and each.words.fullmatch(stderr):
            return each.name
    return ""
