"""Number of steps of an iteration that the host launches before it reads the residual."""

import math


def steps_to(threshold: float, residual: float, previous: float, *, unknown: int) -> int:
    """Steps to the threshold if the residual goes on falling as it just did; 1: it is there.

    ``unknown`` is returned where it did not fall.
    """
    if residual <= threshold:
        return 1
    if not 0 < threshold < residual < previous:
        return unknown
    # The quotient may round to 1.
    fall = max(math.log(previous / residual), 1e-9)
    return math.ceil((math.log(residual) - math.log(threshold)) / fall)
