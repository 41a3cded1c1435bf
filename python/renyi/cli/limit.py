"""Limits and budgets: the exit code of their own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from renyi.cli.output import plain, round_up

__all__ = ["EXCEEDED", "within_limit"]

EXCEEDED = 3
"""Where a budget or a limit is exceeded."""


def within_limit(options: argparse.Namespace, epsilons: Sequence[float]) -> int:
    """Return 0 if ``--max-epsilon`` is kept or not given; else say so, for the exit code."""
    largest = max(epsilons)
    if options.max_epsilon is None or largest <= options.max_epsilon:
        return 0
    limit, number = plain(float(options.max_epsilon)), round_up(largest, options.digits)
    print(f"renyi epsilon: {number} is above --max-epsilon {limit}", file=sys.stderr)
    return EXCEEDED
