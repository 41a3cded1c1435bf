"""renyi account, shuffle and report: guarantees of described mechanisms, and reports."""

from __future__ import annotations

import argparse
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from renyi._rounding import round_down, round_up
from renyi.cli import guarantee, output, runs
from renyi.cli.options import ACCOUNTANTS, POISSON, RANDOMIZERS, UsageError, as_options
from renyi.cli.output import Column

if TYPE_CHECKING:
    from renyi.ledger import Ledger
    from renyi.mechanisms import Mechanism, Shuffled
    from renyi.report import Report


def account(options: argparse.Namespace) -> int:
    """Epsilon or delta of the mechanisms in a file, by every accountant that can bound them."""
    from renyi.mechanisms.assumptions import assumptions_of

    given, wanted = runs.given_and_wanted(options, "computed")
    mechanism = read_mechanism(options.file)
    cells = [(float(value), name) for value in getattr(options, given) for name in ACCOUNTANTS]
    with output.waiting("certified bounds"):
        records = [_price(mechanism, options.adjacency, given, *cell) for cell in cells]
    if guarantee.emit_data(options, records, {"adjacency": options.adjacency}):
        return 0
    print(mechanism.describe() + "\n")
    columns = [
        Column("accountant", "accountant", _words, left=True),
        Column(given, given, output.plain),
        Column(
            wanted, wanted, lambda value: "-" if value is None else round_up(value, options.digits)
        ),
    ]
    output.print_table(columns, records)
    reasons = {_words(record["accountant"]): record["refused"] for record in records}
    refused = {name: reason for name, reason in reasons.items() if reason}
    if refused:
        output.print_facts("Not accounted", refused)
    known = [record for record in records if record["refused"] is None]
    if not known:
        return 1
    if len(cells) == len(ACCOUNTANTS):
        _print_statement(options, min(known, key=lambda record: float(record[wanted])), wanted)
    output.print_facts("Assumes", assumptions_of(mechanism, options.adjacency))
    computed = {}
    for record in known[: len(ACCOUNTANTS)]:
        low, high, at = (
            output.plain(record[key]) for key in (f"{wanted}_lower", f"{wanted}_upper", given)
        )
        computed[_words(record["accountant"])] = f"{low} <= {wanted} <= {high} at {given} = {at}"
    output.print_facts("Computed", computed)
    return 0


def _print_statement(options: argparse.Namespace, record: dict[str, Any], wanted: str) -> None:
    """Print a sentence to publish, with the smaller one of the bounds."""
    if not math.isfinite(record[wanted]):
        if record.get("delta") == 0.0:
            output.print_paragraph("No epsilon holds at delta 0: a loss has no bound.")
        return
    texts = {name: output.plain(record[name]) for name in ("epsilon", "delta")}
    texts[wanted] = round_up(record[wanted], options.digits)
    source = _words(record["accountant"])
    print()
    output.print_paragraph(
        runs.composition_statement(options.adjacency, texts["epsilon"], texts["delta"], source)
    )


def read_text(name: str, what: str) -> str:
    """Return the text of a file, or of the standard input."""
    try:
        return standard_input(what).read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{what} must be a readable text file or -, got {name!r}: {error}"
        ) from None


def standard_input(what: str) -> TextIO:
    """Return the standard input, or refuse it where the shell closed it."""
    if sys.stdin is None:
        raise UsageError(f"{what} must be a file where the standard input is closed, got '-'")
    return sys.stdin


def read_mechanism(name: str, what: str = "FILE") -> Mechanism:
    """Return the mechanism that a file describes."""
    from renyi.mechanisms import Mechanism

    text = read_text(name, what)
    try:
        return Mechanism.from_json(text)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} must hold what Mechanism.to_json writes: {error}") from None


def _price(
    mechanism: Mechanism, adjacency: Any, given: str, value: float, name: str
) -> dict[str, Any]:
    from renyi.accountants import PLDAccountant, RDPAccountant, UnsupportedMechanismError

    wanted = "epsilon" if given == "delta" else "delta"
    record: dict[str, Any] = {"accountant": name, given: value, wanted: None, "refused": None}
    record |= {f"{wanted}_lower": None, f"{wanted}_upper": None}
    kind = PLDAccountant if name == "pld" else RDPAccountant
    try:
        account = kind(adjacency=adjacency).compose(mechanism)
    except UnsupportedMechanismError as error:
        return {**record, "refused": error.reason}
    except ValueError as error:
        raise UsageError(f"FILE must hold what can be accounted for: {error}") from None
    number = getattr(account, f"get_{wanted}")(value)
    lower, upper = map(float, getattr(account, f"get_{wanted}_bounds")(value))
    return {**record, wanted: number, f"{wanted}_lower": lower, f"{wanted}_upper": upper}


def _words(accountant: str) -> str:
    return "exact curve" if accountant == "pld" else "Renyi-DP"


RUN_ONLY = ("noise_multiplier", "sample_rate", "batch_size", "steps", "epochs", "batch_limit")


def report(options: argparse.Namespace) -> int:
    """Write a report to the given files, or as Markdown to the screen."""
    if options.format is not None and (options.html or options.markdown):
        raise UsageError("--format excludes --html and --markdown: it is of what is printed")
    if options.html is not None and options.html == options.markdown:
        raise UsageError(f"--html and --markdown must be two files, got {options.html} for both")
    try:
        with output.waiting("privacy statement"):
            made = _of_ledger(options) if options.ledger is not None else _of_run(options)
    except ImportError as error:
        raise UsageError(f"--certificate: {error}") from None
    texts = {options.html: made.to_html, options.markdown: made.to_markdown}
    files = {name: text for name, text in texts.items() if name is not None}
    for name, text in files.items():  # write all before printing, whose reader may go away
        output.write_text(name, text())
    if made.certificate is not None:
        output.write_certificate(options.certificate, made.certificate)
    if not files:
        print(getattr(made, f"to_{options.format or 'markdown'}")().rstrip("\n"))
    for name in files:
        print(f"{made.headline}: {name}")
    return 0


def opened_ledger(place: str, *, read_only: bool = False) -> Ledger:
    """Return the ledger in a file, or at an address of PostgreSQL; reading never writes."""
    from renyi.ledger import Ledger, PostgresLedger

    if not place.startswith(("postgresql://", "postgres://")):
        return Ledger(place, read_only=read_only)
    alone = find_spec("psycopg") is None and find_spec("psycopg2") is not None
    try:
        return PostgresLedger(place, driver="psycopg2" if alone else "psycopg")
    except ImportError as error:
        raise UsageError(f'{error}: python -m pip install "psycopg[binary]"') from None


def _of_ledger(options: argparse.Namespace) -> Report:
    from renyi.ledger import LedgerError
    from renyi.report import dataset_report

    _refuse(options, "--ledger", ("mechanism", "count", *RUN_ONLY))
    if options.dataset is None:
        raise UsageError("--ledger needs --dataset NAME")
    delta = None if options.delta is None else runs.single(options, "delta")
    facts = _facts(options)
    try:
        with opened_ledger(options.ledger) as ledger:
            return dataset_report(
                ledger, options.dataset, delta=delta, title=options.title, **facts
            )
    except LedgerError as error:
        raise UsageError(str(error)) from None


def _of_run(options: argparse.Namespace) -> Report:
    from renyi.report import privacy_report

    runs.require(options, "delta")
    if options.mechanism is not None:
        _refuse(options, "--mechanism", RUN_ONLY)
        mechanism, count = read_mechanism(options.mechanism, "--mechanism"), options.count or 1
    else:
        if options.count is not None:
            raise UsageError("--count needs --mechanism: the uses of a run are its --steps")
        mechanism, count = runs.uses_of(options, runs.one_run(options, "a report must be of"))
    return privacy_report(
        mechanism,
        count,
        delta=runs.single(options, "delta"),
        adjacency=options.adjacency,
        title=options.title or "Privacy statement",
        dataset=options.dataset,
        **_facts(options),
    )


def _facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the facts that both kinds of reports share."""
    from renyi.report import Disclosure

    told = None
    if options.disclosure is not None:
        try:
            told = Disclosure.from_json(read_text(options.disclosure, "--disclosure"))
        except (TypeError, ValueError) as error:
            raise UsageError(f"--disclosure: {error}") from None
    size = None if options.dataset_size is None else int(runs.single(options, "dataset_size"))
    facts = {"date": options.date, "author": options.author, "queries": options.query or ()}
    return {
        **facts,
        "disclosure": told,
        "records": size,
        "certified": options.certificate is not None,
    }


def _refuse(options: argparse.Namespace, flag: str, names: tuple[str, ...]) -> None:
    given = [name for name in names if getattr(options, name) is not None]
    given += ["sampling"] if options.sampling != POISSON else []
    if given:
        raise UsageError(f"{flag} excludes --{given[0].replace('_', '-')}")


# Shuffled reports.

MOST_USERS = 10**9
MOST_LOCAL = 20.0  # the largest local epsilon of a search, and of local hashing
WITH_CHOICES = RANDOMIZERS[1:-1]
QUANTITIES = ("local_epsilon", "users", "epsilon", "delta")


def shuffle(options: argparse.Namespace) -> int:
    """Print the one of local epsilon, users, epsilon and delta that was not given."""
    from renyi.accountants import PLDAccountant

    given: dict[str, Any] = {name: getattr(options, name) for name in QUANTITIES}
    given |= {
        name: float(value) for name, value in given.items() if value is not None and name != "users"
    }
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
        mechanism = _randomizer(options, given["local_epsilon"], given["users"])
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
    _print_shuffled(options, missing[0], given, lower, mechanism)
    return 0


def _print_shuffled(
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
            return _randomizer(options, given["local_epsilon"], math.ceil(value)) * options.rounds
        return _randomizer(options, value, given["users"]) * options.rounds

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


def _randomizer(options: argparse.Namespace, epsilon: float, users: int) -> Shuffled:
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
