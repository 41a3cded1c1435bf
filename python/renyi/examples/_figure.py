"""An empty figure for a file that is to be written, before any work is done for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["figure_for"]

FORMATS = (".png", ".svg", ".pdf")


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
