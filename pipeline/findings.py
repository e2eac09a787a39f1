"""What results come to, in few values, for those who watch a run: no file need be read for it."""

from collections.abc import Mapping
from typing import Any

from ..gpu_core.algorithms.registry import analytic_named
from .analyses import Analysis


def findings(batch_id: int, found: Mapping[str, Any], wanted: Mapping[str, Analysis]) -> Any:
    """``batch``, and ``results``: name -> ``text``, a sentence, and the values of its summary.

    Figures of the result are among these values.

    Parameters
    ----------
    batch_id
        Last batch before the results.
    found
        Name -> what the actor computed.
    wanted
        Name -> what that is.
    """
    told = {}
    for name, result in found.items():
        analytic = analytic_named(wanted[name].kind)
        summary = analytic.summary(analytic.values(result), wanted[name].parameters)
        summary = {**summary, **analytic.figures_of(result)}
        text = f"{analytic.label or name}: {analytic.text(summary)}"
        told[name] = {"text": text, **summary}
    return {"batch": batch_id, "results": told}
