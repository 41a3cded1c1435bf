"""Certificates: time to make and to check, size, tightness; and mutations that must be rejected.

python bench/certificates.py --runs 500 --mutations 2000 --seed 1 --workers 2

Times are of the process, not of the clock. A run is refused where no proof within 1e-9 of what is
reported was found; the reasons are counted. A mutated certificate that is accepted must claim what
the engine's lower end allows: otherwise the checker is wrong, and the exit code is 1.
"""

from __future__ import annotations

import collections
import concurrent.futures
import json
import math
import random
import statistics
import sys
import time

from renyi import PLDAccountant, RDPAccountant, check
from renyi.matrix import BandedToeplitz, MinSeparation, SquareRoot, Tree
from renyi.mechanisms import (
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MatrixMechanism,
    Mechanism,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
)

DAMAGES = ("{", "", "null", "1e999", '"0x1.8p+1"', "[[[[[[]]]]]]", "-1", "true", "NaN", '"inf"')


def random_run(rng):
    """Return mechanisms with counts, an adjacency, an accountant and a question."""
    kind = rng.choice(
        ["dpsgd"] * 6
        + ["gaussian", "finite", "laplace", "integers", "sampled", "mixed", "epoch", "matrix"]
    )
    noise = math.exp(rng.uniform(math.log(0.6), math.log(5.0)))
    rate = math.exp(rng.uniform(math.log(1e-3), math.log(0.5)))
    uses = round(math.exp(rng.uniform(0.0, math.log(100.0))))
    adjacency = rng.choice(["add_remove"] * 3 + ["zero_out"])
    if kind == "dpsgd":
        steps = round(math.exp(rng.uniform(math.log(3.0), math.log(1e5))))
        parts = [(PoissonSampled(Gaussian(noise), rate), steps)]
        if rng.random() < 0.2:
            parts.append((Gaussian(10.0 * noise), uses))
    elif kind == "gaussian":
        adjacency = rng.choice(["add_remove", "replace_one"])
        tree = adjacency == "replace_one" and rng.random() < 0.5
        parts = [
            (MatrixMechanism(Tree(uses), 20 * noise), 1) if tree else (Gaussian(5.0 * noise), uses)
        ]
    elif kind == "finite":
        pick = [RandomizedResponse(rng.uniform(0.55, 0.9)), PureDP(rng.uniform(0.05, 1.0))]
        parts = [(rng.choice([*pick, ApproxDP(rng.uniform(0.05, 1.0), 1e-9)]), uses)]
    elif kind == "laplace":
        parts = [(Laplace(2.0 * noise), min(uses, 30))]
    elif kind == "integers":
        whole = [DiscreteGaussian(3.0 * noise, rng.randint(1, 3)), DiscreteLaplace(5.0 * noise)]
        parts = [(rng.choice(whole), uses)]
    elif kind == "sampled":
        base = [Laplace(noise), RandomizedResponse(0.75), DiscreteGaussian(3.0 * noise)]
        parts = [(PoissonSampled(rng.choice(base), rate), min(uses, 30))]
    elif kind == "epoch":
        parts = [(RandomAllocation(Gaussian(noise), round(10 * uses**0.75)), 1)]
    elif kind == "matrix":
        adjacency, steps = "zero_out", 10 * uses
        strategy = rng.choice(
            [Tree(steps), SquareRoot(steps), BandedToeplitz(steps, [1.0, 0.5, 0.25])]
        )
        taking = MinSeparation(max(steps // 4, 3), 4)
        parts = [(MatrixMechanism(strategy, 10.0 * noise, taking), 1)]
    else:
        parts = [(Laplace(3.0 * noise), min(uses, 10)), (RandomizedResponse(0.6), 2)]
    accountant = rng.choice([PLDAccountant] * 3 + [RDPAccountant])
    return parts, adjacency, accountant, 10.0 ** rng.uniform(-8.0, -2.0)


def accountant_of(run):
    """Return the accountant of a run."""
    parts, adjacency, kind, _ = run
    accountant = kind(adjacency=adjacency)
    for mechanism, count in parts:
        accountant.compose(mechanism, count)
    return accountant


def nudged(text, rng, factor):
    """Return a hexadecimal double times a factor."""
    return (float.fromhex(text) * factor).hex()


def mutated(certificate, rng):
    """Return the name of a mutation and the text of a mutated certificate."""
    data = json.loads(json.dumps(certificate))
    proof, claim = rng.choice(data["proofs"]), data["claim"]
    part = rng.choice(data["composition"])
    choices = {
        "delta": lambda: claim.update(
            delta=nudged(claim["delta"], rng, 1 - 10.0 ** -rng.uniform(0.1, 6))
        ),
        "epsilon": lambda: claim.update(
            epsilon=nudged(claim["epsilon"], rng, 1 - 10.0 ** -rng.uniform(0.1, 6))
        ),
        "lower": lambda: claim.update(
            delta_lower=nudged(claim["delta"], rng, 1 + 10.0 ** -rng.uniform(0.1, 6))
        ),
        "count": lambda: part.update(count=part["count"] + rng.randint(1, 1 + part["count"])),
        "adjacency": lambda: data.update(adjacency=rng.choice(["replace_one", "nobody", 1, None])),
        "theorem": lambda: data["theorems"].__setitem__(rng.randrange(len(data["theorems"])), "T9"),
        "theorems": lambda: data["theorems"].pop(),
        "bits": lambda: data.update(bits=rng.choice([64, 80, 1, 10**9, "128", 1024.0, None])),
        "proof": lambda: data["proofs"].pop(),
        "twice": lambda: data["proofs"].append(data["proofs"][0]),
        "directions": lambda: proof.update(
            directions=rng.choice([["remove"], ["add"], ["remove", "add"], [], "remove", None])
        ),
        "reading": lambda: proof.update(
            reading=rng.choice(["line", "curve", "renyi", "", 3, ["line"]])
        ),
        "part": lambda: data["composition"].pop(),
        "schema": lambda: data.update(schema=rng.choice(["renyi-certificate-2", 1, None])),
        "noise": lambda: _mechanism_nudged(part["mechanism"], rng),
        "number": lambda: _number_nudged(proof, rng),
        "number again": lambda: _number_nudged(proof, rng),
        "swap": lambda: _swapped(proof, rng),
        "field": lambda: _field(data, rng),
        "value": lambda: _value(data, rng),
    }
    name = rng.choice([*choices, "bytes", "cut"])
    if name in choices:
        choices[name]()
        return name, json.dumps(data)
    text = json.dumps(data)
    place = rng.randrange(len(text))
    if name == "cut":
        return name, text[:place]
    return name, text[:place] + rng.choice([*DAMAGES, chr(rng.randrange(32, 127))]) + text[
        place + 1 :
    ]


def _mechanism_nudged(mechanism, rng):
    """Make a mechanism less private."""
    while isinstance(mechanism.get("mechanism"), dict) and rng.random() < 0.5:
        mechanism = mechanism["mechanism"]
    numbers = [k for k, v in mechanism.items() if isinstance(v, float | int)]
    if not numbers:
        return
    name = rng.choice(numbers)
    up = name in ("sample_rate", "epsilon", "delta", "sensitivity", "p")
    value = mechanism[name] * (1.0 + (1 if up else -1) * 10.0 ** -rng.uniform(0.05, 5.0))
    mechanism[name] = value if isinstance(mechanism[name], float) else mechanism[name] + 1


def _number_nudged(proof, rng):
    """Widen, cut or shift one number of a proof."""
    places = [proof, *(p for p in proof.get("parts", []))]
    place = rng.choice(places)
    names = [
        k
        for k, v in place.items()
        if isinstance(v, int) or (isinstance(v, str) and v[:2] in ("0x", "-0"))
    ]
    name = rng.choice(names)
    factor = rng.choice([0.0, 0.5, 0.9, 1.1, 2.0, -1.0, 1e6, 1e-6, 10.0 ** rng.uniform(-3, 3)])
    place[name] = (
        round(place[name] * factor)
        if isinstance(place[name], int)
        else nudged(place[name], rng, factor)
    )


def _swapped(proof, rng):
    """Exchange two numbers."""
    place = rng.choice([proof, *proof.get("parts", [])])
    one, other = rng.choice(list(place)), rng.choice(list(place))
    place[one], place[other] = place[other], place[one]


def _container(data, rng):
    found = [data]
    while True:
        inner = [
            v
            for v in (found[-1].values() if isinstance(found[-1], dict) else found[-1])
            if isinstance(v, dict | list) and v
        ]
        if not inner or rng.random() < 0.3:
            return found[-1]
        found.append(rng.choice(inner))


def _field(data, rng):
    """Drop a field or add one."""
    place = _container(data, rng)
    if isinstance(place, list):
        place.append(rng.choice(place)) if rng.random() < 0.5 else place.pop()
    elif rng.random() < 0.5:
        place.pop(rng.choice(list(place)))
    else:
        place["more"] = 1


def _value(data, rng):
    """Put in a value of another kind."""
    place = _container(data, rng)
    key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
    place[key] = rng.choice(
        [None, True, -1, 0, 1e308, 10**30, "", "0x1.0p+1", [], {}, "x" * 1000, [[]] * 50]
    )


def violation(text, verdict):
    """Return why an accepted certificate is wrong, by the engine; None: it is true."""
    data = json.loads(text)
    exact, renyi = (kind(adjacency=data["adjacency"]) for kind in (PLDAccountant, RDPAccountant))
    accountant = exact if data["proofs"][0]["reading"] != "renyi" else renyi
    for part in data["composition"]:
        accountant.compose(Mechanism.from_dict(part["mechanism"]), part["count"])
    low, high = accountant.get_delta_bounds(verdict.epsilon)
    if accountant is renyi:  # its own lower end is that of one order
        low = 0.0
        for part in data["composition"]:
            if exact.supports(Mechanism.from_dict(part["mechanism"])):
                exact.compose(Mechanism.from_dict(part["mechanism"]), part["count"])
        low = exact.get_delta_bounds(verdict.epsilon)[0]
    if verdict.delta < low * (1.0 - 1e-15):
        return f"claims {verdict.delta}, at least {low}"
    if verdict.lower > high * (1.0 + 1e-15):
        return f"claims at least {verdict.lower}, at most {high}"
    return None


def made_and_checked(run):
    """Return the certificate and a row of what it took."""
    accountant = accountant_of(run)
    start = time.process_time()
    certificate = accountant.certificate(delta=run[3])
    made = time.process_time()
    text = json.dumps(certificate, indent=1)
    verdict = check.check_text(text)
    checked = time.process_time()
    reported = accountant.get_epsilon(run[3])
    assert verdict.epsilon == reported
    assert verdict.delta <= run[3] * (1.0 + 1e-9)
    row = {
        "make": made - start,
        "check": checked - made,
        "size": len(text),
        "over": verdict.delta / run[3] - 1.0,
        "readings": "+".join(proof["reading"] for proof in certificate["proofs"]),
    }
    return certificate, row


def outcome(run):
    """Return a certificate and its row, or why there is none."""
    try:
        return made_and_checked(run)
    except (ValueError, TypeError) as error:
        reason = str(error).split(": ")[-1]
        said = f"{type(error).__name__}: {''.join(c for c in reason if not c.isdigit())}"
        return None, {"refused": said, "run": run}


def tried(mutation):
    """Return whether a mutated certificate is accepted, why that is wrong, and how long it took."""
    _, text = mutation
    start = time.process_time()
    try:
        verdict = check.check_text(text)
    except check.Rejected:
        return False, None, time.process_time() - start
    return True, violation(text, verdict), time.process_time() - start


def main():
    """Print what certificates take, and how many mutations were accepted."""
    from harness import options_of  # not where tests load this file

    options = options_of(__doc__, runs=500, mutations=2000, seed=1, workers=1)
    rng = random.Random(options.seed)
    rows, kept, refused = [], [], collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.workers) as pool:
        runs = [random_run(rng) for _ in range(options.runs)]
        for run, (certificate, row) in zip(runs, pool.map(outcome, runs), strict=True):
            print(run if row.get("check", 0.0) > 20.0 else "", row, flush=True)
            if certificate is None:
                refused[row["refused"]] += 1
                continue
            rows.append(row)
            kept.append((row["check"], certificate))
        for name in ("make", "check", "size", "over"):
            values = sorted(row[name] for row in rows)
            middle, near = statistics.median(values), values[int(0.9 * len(values))]
            print(f"{name}: median {middle:.4g}, 90 % {near:.4g}, largest {values[-1]:.4g}")
        lower = sum(float.fromhex(made["claim"]["delta_lower"]) > 0.0 for _, made in kept)
        print(len(rows), "proved,", lower, "with a lower end", end=", ")
        print(collections.Counter(row["readings"] for row in rows), "refused", refused, flush=True)
        kept.sort(key=lambda pair: pair[0])
        quick = [certificate for taken, certificate in kept if taken < 2.0] or [kept[0][1]]
        mutations = [mutated(rng.choice(quick), rng) for _ in range(options.mutations)]
        names, accepted, wrong, longest = collections.Counter(), collections.Counter(), 0, 0.0
        found = pool.map(tried, mutations, chunksize=8)
        for (name, text), (good, fault, taken) in zip(mutations, found, strict=True):
            names[name] += 1
            if names.total() % 250 == 0:
                print(names.total(), "mutations", flush=True)
            accepted[name] += good
            longest = max(longest, taken)
            if fault is not None:
                wrong += 1
                print("WRONG", name, fault, text)
    print(f"{sum(names.values())} mutations, longest check {longest:.1f} s")
    print("accepted and true:", dict(accepted), "of", dict(names), "accepted and false:", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
