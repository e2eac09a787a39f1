"""The error for rows that break the rules of a batch; it lists all of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import BatchError


def refuse_masked_rows(
    name: str, values: Any, counts: npt.NDArray[np.bool_] | None, row_name: Callable[[int], str]
) -> None:
    """Refuse masked values, of which NumPy gives what is under the mask.

    ``counts``: rows of which the value means something; None: all.
    """
    if np.ma.is_masked(values):
        bad = np.ma.getmaskarray(values)
        bad = bad if counts is None else bad & counts
        if bad.any():
            cure = "give a value, or leave the row out"
            raise BadRowsError(bad, row_name, lambda _: f"{name} is masked; {cure}")


class BadRowsError(BatchError):
    """Rows that break the rules of a batch; the message is on the first one.

    It crosses process borders as that message alone, a `BatchError`.

    Parameters
    ----------
    bad
        bool[rows]: which they are.
    row_name
        How messages name a row.
    reason
        What is wrong with a row, by its position, and what to do.
    joint
        Between the two in the message.
    """

    def __init__(
        self,
        bad: npt.NDArray[np.bool_],
        row_name: Callable[[int], str],
        reason: Callable[[int], str],
        joint: str = ": ",
    ) -> None:
        first = int(bad.argmax())
        super().__init__(f"{row_name(first)}{joint}{reason(first)}")
        self.bad = bad
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return BatchError, self.args
