"""What is read from files, mutated: JSON, states of training, histories and files of ledgers.

``python bench/fuzz.py --minutes 30`` is guided by coverage where ``atheris`` is installed, and
mutates at random where it is not. It stops with the input at the first exception that is not
documented, the first budget that is larger than its numbers say, and where one input takes longer
than 20 seconds. ``python bench/fuzz.py --input FILE`` tries one input again.
"""

import argparse
import contextlib
import faulthandler
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

with atheris.instrument_imports(include=["renyi"]) if atheris else contextlib.nullcontext():
    from renyi import (
        ApproxDP,
        Gaussian,
        GDPFilter,
        Laplace,
        Ledger,
        LedgerError,
        Mechanism,
        PLDAccountant,
        PoissonSampled,
        PrivacyFilter,
        PrivacyOdometer,
        RDPAccountant,
        RenyiFilter,
        UnsupportedMechanismError,
        ZCDPFilter,
    )
    from renyi.samplers import PoissonSampler, ShuffledSampler

DOCUMENTED = (TypeError, ValueError, LedgerError, UnsupportedMechanismError)
PROBE = Gaussian(20.0)


def readers():
    """Return what takes text, and what it makes of itself again."""
    kinds = (PrivacyFilter, GDPFilter, ZCDPFilter, RenyiFilter, PrivacyOdometer)
    return [kind.from_json for kind in (Mechanism, PLDAccountant, RDPAccountant, *kinds)]


def read(reader, content):
    """Read text, and whatever it is, again."""
    found = reader(content)
    again = reader(found.to_json())
    assert found == again
    if isinstance(found, PrivacyFilter | GDPFilter | ZCDPFilter):
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


def text_of(sampler):
    return json.dumps(sampler.state_dict(), default=np.ndarray.tolist)


def read_state(content):
    """Load a state, of which a sampler is as it was where it refuses."""
    try:
        state = json.loads(content)
    except RecursionError:  # not read by this package
        return
    for sampler in (
        PoissonSampler(100, 0.1, generator=np.random.default_rng(1)),
        ShuffledSampler(100, 10, generator=np.random.default_rng(1)),
    ):
        before = text_of(sampler)
        try:
            sampler.load_state_dict(state)
        except DOCUMENTED:
            assert text_of(sampler) == before


TARGETS = [
    *(lambda content, reader=reader: read(reader, content) for reader in readers()),
    read_lines,
    read_file,
    read_state,
]


def seeds():
    """Return one good input at least for each target."""
    nested = PoissonSampled(Gaussian(1.1), 0.01) * 30 + Laplace(2.0) + ApproxDP(0.1, 1e-9)
    zcdp, odometer = ZCDPFilter(0.5), PrivacyOdometer(1e-6)
    privacy, gdp, renyi = PrivacyFilter(1.0, 1e-6), GDPFilter(1.0, 1e-6), RenyiFilter(8.0, 0.5)
    for one in privacy, gdp, zcdp, renyi:
        one.spend(Gaussian(30.0), 2)
        one.reserve(Gaussian(40.0), 3)
    odometer.spend(Gaussian(30.0), 2)
    found = [
        nested,
        PLDAccountant().compose(nested),
        RDPAccountant().compose(Gaussian(2.0), 5),
        privacy,
        gdp,
        zcdp,
        renyi,
        odometer,
    ]
    yield from ((n, one.to_json().encode()) for n, one in enumerate(found))
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
    for sampler in (
        PoissonSampler(100, 0.1, generator=np.random.default_rng(1)),
        ShuffledSampler(100, 10, generator=np.random.default_rng(1)),
    ):
        next(iter(sampler))
        yield len(found) + 2, text_of(sampler).encode()


def one_input(data):
    """Try one input, whose first byte says what it is for."""
    if not data:
        return
    with contextlib.suppress(*DOCUMENTED):
        TARGETS[data[0] % len(TARGETS)](bytes(data[1:]))


WORDS = [
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e309",
    b'"inf"',
    b"1e-320",
    b"[]",
    b"{}",
    b'"\\ud800"',
    b"9" * 400,
    b"[" * 3000,
    b'{"type":' * 3000,
    b"1e308",
    b"0.5",
    b'"Gaussian"',
    b"\xff",
    b"\0",
]


def mutated(rng, data):
    """Change bytes, numbers, or parts of an input; of a text most often a number or a word."""
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

    seconds = int(60.0 * options.minutes)
    flags = [
        f"-max_total_time={seconds}",
        f"-timeout={SECONDS}",
        "-max_len=65536",
        f"-seed={options.seed}",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *flags, folder], one_input, custom_mutator=mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
