"""How batches were drawn, where not by Poisson sampling: the plan, and what to say of it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from renyi._validation import LARGEST_COUNT
from renyi.cli import values
from renyi.cli.values import UsageError

if TYPE_CHECKING:
    from renyi.mechanisms import Mechanism
    from renyi.sgd import TrainingPlan

POISSON = "poisson"
SCHEMES = (POISSON, "truncated-poisson", "balls-in-bins", "fixed-size", "shuffled")
EXACT = (POISSON, "balls-in-bins")  # but where records are replaced
IN_EPOCHS = ("balls-in-bins", "shuffled")  # every record in one batch of each
DEVIATIONS = 10  # by which the limit of truncated samples exceeds the batch size, by default


def add_sampling(group: argparse._ArgumentGroup) -> None:
    """Add how batches were drawn."""
    group.add_argument(
        "--sampling",
        choices=SCHEMES,
        default=POISSON,
        metavar="NAME",
        help=f"{POISSON} (default), or with --batch-size and --dataset-size "
        f"{', '.join(SCHEMES[1:-1])} (replaced records) or {SCHEMES[-1]} (no --adjacency "
        "add_remove)",
    )
    group.add_argument(
        "--batch-limit",
        type=lambda text: int(values.number(text, values.COUNT)),
        metavar="B",
        help="with --sampling truncated-poisson: the largest batch; default: the batch size and "
        f"{DEVIATIONS} standard deviations",
    )


def scheme_of(options: argparse.Namespace) -> str:
    """Return how batches were drawn; commands without the option know Poisson samples only."""
    return getattr(options, "sampling", POISSON)


def batches_of_epoch(options: argparse.Namespace, run: Mapping[str, Any]) -> int:
    """Return in how many batches an epoch deals the records; 1 where steps stand by themselves."""
    if scheme_of(options) not in IN_EPOCHS:
        return 1
    return -(-int(run["dataset_size"]) // int(run["batch_size"]))


def check_sampling(options: argparse.Namespace) -> None:
    """Refuse a scheme without the sizes that it is defined by."""
    scheme = scheme_of(options)
    if getattr(options, "batch_limit", None) is not None and scheme != "truncated-poisson":
        raise UsageError("--batch-limit needs --sampling truncated-poisson")
    if scheme != POISSON and options.batch_size is None:
        raise UsageError(f"--sampling {scheme} needs --batch-size and --dataset-size")


def is_exact(options: argparse.Namespace) -> bool:
    """Return whether the curve is that of the worst neighbours, not one above it."""
    scheme = scheme_of(options)
    return scheme == POISSON or (scheme in EXACT and options.adjacency != "replace_one")


def plan_settings(options: argparse.Namespace, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a plan of the run takes but for its noise and its length."""
    scheme, size = scheme_of(options), run["batch_size"]
    settings = {
        "population": run["dataset_size"],
        "batch_size": size,
        "sampling": scheme.replace("-", "_"),
        "adjacency": options.adjacency,
    }
    if scheme == "truncated-poisson":
        limit = options.batch_limit or math.ceil(size + DEVIATIONS * math.sqrt(size))
        settings["batch_limit"] = min(limit, run["dataset_size"])
    return settings


def plan_of(options: argparse.Namespace, run: Mapping[str, Any]) -> TrainingPlan:
    """Return the plan of a run."""
    from renyi.sgd import TrainingPlan

    noise, steps = run["noise_multiplier"], run["steps"]
    return TrainingPlan(noise_multiplier=noise, steps=steps, **plan_settings(options, run))


def most_steps(options: argparse.Namespace, cell: Mapping[str, Any], accountant: str) -> int:
    """Return the largest number of steps that stays within a target; 0: not one."""
    from renyi.calibration import calibrate
    from renyi.sgd import TrainingPlan

    settings = plan_settings(options, cell)
    one = TrainingPlan(noise_multiplier=cell["noise_multiplier"], steps=1, **settings)

    def releases(count: int) -> Mechanism:
        return one.step_mechanism * count

    find: Callable[..., float] = calibrate
    most = 2
    target = {"target_epsilon": cell["epsilon"], "target_delta": cell["delta"]}
    method = {"accountant": accountant, "adjacency": options.adjacency}
    while True:  # from small to large: many releases take longer
        found = int(find(releases, (0, most), integer=True, **target, **method))
        if found < most or most >= LARGEST_COUNT // one.steps_per_release:
            return min(found * one.steps_per_release, LARGEST_COUNT)
        most = min(8 * most, LARGEST_COUNT // one.steps_per_release)
