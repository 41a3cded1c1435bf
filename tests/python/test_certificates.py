"""Certificates: what is reported is proved, and nothing false is accepted."""

import hashlib
import importlib.util
import json
import math
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from each import slow

from renyi import PLDAccountant, RDPAccountant, UnsupportedMechanismError, check
from renyi.cli import main
from renyi.ledger import Ledger
from renyi.matrix import (
    BLT,
    BandedToeplitz,
    CyclicPoisson,
    Dense,
    FixedEpochs,
    MinSeparation,
    SinglePass,
    SquareRoot,
    Tree,
)
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    MatrixMechanism,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
)

flint = pytest.importorskip("flint")
ROOT = Path(__file__).resolve().parents[2]


def loaded(path):
    """Load a script that is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCH = loaded(ROOT / "bench" / "certificates.py")
SECOND = loaded(ROOT / "tests" / "reference" / "certificate_lines.py")

STEP = PoissonSampled(Gaussian(1.0), 0.01)
EXACT = {
    "one Gaussian": ([(Gaussian(1.0), 1)], 1e-5),
    "Gaussians": ([(Gaussian(10.0), 100), (Gaussian(3.0), 2)], 1e-6),
    "one sampled Gaussian": ([(PoissonSampled(Gaussian(1.0), 0.1), 1)], 1e-5),
    "training": ([(STEP, 10_000)], 1e-6),
    "training at two rates": ([(STEP, 2000), (PoissonSampled(Gaussian(2.0), 0.1), 100)], 1e-6),
    "training and Gaussian": ([(STEP, 2000), (Gaussian(5.0), 3)], 1e-9),
    "few steps": ([(PoissonSampled(Gaussian(1.0), 0.5), 3)], 1e-6),
    "randomized response": ([(RandomizedResponse(0.75), 20)], 1e-3),
    "pure": ([(PureDP(0.1), 30)], 1e-6),
    "approximate": ([(ApproxDP(0.1, 1e-8), 30)], 1e-6),
    "Laplace": ([(Laplace(3.0), 5)], 1e-3),
    "one Laplace": ([(Laplace(3.0), 1)], 1e-3),
    "discrete Gaussian": ([(DiscreteGaussian(3.0, 2), 10)], 1e-6),
    "discrete Laplace": ([(DiscreteLaplace(3.0, 2), 30)], 1e-6),
    "sampled Laplace": ([(PoissonSampled(Laplace(1.0), 0.1), 5)], 1e-3),
    "an epoch": ([(RandomAllocation(Gaussian(2.0), 100), 1)], 1e-6),
    "epochs": ([(RandomAllocation(Gaussian(2.0), 100), 3)], 1e-6),
    "a sampled epoch": ([(PoissonSampled(RandomAllocation(Gaussian(1.0), 100), 0.5), 1)], 1e-5),
}
LONG = ("training at two rates", "training and Gaussian", "Laplace", "epochs", "a sampled epoch")
RENYI = {
    "Gaussian": ([(Gaussian(10.0), 100)], 1e-5),
    "training": ([(STEP, 10_000)], 1e-6),
    "Laplace": ([(Laplace(2.0), 10)], 1e-3),
    "sampled Laplace": ([(PoissonSampled(Laplace(1.0), 0.1), 30)], 1e-6),
    "randomized response": ([(RandomizedResponse(0.75), 20)], 1e-3),
    "sampled response": ([(PoissonSampled(RandomizedResponse(0.75), 0.1), 20)], 1e-5),
    "zCDP": ([(ZCDP(0.1), 3), (Gaussian(4.0), 1)], 1e-5),
    "sampled integers": ([(PoissonSampled(DiscreteGaussian(3.0, 2), 0.1), 10)], 1e-6),
    "discrete": ([(DiscreteGaussian(3.0), 10), (DiscreteLaplace(9.0, 2), 3)], 1e-6),
}


def account(parts, kind=PLDAccountant, adjacency="add_remove"):
    accountant = kind(adjacency=adjacency)
    for mechanism, count in parts:
        accountant.compose(mechanism, count)
    return accountant


def proved(accountant, delta):
    """Return a certificate that was accepted and proves what is reported."""
    made = accountant.certificate(delta=delta)
    verdict = check.check_text(json.dumps(made))
    assert verdict.epsilon == accountant.get_epsilon(delta)
    assert delta <= verdict.delta <= delta * (1.0 + 1e-9)
    return made, verdict


@cache
def certified(name):
    parts, delta = EXACT[name]
    return account(parts).certificate(delta=delta)


@pytest.mark.parametrize("name", [n if n not in LONG else slow(n)[0] for n in EXACT])
def test_what_is_reported_is_proved(name):
    parts, delta = EXACT[name]
    made, verdict = proved(account(parts), delta)
    lattice = len(parts) > 1 or parts[0][1] > 1
    coarse = lattice and made["proofs"][0]["reading"] == "curve"
    coarse &= "Laplace" in name or name == "epochs"
    assert delta * (0.5 if coarse else 1.0 - 1e-6) <= verdict.lower <= delta


@pytest.mark.parametrize("name", RENYI)
def test_renyi_guarantees_are_proved(name):
    parts, delta = RENYI[name]
    made, _ = proved(account(parts, RDPAccountant), delta)
    assert made["proofs"][0]["reading"] == "renyi"


@pytest.mark.parametrize("mechanism", [PureDP(0.5), RandomizedResponse(0.75), ApproxDP(0.5, 1e-9)])
@pytest.mark.parametrize("delta", [3.1e-8, 4e-8, 1e-6])
def test_near_the_largest_loss(mechanism, delta):
    made, verdict = proved(account([(mechanism, 30)]), delta)
    made["claim"]["delta"] = (verdict.delta * (1.0 - 1e-6)).hex()
    with pytest.raises(check.Rejected, match="not proved"):
        check.check_text(json.dumps(made))


def test_a_question_of_delta():
    made = account([(STEP, 1000)]).certificate(epsilon=2.0)
    reported = account([(STEP, 1000)]).get_delta(2.0)
    assert reported <= check.check_text(json.dumps(made)).delta <= reported * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("parts", "adjacency"),
    [
        ([(Gaussian(3.0), 2)], "replace_one"),
        ([(MatrixMechanism(Tree(100), 8.0), 1)], "replace_one"),
        ([(MatrixMechanism(Tree(100), 8.0), 1)], "zero_out"),
        ([(Laplace(5.0), 1)], "replace_one"),
    ],
)
def test_other_adjacencies(parts, adjacency):
    proved(account(parts, adjacency=adjacency), 1e-4)


BANDS = (1.0, 0.3, -0.6, 0.2)
MATRICES = {
    "banded": BandedToeplitz(10, BANDS),
    "falling": BandedToeplitz(10, [1.0, 0.5, 0.25]),
    "normalised": BandedToeplitz(10, [1.0, 0.5, 0.25], True),
    "root": SquareRoot(10),
    "buffers": BLT(10, [0.9, 0.2], [0.3, 0.4]),
    "rough buffers": BLT(10, [0.9, 0.2], [1.3, -0.4]),
    "one step": BLT(1, [0.9], [0.3]),
    "tree": Tree(10),
}
SCHEMES = (
    SinglePass(),
    *(FixedEpochs(period) for period in (1, 3, 5, 20)),
    *(MinSeparation(apart, most) for apart in (1, 3, 4, 7) for most in (None, 1, 2)),
)


def nodes_of_tree(steps):
    """Return the matrix of all complete nodes of a tree."""
    rows = []
    for height in range(steps.bit_length()):
        width = 2**height
        for first in range(0, steps - width + 1, width):
            rows.append([float(first <= t < first + width) for t in range(steps)])
    return np.array(rows)


def worst(matrix, scheme):
    """Return the largest move over every set of steps and signs of what is added there."""
    steps, found = matrix.shape[1], 0.0
    gram = np.abs(matrix.T @ matrix)
    signed = matrix.T @ matrix
    apart, most = {
        SinglePass: lambda: (steps, 1),
        FixedEpochs: lambda: (scheme.period, steps),
        MinSeparation: lambda: (scheme.separation, scheme.count or steps),
    }[type(scheme)]()
    for chosen in range(1, 2**steps):
        own = [t for t in range(steps) if chosen >> t & 1]
        gaps = np.diff(own)
        fixed = isinstance(scheme, FixedEpochs)
        if len(own) <= most and ((gaps % apart == 0) if fixed else (gaps >= apart)).all():
            square = signed[np.ix_(own, own)]
            assert square.sum() <= gram[np.ix_(own, own)].sum() + 1e-9
            signs = np.sign(square[0])  # of steps against the first one
            found = max(found, square.sum(), float(signs @ square @ signs))
    return found**0.5


@pytest.mark.parametrize("name", MATRICES)
def test_sensitivities_of_strategies(name):
    strategy = MATRICES[name]
    matrix = nodes_of_tree(10) if name == "tree" else strategy.matrix()
    for scheme in SCHEMES:
        try:
            mechanism = MatrixMechanism(strategy, 2.0, scheme)
        except ValueError:
            assert name == "normalised"
            continue
        written = mechanism.to_dict()
        check.SPENT[0] = 0.0
        bound = check.sensitivity(written["strategy"], written["participation"])
        assert bound >= worst(matrix, scheme) * (1.0 - 1e-12), scheme
        if name == "tree" and isinstance(scheme, MinSeparation):
            continue  # a bound, not the largest move
        assert bound <= mechanism.sensitivity, scheme
        if getattr(scheme, "count", None) != 1:  # once: the checker's is the smaller one
            assert bound >= mechanism.sensitivity * (1.0 - 1e-12), scheme


def test_no_other_matrix_is_taken():
    banded = BandedToeplitz(12, [1.0, 0.5]).to_dict()
    scheme = {"type": "matrix.SinglePass"}
    for change in ({"coefficients": [0.5]}, {"steps": 0}, {"normalised": 0}, {"type": "Tree"}):
        check.SPENT[0] = 0.0
        with pytest.raises(check.Rejected):
            check.sensitivity({**banded, **change}, scheme)


@pytest.mark.parametrize("adjacency", ["zero_out", "replace_one"])
def test_matrix_mechanisms(adjacency):
    run = MatrixMechanism(BandedToeplitz(2000, [1.0, 0.5]), 9.0, MinSeparation(500))
    tree = MatrixMechanism(Tree(100), 30.0, FixedEpochs(25))
    roots = MatrixMechanism(SquareRoot(1000), 60.0, MinSeparation(100, 4))
    made, _ = proved(account([(run, 2), (tree, 1), (Gaussian(9.0), 1)], adjacency=adjacency), 1e-5)
    assert len(made["composition"]) == 3
    made, _ = proved(account([(roots, 1)], RDPAccountant, adjacency), 1e-5)
    data = json.loads(json.dumps(made))
    data["composition"][0]["mechanism"]["participation"]["count"] = 5
    with pytest.raises(check.Rejected, match="not proved"):
        check.check_text(json.dumps(data))
    with pytest.raises(check.Rejected, match="keep their place"):
        check.check_text(json.dumps({**made, "adjacency": "add_remove"}))
    for strategy, scheme, reason in (
        (Dense(np.eye(3)), SinglePass(), "known here of 'matrix.Dense'"),
        (Tree(9, restart=3), SinglePass(), "must not restart"),
        (BandedToeplitz(9, [1.0]), CyclicPoisson(0.1, 3), "amplification"),
    ):
        one = MatrixMechanism(strategy, 5.0, scheme)
        with pytest.raises(UnsupportedMechanismError, match=reason):
            account([(one, 1)], adjacency=adjacency).certificate(delta=1e-5)


def test_what_is_not_covered_is_refused():
    with pytest.raises(
        UnsupportedMechanismError,
        match="no certificate yet, since random allocation must be of Gaussian",
    ):
        account([(RandomAllocation(Laplace(1.0), 10), 1)]).certificate(delta=1e-5)
    with pytest.raises(UnsupportedMechanismError, match="replaced"):
        account([(STEP, 3)], adjacency="replace_one").certificate(delta=1e-5)
    with pytest.raises(ValueError, match="finite epsilon and a positive delta"):
        account([(Gaussian(1.0), 1)]).certificate(delta=0.0)
    with pytest.raises(ValueError, match="epsilon at most 1e5"):
        account([(Gaussian(0.0015), 1)]).certificate(delta=1e-5)
    with pytest.raises(TypeError, match="epsilon or delta"):
        account([(Gaussian(1.0), 1)]).certificate()


@pytest.fixture(scope="module")
def certificates():
    names = (
        "training",
        "training and Gaussian",
        "few steps",
        "one Gaussian",
        "pure",
        "approximate",
        "discrete Gaussian",
    )
    return [
        *map(certified, names),
        *(
            account(RENYI[name][0], RDPAccountant).certificate(delta=RENYI[name][1])
            for name in ("training", "sampled response", "zCDP")
        ),
    ]


@pytest.mark.parametrize(("count", "seed"), [(20, 1), *slow((2000, 2))])
def test_nothing_false_is_accepted(certificates, count, seed):
    rng, accepted = random.Random(seed), 0
    for _ in range(count):
        name, text = BENCH.mutated(rng.choice(certificates), rng)
        try:
            verdict = check.check_text(text)
        except check.Rejected:
            continue
        accepted += 1
        assert BENCH.violation(text, verdict) is None, (name, text)
    assert accepted < count / 3


def test_unsafe_claims_are_rejected(certificates):
    for made in certificates:
        for name, factor in (("delta", 1 - 1e-6), ("epsilon", 1 - 1e-6)):
            data = json.loads(json.dumps(made))
            data["claim"][name] = (float.fromhex(data["claim"][name]) * factor).hex()
            with pytest.raises(check.Rejected, match="not proved"):
                check.check_text(json.dumps(data))


def test_what_a_sum_leaves_out_is_counted():
    """Sums of few nodes are too small by their tail, those of wide steps too large by aliases."""
    made = certified("training")
    low, high = (float.fromhex(made["claim"][name]) for name in ("delta_lower", "delta"))
    for wider in (1.0, 4.0):
        for nodes in (2, 13):
            for claim in ((low * (1 - 1e-6), 0.0), (1.0, high * (1 + 1e-6))):
                data = json.loads(json.dumps(made))
                line = data["proofs"][0]
                line["step"] = (wider * float.fromhex(line["step"])).hex()
                line["nodes"] = nodes
                names = ("delta", "delta_lower")
                data["claim"] |= {name: end.hex() for name, end in zip(names, claim, strict=True)}
                with pytest.raises(check.Rejected, match="not proved"):
                    check.check_text(json.dumps(data))


def changed(certificate, path, value):
    """Return the text of a certificate in which one value is another."""
    data = json.loads(json.dumps(certificate))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(data)


COUNT, CLAIM, PROOF = ("composition", 0, "count"), ("claim",), ("proofs", 0)
MECHANISM = ("composition", 0, "mechanism")
NOISE, PART = (*MECHANISM, "mechanism", "noise_multiplier"), (*PROOF, "parts", 0)
HUGE = {"mechanism": {"type": "DiscreteGaussian", "sigma": 999.0, "sensitivity": 1}, "count": 10**9}
HOSTILE = {
    "training": [
        *((COUNT, value) for value in (-1, 0, True, 1000.0, 1001, 999, "1000", None, 10**4000)),
        *((NOISE, value) for value in (0.0, -1.0, 0.999, math.inf, math.nan, None)),
        ((*MECHANISM, "sample_rate"), None),
        ((*MECHANISM, "sample_rate"), 1.0),
        ((*MECHANISM, "mechanism", "type"), "Laplace"),
        (("composition",), []),
        (("adjacency",), "replace_one"),
        (("adjacency",), ["add_remove"]),
        *(((*CLAIM, "delta"), value) for value in ("0x1.8p+0", "-0x1.0p-10", "-0x0.0p+0", "nan")),
        *(((*CLAIM, "epsilon"), value) for value in ("-0x1.0p+0", "inf", "0x1.0p+9999", 1e400)),
        *(((*CLAIM, "delta_lower"), value) for value in ("0x1.0p+0", "0x1.0p-16", "nan")),
        (("proofs",), []),
        ((*PROOF, "directions"), ["add"]),
        ((*PROOF, "directions"), ["remove", "add"]),
        ((*PROOF, "parts"), []),
        ((*PROOF, "nodes"), 2),
        *(((*PROOF, "step"), value.hex()) for value in (1e30, 1e-12, 0.0, -1.0)),
        *(((*PROOF, "tilt"), value.hex()) for value in (1e8, 1e-12, 0.0)),
        *(((*PART, name), "0x1.0p+1") for name in ("spacing", "strip", "shift")),
        ((*PART, "spacing"), (1e-9).hex()),
        (("theorems",), ["T1", "T3", "T4", "T5", "T7", "T7"]),
        (("theorems",), ["T7", "T5", "T4", "T3", "T1"]),
        # no file runs away
        (("bits",), 10**9),
        ((*PROOF, "nodes"), 10**30),
        ((*PART, "last"), 10**7),
        ((*PART, "step"), "0x1.0p-30"),
        (COUNT, 10**12),
        (NOISE, 1e-3),
    ],
    "pure": [
        ((*PROOF, "size"), 1),
        ((*PART, "points"), 10**9),
        ((*PART, "points"), 2**21),
        ((*PART, "first"), "0x1.0p+3"),
        ((*MECHANISM, "epsilon"), 0.1000001),
        (COUNT, 10**12),
    ],
    "one Gaussian": [(("adjacency",), "replace_one")],
    "discrete Gaussian": [
        *(((*MECHANISM, "sensitivity"), value) for value in (0, 3)),
        ((*MECHANISM, "sigma"), 0.01),
    ],
    "an epoch": [
        ((*PART, "inversion", "nodes"), 2),
        ((*PART, "inversion", "step"), "0x1.0p+9"),
        ((*MECHANISM, "steps"), 99),
    ],
}
LATE = slow(
    ("training", (*PROOF, "nodes"), 10**6),
    ("training", (*PROOF, "tilt"), "0x1.0p+29"),
    ("training", ("composition",), [HUGE] * 1000),
    ("an epoch", (*PART, "inversion", "nodes"), 10**6),
)


@pytest.mark.parametrize(
    ("name", "path", "value"), [*((n, *row) for n in HOSTILE for row in HOSTILE[n]), *LATE]
)
def test_hostile_numbers(name, path, value):
    with pytest.raises(check.Rejected):
        check.check_text(changed(certified(name), path, value))


def test_the_order_of_proofs_and_parts(certificates):
    made = certificates[0]
    swapped = {**made, "proofs": made["proofs"][::-1]}  # each still names its direction
    assert check.check_text(json.dumps(swapped)).delta == check.check_text(json.dumps(made)).delta
    for proofs in ([made["proofs"][0]] * 2, made["proofs"] * 2, made["proofs"][:1]):
        with pytest.raises(check.Rejected, match="each once"):
            check.check_text(json.dumps({**made, "proofs": proofs}))


def test_a_name_is_given_once(certificates):
    text = json.dumps(certificates[0])
    count = f'"count": {certificates[0]["composition"][0]["count"]}'
    twice = text.replace(count, f'"count": 1, {count}')
    assert twice != text
    with pytest.raises(check.Rejected, match="must be given once"):
        check.check_text(twice)


def test_a_weak_claim_is_true(certificates):
    weak = {"epsilon": "0x0.0p+0", "delta": "0x1.0p+0", "delta_lower": "0x0.0p+0"}
    made = account([(Gaussian(1.0), 1)]).certificate(epsilon=0.0)
    assert check.check_text(json.dumps({**made, "claim": weak})).delta == 1.0


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", "[" * 10**5, '{"schema": NaN}', "1e999", '{"a": 1, "a": 1}', b"\xff"],
)
def test_what_is_no_certificate_is_rejected(text):
    with pytest.raises(check.Rejected):
        check.check_text(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "must be JSON"), ("[]", "no certificate"), (Gaussian(1.0).to_json(), "no field schema")],
)
def test_a_file_of_another_kind_is_told(text, words):
    with pytest.raises(check.Rejected, match=words):
        check.check_text(text)


def test_what_cannot_be_read_is_bad_input(tmp_path, capsys):
    assert main(["check", str(tmp_path)]) == 2
    assert "FILE must be readable, got" in capsys.readouterr().err


@pytest.mark.parametrize("part", [1e-6, *slow(-1e-6)])
@pytest.mark.parametrize("name", ["training", *slow("training and Gaussian", "few steps")])
def test_a_second_checker_accepts_the_same_files(name, part):
    assert SECOND.accepts(json.dumps(certified(name)), 1.0 + part) == (part > 0.0)


def test_the_published_schema(certificates):
    schema = json.loads((ROOT / "python/renyi/report/schemas/certificate-1.json").read_text())
    assert schema["properties"]["schema"]["const"] == check.SCHEMA
    for made in certificates:
        assert set(made) == set(schema["properties"])
        for proof in made["proofs"]:
            assert set(proof) == set(schema["$defs"][proof["reading"]]["properties"])
            assert set(proof) == {"directions", "reading", *check.READINGS[proof["reading"]][1]}


def test_a_report_states_the_hash(tmp_path, capsys):
    run, file = "--noise-multiplier 1 --sample-rate 0.01 --steps 1000", tmp_path / "run.json"
    assert main(["report", *run.split(), "--delta", "1e-5", "--certificate", str(file)]) == 0
    said = capsys.readouterr().out
    made = json.loads(file.read_text())
    plain = json.dumps(made, sort_keys=True, separators=(",", ":")).encode()
    assert f"SHA-256 {hashlib.sha256(plain).hexdigest()}" in said
    assert f"δ({float.fromhex(made['claim']['epsilon'])!r})" in said
    assert main(["check", str(file)]) == 0
    assert f"sha256 {check.digest(made)}" in capsys.readouterr().out

    page = tmp_path / "statement.html"
    written = ["--certificate", str(file), "--html", str(page)]
    assert main(["report", *run.split(), "--delta", "1e-5", *written]) == 0
    assert main(["check", str(page), str(file)]) == 0
    assert f"verified: {page}: delta(" in capsys.readouterr().out
    assert main(["check", str(page)]) == 1
    assert f"rejected: no certificate given proves the claim: {page}" in capsys.readouterr().out
    page.write_text(page.read_text().replace("is at most", "is at most 1", 1))
    assert main(["check", str(file), str(page)]) == 1


def test_a_ledger_keeps_the_hash(tmp_path, capsys):
    path, file, page = (tmp_path / name for name in ("ledger.db", "run.json", "page.md"))
    made = account([(Gaussian(20.0), 3)]).certificate(delta=1e-6)
    file.write_text(json.dumps(made))
    mechanism = tmp_path / "mechanism.json"
    mechanism.write_text(Gaussian(20.0).to_json())
    start = ["ledger", "create", str(path), "census", "--epsilon", "1", "--delta", "1e-6"]
    assert main(start) == 0
    charge = ["ledger", "charge", str(path), "census", str(mechanism), "--count", "3"]
    assert main([*charge, "--certificate", str(mechanism.with_name("none"))]) == 2
    assert main([*charge, "--certificate", str(file)]) == 0
    ledger = Ledger(path)
    assert ledger.history("census")[-1].certificate == check.digest(made)
    with pytest.raises(ValueError, match="certificate must be a SHA-256"):
        ledger.charge("census", Gaussian(20.0), certificate="abc")
    copy = Ledger(tmp_path / "copy.db")
    copy.import_lines(ledger.export_lines())
    assert copy.history("census") == ledger.history("census")
    assert ledger.verify() == copy.verify() == []
    capsys.readouterr()
    assert main(["ledger", "history", str(path), "census"]) == 0
    assert check.digest(made) in capsys.readouterr().out
    report = ["report", "--ledger", str(path), "--dataset", "census", "--markdown", str(page)]
    assert main([*report, "--certificate", str(file)]) == 0
    assert main(["check", str(file), str(page)]) == 0


def test_the_checker_stands_alone(tmp_path, capsys):
    run = "--noise-multiplier 1 --sample-rate 0.01 --steps 1000 --delta 1e-5"
    file, copy = tmp_path / "run.json", tmp_path / "check.py"
    assert main(["epsilon", *run.split(), "--certificate", str(file)]) == 0
    assert main(["check", str(file)]) == 0
    assert "verified: delta(" in capsys.readouterr().out
    copy.write_text((ROOT / "python/renyi/check.py").read_text())
    alone = [sys.executable, "-I", str(copy)]
    done = subprocess.run(
        [*alone, str(file)], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert "assumed: " in done.stdout
    file.write_text(file.read_text().replace('"count": 1000', '"count": 1001'))
    assert subprocess.run([*alone, str(file)], capture_output=True, check=False).returncode == 1
    assert main(["check", str(file)]) == 1
    assert len((ROOT / "python/renyi/check.py").read_text().splitlines()) < 810
