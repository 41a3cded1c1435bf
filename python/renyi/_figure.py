"""Figures: an empty figure for a file, made before the work for it, and readable ticks."""

from pathlib import Path
from typing import Any

FORMATS = (".png", ".svg", ".pdf")
POWERS = 300.0  # the ratio of the ends of an axis above which ticks are powers of ten


def figure_for(file: str | None, size: tuple[float, float] = (7.0, 4.2)) -> Any:
    """Return a matplotlib figure, or None without a file."""
    if file is None:
        return None
    if Path(file).suffix not in FORMATS:
        raise ValueError(f"--plot must be a file name ending in {', '.join(FORMATS)}, got {file!r}")
    if not Path(file).parent.is_dir():
        raise ValueError(f"--plot must be in a directory that exists, got {file!r}")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "--plot needs matplotlib, which is not installed: python -m pip install matplotlib"
        ) from None
    return Figure(figsize=size, layout="constrained")


def plain_ticks(*axes: Any) -> None:
    """Write the ticks of short logarithmic axes as 12, not as 1.2 x 10^1; to be called last."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    for axis in axes:
        low, high = sorted(axis.get_view_interval())
        if axis.get_scale() != "log" or high >= POWERS * low:
            continue
        few = MaxNLocator(nbins=8, steps=[1, 2, 2.5, 5, 10])
        axis.set_major_locator(few if high < 10.0 * low else LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())
