"""matplotlib, where it is installed: the extra ``plots``.

Not here: what is drawn with it by ``graphtide plot`` (`commands/plot.py`), on the page of
``graphtide report`` (`commands/report/plots.py`), and by studies (`study/plots.py`).
"""

from typing import Any

from ..gpu_core.errors import SettingsError


def matplotlib_for(what: str) -> Any:
    """Import matplotlib.

    Raises
    ------
    SettingsError
        It is not installed, and ``what`` needs it.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        option = f", or leave {what} out" if what.startswith("--") else ""
        msg = (
            f"{what} needs matplotlib; pip install -e '.[plots]' in the checkout of graphtide, or "
            f"pip install matplotlib{option}"
        )
        raise SettingsError(msg) from None
    return mpl


def pyplot(what: str) -> Any:
    """``matplotlib.pyplot``, which draws into files alone; ``what`` as of `matplotlib_for`."""
    matplotlib_for(what).use("agg")
    import matplotlib.pyplot as plt

    return plt


def whole_numbers(axes: Any) -> None:
    """Label the axis of batches by their numbers alone, also where there is one of them."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=7, min_n_ticks=1))
