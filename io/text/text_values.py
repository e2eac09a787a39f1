"""Values of a column from their text, as a log promises them.

Arrow's CSV reader and its casts take some text for values that is none: ``0x10`` for an integer,
``tRuE`` for a truth value, and whole numbers for the floats beside them. So what one of them took
would depend on where it stands. Here all of that is refused.
"""

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: As the CSV reader has them.
_TRUTHS = ("0", "false", "False", "FALSE", "1", "true", "True", "TRUE")
#: Float -> the least whole number that it may have rounded.
_LEAST_ROUNDED = {"float32": 1 << 24, "float64": 1 << 53}
_LEAST = min(_LEAST_ROUNDED.values())
#: Digits that no float has before its point.
_MOST_DIGITS = 400
#: What every text has that is a value, or white space alone.
_GLANCES = (
    (pa.types.is_integer, r"^[ \t]*(-?[0-9]+[ \t]*)?$"),
    (pa.types.is_floating, r"^[-+0-9.,eEnNaAiIfFtTyY \t]*$"),
    (pa.types.is_timestamp, r"^[ \t]*([0-9]{4}-|$)"),
)
_WHOLE = re.compile(r"[-+]?\d+")
#: A zone as BigQuery and Snowflake write it, of which Arrow knows none.
_SPACED_ZONE = r" (UTC|[-+][0-9:]+)$"


def typed(text: Any, kind: pa.DataType, floats: str | None) -> Any:
    """A column of text as values of a type.

    Parameters
    ----------
    text
        Without white space around it; null where there is no value.
    kind
        The type.
    floats
        Name of the type of floats that a whole number has to fit into; None: of none.

    Raises
    ------
    pa.ArrowInvalid
        A text is no such value.
    """
    if _is_odd(text, kind):
        msg = f"a text is no {kind}"
        raise pa.ArrowInvalid(msg)
    if pa.types.is_timestamp(kind):
        return times_of(text, kind)
    values = text.cast(kind)
    if floats is not None and may_be_rounded(values):
        candidates = rounded(values.to_numpy(zero_copy_only=False), floats)
        for each in pc.filter(text, pa.array(candidates)).to_pylist():
            if is_rounded(each, floats):
                msg = f"{each} does not fit into {floats}"
                raise pa.ArrowInvalid(msg)
    return values


def times_of(text: Any, kind: pa.DataType) -> Any:
    """Timestamps of a type from text; ArrowInvalid where one is no such time."""
    # Not after a cast that failed, which takes Arrow a microsecond a row.
    if pc.any(pc.match_substring_regex(text, _SPACED_ZONE)).as_py():
        text = pc.replace_substring_regex(text, _SPACED_ZONE, r"\1")
        text = pc.replace_substring_regex(text, "UTC$", "Z")
    return text.cast(kind)


def odd_texts(text: Any, kind: pa.DataType) -> list[int]:
    """Find texts that are surely no values of a type, at a glance; there may be others."""
    pattern = next((each for is_kind, each in _GLANCES if is_kind(kind)), None)
    if pattern is None:
        return []
    odd = pc.invert(pc.match_substring_regex(text, pattern))
    return list(map(int, pc.indices_nonzero(pc.fill_null(odd, False)).to_pylist()))


def _is_odd(text: Any, kind: pa.DataType) -> bool:
    """Whether Arrow's casts take a text for a value, but the CSV reader or we do not."""
    if pa.types.is_integer(kind):
        return bool(pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py())
    if pa.types.is_boolean(kind):
        # An array of the module's own would have Arrow import pandas where it is installed.
        truths = pa.array(_TRUTHS)
        return not pc.all(pc.is_in(text.drop_null(), value_set=truths), min_count=0).as_py()
    return False


def may_be_rounded(values: Any) -> bool:
    """Whether any of some floats is so large that a whole number may have been rounded to it."""
    ends = pc.min_max(values)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    return low is not None and not (-_LEAST < low and high < _LEAST)


def rounded(values: npt.NDArray[Any], floats: str) -> npt.NDArray[np.bool_]:
    """Which float64s are those of texts that a type of floats may not hold, if they are whole."""
    with np.errstate(over="ignore", invalid="ignore"):
        kept = values.astype(floats).astype(values.dtype)
        is_beyond = np.abs(values) >= _LEAST_ROUNDED["float64"]
        return is_beyond | ((np.abs(values) >= _LEAST_ROUNDED[floats]) & (kept != values))


def is_rounded(text: str | None, floats: str | None) -> bool:
    """Whether a text is a whole number that a type of floats does not hold."""
    if floats is None or text is None or not _WHOLE.fullmatch(text):
        return False
    if len(text) > _MOST_DIGITS:
        return True
    with np.errstate(over="ignore"):
        kept = float(np.dtype(floats).type(float(text)))
    return not np.isfinite(kept) or int(kept) != int(text)


def unfit(text: str, kind: pa.DataType) -> str:
    """Why a whole number is none of a type of integers, as the end of a sentence."""
    # Python makes no number of thousands of digits.
    is_unsigned = kind == pa.int64() and len(text) <= _MOST_DIGITS and 0 < int(text) < 1 << 64
    cure = "ids='uint64' has room for it" if is_unsigned else "use smaller numbers"
    is_below = text.startswith("-") and pa.types.is_unsigned_integer(kind)
    return f"which does not fit {kind}; {'these are 0 or more' if is_below else cure}"
