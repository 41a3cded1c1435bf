"""``renyi shuffle``: the guarantee of local randomizers behind a shuffler."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from renyi._rounding import round_down, round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import RANDOMIZERS, UsageError, as_options

if TYPE_CHECKING:
    from renyi.mechanisms import Shuffled

MOST_USERS = 10**9
MOST_LOCAL = 20.0  # the largest local epsilon of a search, and of local hashing
WITH_CHOICES = RANDOMIZERS[1:-1]
QUANTITIES = ("local_epsilon", "users", "epsilon", "delta")


def shuffle(options: argparse.Namespace) -> int:
    """Print the one of local epsilon, users, epsilon and delta that was not given."""
    from renyi.accountants import PLDAccountant

    given: dict[str, Any] = {name: getattr(options, name) for name in QUANTITIES}
    if options.local_epsilon is not None:
        given["local_epsilon"] = float(options.local_epsilon)
    given |= {name: runs.single(options, name) for name in QUANTITIES[2:] if given[name]}
    missing = [name for name, value in given.items() if value is None]
    if len(missing) != 1:
        raise UsageError(
            "three of --local-epsilon, --users, --epsilon and --delta are needed, "
            f"got {4 - len(missing)}"
        )
    if (options.choices is not None) != (options.randomizer in WITH_CHOICES):
        raise UsageError(
            f"--choices must be given with --randomizer {', '.join(WITH_CHOICES)} and no other, "
            f"got {options.randomizer}"
        )
    with output.waiting("certified bounds"):
        if missing[0] in ("local_epsilon", "users"):
            given[missing[0]] = _calibrated(options, given)
        mechanism = _mechanism(options, given["local_epsilon"], given["users"])
        accountant = PLDAccountant(adjacency="replace_one").compose(mechanism, options.rounds)
        if missing == ["delta"]:
            lower, upper = accountant.get_delta_bounds(given["epsilon"])
            given["delta"] = upper
        else:
            lower, upper = accountant.get_epsilon_bounds(given["delta"])
            given["epsilon"] = upper
    record = {**given, "rounds": options.rounds, "randomizer": options.randomizer, "lower": lower}
    if guarantee.emit_data(
        options, [record], {"adjacency": "replace_one", "sampling": mechanism.assumption}
    ):
        return 0
    _print(options, missing[0], given, lower, mechanism)
    return 0


def _print(
    options: argparse.Namespace,
    wanted: str,
    given: dict[str, Any],
    lower: float,
    mechanism: Shuffled,
) -> None:
    texts = {name: output.plain(given[name]) for name in QUANTITIES}
    computed = "delta" if wanted == "delta" else "epsilon"
    texts[computed] = round_up(given[computed], options.digits)
    if wanted in ("local_epsilon", "users"):
        word = "local epsilon" if wanted == "local_epsilon" else "users"
        reached = f"epsilon = {texts['epsilon']} at delta = {texts['delta']}"
        print(f"{word} = {texts[wanted]}: {reached}")
    else:
        other = "delta" if wanted == "epsilon" else "epsilon"
        print(f"{wanted} = {texts[wanted]} at {other} = {texts[other]}")
    print()
    print((mechanism * options.rounds).describe())
    print()
    output.print_paragraph(
        runs.composition_statement("replace_one", texts["epsilon"], texts["delta"], "exact curve")
    )
    least = f"{computed} >= {round_down(lower, options.digits)}"
    output.print_facts(
        "Assumes",
        {
            "reports": mechanism.assumption.partition(": ")[2],
            "attack": f"all other users hold one value: {least}",
        },
    )


def _calibrated(options: argparse.Namespace, given: dict[str, Any]) -> float | int:
    """Return the largest local epsilon or the smallest number of users."""
    from renyi.calibration import calibrate

    def make(value: float) -> Any:
        if given["users"] is None:
            return _mechanism(options, given["local_epsilon"], math.ceil(value)) * options.rounds
        return _mechanism(options, value, given["users"]) * options.rounds

    ends = (1.0, float(MOST_USERS)) if given["users"] is None else (1e-6, MOST_LOCAL)
    try:
        found = calibrate(
            make,
            ends,
            target_epsilon=given["epsilon"],
            target_delta=given["delta"],
            adjacency="replace_one",
        )
    except ValueError as error:
        what = "as many --users as are" if given["users"] is None else "a --local-epsilon"
        raise UsageError(as_options(str(error)).replace("a value", what)) from None
    if given["users"] is None:
        return math.ceil(found)
    return float(round_down(found, options.digits))


def _mechanism(options: argparse.Namespace, epsilon: float, users: int) -> Shuffled:
    from renyi import mechanisms as known

    choices = options.choices
    if options.randomizer == "olh" and epsilon > MOST_LOCAL:  # it hashes to about e^epsilon values
        raise UsageError(f"--local-epsilon must be at most {MOST_LOCAL:g} with --randomizer olh")
    if options.randomizer == "any":
        return known.Shuffled(known.PureDP(epsilon), users)
    if options.randomizer == "laplace":
        return known.Shuffled(known.LaplaceResponse(epsilon), users)
    likely = math.exp(epsilon)
    made: dict[str, Any] = {
        "randomized-response": lambda: known.RandomizedResponse(
            likely / (likely + choices - 1.0), choices
        ),
        "hadamard": lambda: known.HadamardResponse(epsilon, choices),
        "rappor": lambda: known.UnaryEncoding(epsilon, choices),
        "oue": lambda: known.UnaryEncoding(epsilon, choices, True),
        "olh": lambda: known.LocalHashing(epsilon, choices, round(likely) + 1),
        "subset": lambda: known.SubsetSelection(
            epsilon, choices, min(max(round(choices / (likely + 1.0)), 1), choices - 1)
        ),
    }
    return known.Shuffled(made[options.randomizer](), users)
