"""What is read from files, mutated: JSON, states of training, histories and files of ledgers.

``python bench/fuzz.py --minutes 30`` is guided by coverage where ``atheris`` is installed, and
mutates at random where it is not. It stops with the input at the first exception that is not
documented, the first budget that is larger than its numbers say, and where one input takes longer
than 20 seconds. ``python bench/fuzz.py --input FILE`` tries one input again.
"""

import argparse
import contextlib
import faulthandler
import importlib.machinery
import json
import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SECONDS = 20

try:
    import atheris
except ImportError:
    atheris = None


class SourceFinder:
    """Loads modules of an editable install from their sources: atheris sees no others."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] != "renyi":
            return None
        others = sys.meta_path[sys.meta_path.index(SourceFinder) + 1 :]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and (spec.origin or "").endswith(".py"):
            spec.loader = importlib.machinery.SourceFileLoader(name, spec.origin)
        return spec


sys.meta_path.insert(0, SourceFinder)
with atheris.instrument_imports(include=["renyi"]) if atheris else contextlib.nullcontext():
    import renyi
    from renyi import ApproxDP, Gaussian, Laplace, Ledger, LedgerError, Mechanism, filters, samplers
    from renyi._states import _RUNS
    from renyi.matrix import SquareRoot
    from renyi.noise import SecureGenerator
    from renyi.release import Release, Releases
    from renyi.sgd import DPSGD, Adam, QuantileClipNorm, Schedule, TrainingPlan

DOCUMENTED = (TypeError, ValueError, LedgerError, renyi.UnsupportedMechanismError)
PROBE = Gaussian(20.0)


def readers():
    """Return what takes text, and what it makes of itself again."""
    names = ("PrivacyFilter", "GDPFilter", "ZCDPFilter", "RenyiFilter", "PrivacyOdometer")
    kinds = [renyi.PLDAccountant, renyi.RDPAccountant, *(getattr(filters, one) for one in names)]
    return [kind.from_json for kind in (Mechanism, *kinds, Release)]


def read(reader, content):
    """Read text, and whatever it is, again."""
    found = reader(content)
    again = reader(found.to_json())
    assert found == again
    if isinstance(found, Release):
        with must_work():
            assert str(found).isprintable()
            if found.standard_deviation is not None:
                found.interval(0.9)
    if isinstance(found, filters.PrivacyFilter | filters.GDPFilter | filters.ZCDPFilter):
        arguments = {
            name: getattr(found, name)
            for name in ("epsilon", "delta", "rho", "order")
            if hasattr(found, name)
        }
        fresh = type(found)(**arguments, adjacency=found.adjacency)
        if fresh.fits(PROBE, 1):
            most = fresh.count_that_fits(PROBE, 10**5)
            assert found.count_that_fits(PROBE, 10**5) <= most, "a larger budget"


def check_ledger(ledger):
    """Ask all there is to ask; no budget is larger than the status says."""
    ledger.verify()
    for name in ledger.datasets:
        status = ledger.status(name)
        ledger.history(name)
        with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/new.db") as other:
            other.create(
                "new", **status.budget, accountant=status.accountant, adjacency=status.adjacency
            )
            most = other.count_that_fits("new", PROBE, 10**5)
            fits = ledger.count_that_fits(name, PROBE, 10**5)
            assert fits <= most, "a larger budget"
        ledger.charge(name, PROBE, min(fits, 1))
    list(ledger.export_lines())


def read_lines(content):
    with tempfile.TemporaryDirectory() as folder, Ledger(f"{folder}/x.db") as ledger:
        ledger.import_lines(content.decode("utf-8").splitlines())
        assert ledger.verify() == []
        check_ledger(ledger)


def read_file(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        path.write_bytes(content)
        with Ledger(path, timeout=0.1) as ledger:
            check_ledger(ledger)


def text_of(one):
    """Return all of a state as JSON."""
    return json.dumps(plain(one.state_dict(secrets=True)))


def plain(value):
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value]}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


DTYPES = {name: np.dtype(name) for name in ("float32", "float64", "int64", "object")}


def rich(value):
    """Undo `plain`, where it can be undone."""
    if value.keys() == {"array", "dtype"}:
        with contextlib.suppress(KeyError, TypeError, ValueError, OverflowError):
            return np.array(value["array"], DTYPES[value["dtype"]])
    if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
        return tuple(value["tuple"])
    return value


def source(seed=1):
    return SecureGenerator(insecure_reproducible=seed)


def drawing():
    yield samplers.PoissonSampler(100, 0.1, generator=source())
    yield samplers.PoissonSampler(100, 0.1, batch_limit=12, generator=source())
    yield samplers.FixedSizeSampler(100, 10, generator=source())
    yield samplers.ShuffledSampler(100, 10, generator=source())
    yield samplers.BallsInBinsSampler(100, 4, generator=source())
    yield samplers.BallsInBinsSampler(100, 4)  # whose bins go on in one place only
    yield samplers.PoissonSampler(100, 0.2, cycle_length=4, generator=source())
    yield samplers.FixedOrderSampler(100, 10)


KINDS = 6


def optimizer_of(kind):
    """Return an optimiser and its sampler; all but the last have the generators of tests."""
    falling = Schedule((1, 4, 6), (2.0, 1.0, 0.5))
    order = {"sampling": "fixed_order", "strategy": SquareRoot(9), "population": 45}
    settings: dict = (
        {},
        {"noise_schedule": falling},
        {"sampling": "balls_in_bins"},
        {"sampling": "shuffled", "adjacency": "replace_one"},
        {**order, "adjacency": "zero_out"},
        {},
    )[kind]
    given = {"population": 20, "batch_size": 5, "noise_multiplier": 2.0, "steps": 9}
    plan = TrainingPlan(**{**given, **settings})
    own, drawing = (None, None) if kind == 5 else (source(2), source(1))
    norm = QuantileClipNorm(1.0, expected_batch_size=5, count_noise=5.0) if kind == 0 else None
    sampler = plan.sampler(generator=drawing)
    arrays = [np.zeros(2), np.zeros(1)]
    rule = Adam(0.1)
    return DPSGD(arrays, plan, rule, clip_norm=norm, sampler=sampler, generator=own), sampler


def take_step(optimizer, sampler):
    rows = len(sampler.sample())
    optimizer.step([np.ones((rows, 2)), np.ones((rows, 1))])


@contextlib.contextmanager
def must_work():
    """Errors that are documented are findings too where a state has been taken."""
    try:
        yield
    except DOCUMENTED as error:
        raise AssertionError("an error of what a state was loaded into") from error


def state_in(content):
    _RUNS.clear()  # in another process each state would be loaded for the first time
    try:
        return json.loads(content, object_hook=rich)
    except RecursionError:  # not read by this package
        return None


def read_state(content):
    """Load a state, which leaves all as it was where it is refused."""
    state = state_in(content)
    for sampler in drawing():
        before = text_of(sampler)
        try:
            sampler.load_state_dict(state)
        except DOCUMENTED:
            assert text_of(sampler) == before, "a refused state"
            continue
        with must_work():
            assert sampler.drawn == state["drawn"]
            sampler.sample()


def read_training(content):
    """Load a state of training: what it says is recorded, and no step is free.

    The first byte says into which optimiser, and whether as a branch.
    """
    if not content:
        return
    state = state_in(content[1:])
    with must_work():
        optimizer, sampler = optimizer_of(content[0] // 2 % KINDS)
        before = text_of(optimizer), optimizer.accountant.to_json()
    try:
        optimizer.load_state_dict(state, branch=bool(content[0] % 2))
    except DOCUMENTED:
        assert (text_of(optimizer), optimizer.accountant.to_json()) == before, "a refused state"
        return
    with must_work():
        saved = optimizer.state_dict()
        for name in ("steps", "releases", "interrupted"):
            assert saved[name] == state[name]
        assert recorded_in(optimizer) == saved["releases"]
        check_paid(optimizer)
        with contextlib.suppress(RuntimeError):  # past the end, or ahead of the batches
            take_step(optimizer, sampler)
        check_paid(optimizer)


def check_paid(optimizer):
    begun = optimizer.steps + optimizer.state_dict()["interrupted"]
    due = -(-begun // optimizer.plan.steps_per_release)
    assert recorded_in(optimizer) >= due, "a step that is free"


def recorded_in(optimizer):
    return sum(count for _, count in optimizer.accountant.mechanisms)


TARGETS = [
    *(lambda content, reader=reader: read(reader, content) for reader in readers()),
    read_lines,
    read_file,
    read_state,
    read_training,
]


def seeds():
    """Return one good input at least for each target."""
    nested = renyi.PoissonSampled(Gaussian(1.1), 0.01) * 30 + Laplace(2.0) + ApproxDP(0.1, 1e-9)
    zcdp, odometer = filters.ZCDPFilter(0.5), filters.PrivacyOdometer(1e-6)
    privacy, gdp = filters.PrivacyFilter(1.0, 1e-6), filters.GDPFilter(1.0, 1e-6)
    one_order = filters.RenyiFilter(8.0, 0.5)
    for one in privacy, gdp, zcdp, one_order:
        one.spend(Gaussian(30.0), 2)
        one.reserve(Gaussian(40.0), 3)
    odometer.spend(Gaussian(30.0), 2)
    exact = renyi.PLDAccountant().compose(nested)
    found = [nested, exact, renyi.RDPAccountant().compose(Gaussian(2.0), 5)]
    found += [privacy, gdp, zcdp, one_order, odometer]
    releases = Releases(filters.ZCDPFilter(1.0), generator=source())
    found.append(releases.mean([0.5], lower=0, upper=1, epsilon=0.1, note="mean"))
    yield from ((n, one.to_json().encode()) for n, one in enumerate(found))
    for one in (
        releases.sum([0.5], lower=0, upper=1, rho=0.1),
        releases.count([True], epsilon=0.1),
        releases.histogram([1], bins=[-np.inf, 0, np.inf], rho=0.1),
        releases.noisy_max(["a"], categories=["a", "b"], epsilon=0.1),
    ):
        yield len(found) - 1, one.to_json().encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        with Ledger(path) as ledger:
            for name, numbers in {
                "a": {"rho": 0.5},
                "b": {"epsilon": 1.0, "delta": 1e-6},
                "c": {"epsilon": 1.0, "delta": 1e-6, "accountant": "gdp"},
            }.items():
                ledger.create(name, **numbers)
                for step in range(3):
                    ledger.charge(name, Gaussian(50.0), run="model", step=step)
                ledger.settle(name, ledger.reserve(name, Gaussian(50.0), 5), 2)
                ledger.reserve(name, Gaussian(60.0), 5)
            lines = list(ledger.export_lines())
        yield len(found), "\n".join(lines).encode()
        yield len(found) + 1, path.read_bytes()
    for sampler in drawing():
        sampler.sample()
        yield len(found) + 2, text_of(sampler).encode()
    for kind in range(KINDS):
        optimizer, sampler = optimizer_of(kind)
        take_step(optimizer, sampler)
        content = text_of(optimizer).encode()
        yield from ((len(found) + 3, bytes([2 * kind + branch]) + content) for branch in (0, 1))


def one_input(data):
    """Try one input, whose first byte says what it is for."""
    if not data:
        return
    with contextlib.suppress(*DOCUMENTED):
        TARGETS[data[0] % len(TARGETS)](bytes(data[1:]))


WORDS = rb"""null true -1 0 1e309 "inf" 1e-320 [] {} "\ud800" 1e308 0.5 "Gaussian" """.split()
WORDS += [b"9" * 400, b"[" * 3000, b'{"type":' * 3000, b"\xff", b"\0"]
VALUES = [None, True, -1, 0, 1, 2, 3, 9, 0.5, 1e308, 1e-320, 2**63, 10**400, "", "inf", "a", [], {}]


def altered(rng, data):
    """Change entries of JSON, which remains JSON, or lines of a history."""
    start = data.index(b"{")
    lines = data[start:].splitlines()
    place = rng.randrange(len(lines))
    whole = [json.loads(lines[place])]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        node, key = whole, 0
        while isinstance(node[key], dict | list) and node[key] and rng.random() < 0.8:
            node = node[key]
            key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
        value = node[key]
        if rng.random() < 0.2 and node is not whole:
            del node[key]
        elif isinstance(value, int | float) and rng.random() < 0.5:
            node[key] = value + rng.choice((-1, 1))
        else:
            node[key] = rng.choice(VALUES)
    lines[place] = json.dumps(whole[0]).encode()
    return data[:start] + b"\n".join(lines)


def mutated(rng, data):
    """Change entries, bytes, numbers, or parts of an input; of a text a number or a word."""
    if rng.random() < 0.5:
        with contextlib.suppress(ValueError, RecursionError):  # not JSON
            return altered(rng, data)
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        place, kind = rng.randrange(1, len(data) + 1), rng.random()
        if kind < 0.3:
            data[place : place + 1] = bytes([rng.randrange(256)])
        elif kind < 0.5:
            end = place + rng.randrange(1, 40)
            del data[place:end]
        elif kind < 0.6:
            start = rng.randrange(1, len(data) + 1)
            data[place:place] = data[start : start + rng.randrange(200)]
        else:
            start = place
            while start < len(data) and data[start : start + 1] not in b'0123456789":,':
                start += 1
            end = start + 1
            while end < len(data) and data[end : end + 1] not in b':,}]"':
                end += 1
            data[start:end] = rng.choice(WORDS)
    return bytes(data)


def at_random(inputs, minutes, seed):
    """Mutate at random, and return how many inputs were tried."""
    rng, pool, tried = random.Random(seed), list(inputs), 0
    end = time.monotonic() + 60.0 * minutes
    while time.monotonic() < end:
        data = mutated(rng, rng.choice(pool))
        tried += 1
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        Path("fuzz-input").write_bytes(data)
        one_input(data)
    faulthandler.cancel_dump_traceback_later()
    Path("fuzz-input").unlink()
    return tried


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=Path)
    options = parser.parse_args()
    if options.input:
        one_input(options.input.read_bytes())
        return
    inputs = [bytes([number]) + content for number, content in seeds()]
    for data in inputs:
        TARGETS[data[0]](data[1:])  # good ones are taken
    if atheris is None:
        print(at_random(inputs, options.minutes, options.seed), "inputs, nothing found")
        return
    folder = tempfile.mkdtemp()
    for number, data in enumerate(inputs):
        (Path(folder) / str(number)).write_bytes(data)

    def mutator(data, size, seed):
        choice = random.Random(seed)
        data = data or choice.choice(inputs)
        if choice.random() < 0.5:
            return atheris.Mutate(data, size)
        return mutated(choice, data)[:size]

    flags = f"-max_total_time={int(60.0 * options.minutes)} -timeout={SECONDS} -max_len=65536"
    flags += f" -seed={options.seed} -rss_limit_mb=2048 -print_final_stats=1"
    atheris.Setup([sys.argv[0], *flags.split(), folder], one_input, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
