"""``renyi audit``: what scores of an attack prove about epsilon."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from renyi.cli import output
from renyi.cli.guarantee import emit_data
from renyi.cli.output import Column
from renyi.cli.settings import require
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def audit(options: argparse.Namespace) -> int:
    """Lower bounds of epsilon from the scores in a file."""
    require(options, "delta")
    scores, present = _read(options.file)
    confidence = float(options.confidence)
    try:
        records = [
            {"delta": float(delta), "epsilon_lower_bound": bound}
            for delta in options.delta
            for bound in [_bound(options, scores, present, float(delta), confidence)]
        ]
    except ValueError as error:
        raise UsageError(f"FILE must hold scores of both kinds: {error}") from None
    runs = "one, with canaries" if options.one_run else "many, independent"
    facts = {"runs": runs, "confidence": str(confidence)}
    if emit_data(options, records, facts):
        return 0
    columns = [
        Column("delta", "delta", output.plain),
        Column(
            "epsilon_lower_bound",
            "epsilon >",
            lambda value: output.round_down(value, options.digits) if value else "0",
        ),
    ]
    output.print_table(columns, records)
    print()
    output.print_facts(
        {
            "runs": f"{runs}: {int(present.sum())} scores with, {int((~present).sum())} without",
            "confidence": f"{confidence:g} of each bound, rounded down",
        }
    )
    return 0


def _bound(
    options: argparse.Namespace,
    scores: npt.NDArray[np.float64],
    present: npt.NDArray[np.bool_],
    delta: float,
    confidence: float,
) -> float:
    from renyi.audit import epsilon_lower_bound, one_run_epsilon_lower_bound

    if options.one_run:
        return one_run_epsilon_lower_bound(scores, present, delta, confidence=confidence)
    pair = scores[present], scores[~present]
    return epsilon_lower_bound(*pair, delta, confidence=confidence)


def _read(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the columns of a file: scores, and 0 or 1."""
    import numpy as np

    try:
        source: Any = sys.stdin if name == "-" else name
        if name.endswith(".npy"):
            table = np.load(name, allow_pickle=False)
        else:
            table = np.loadtxt(source, delimiter=",", comments="#", ndmin=2)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"FILE must be a readable CSV or NPY, got {name!r}: {error}") from None
    if table.ndim != 2 or table.shape[1] != 2 or not np.isin(table[:, 1], (0, 1)).all():
        raise UsageError(f"FILE must have two columns, a score and 0 or 1, got {name!r}")
    return table[:, 0].astype(np.float64), table[:, 1] == 1
