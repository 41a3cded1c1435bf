"""Certificates: what is reported is proved, and nothing false is accepted."""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from renyi import PLDAccountant, RDPAccountant, UnsupportedMechanismError, check
from renyi.cli import main
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    PoissonSampled,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    TreeAggregation,
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
}
RENYI = {
    "Gaussian": ([(Gaussian(10.0), 100)], 1e-5),
    "training": ([(STEP, 10_000)], 1e-6),
    "Laplace": ([(Laplace(2.0), 10)], 1e-3),
    "sampled Laplace": ([(PoissonSampled(Laplace(1.0), 0.1), 30)], 1e-6),
    "randomized response": ([(RandomizedResponse(0.75), 20)], 1e-3),
    "sampled response": ([(PoissonSampled(RandomizedResponse(0.75), 0.1), 20)], 1e-5),
    "zCDP": ([(ZCDP(0.1), 3), (Gaussian(4.0), 1)], 1e-5),
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


@pytest.mark.parametrize("name", EXACT)
def test_what_is_reported_is_proved(name):
    parts, delta = EXACT[name]
    made, verdict = proved(account(parts), delta)
    if made["proofs"][0]["reading"] == "line":
        assert delta * (1.0 - 1e-9) <= verdict.lower <= delta


@pytest.mark.parametrize("name", RENYI)
def test_renyi_guarantees_are_proved(name):
    parts, delta = RENYI[name]
    made, _ = proved(account(parts, RDPAccountant), delta)
    assert made["proofs"][0]["reading"] == "renyi"


def test_a_question_of_delta():
    made = account([(STEP, 1000)]).certificate(epsilon=2.0)
    reported = account([(STEP, 1000)]).get_delta(2.0)
    assert reported <= check.check_text(json.dumps(made)).delta <= reported * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("parts", "adjacency"),
    [
        ([(Gaussian(3.0), 2)], "replace_one"),
        ([(TreeAggregation(8.0, 100), 1)], "replace_one"),
        ([(TreeAggregation(8.0, 100), 1)], "zero_out"),
        ([(Laplace(5.0), 1)], "replace_one"),
    ],
)
def test_other_adjacencies(parts, adjacency):
    proved(account(parts, adjacency=adjacency), 1e-4)


def test_what_is_not_covered_is_refused():
    with pytest.raises(UnsupportedMechanismError, match="no certificate yet"):
        account([(RandomAllocation(Gaussian(1.0), 10), 1)]).certificate(delta=1e-5)
    with pytest.raises(UnsupportedMechanismError, match="replaced"):
        account([(STEP, 3)], adjacency="replace_one").certificate(delta=1e-5)
    with pytest.raises(ValueError, match="finite epsilon and a positive delta"):
        account([(Gaussian(1.0), 1)]).certificate(delta=0.0)
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
    made = [account(EXACT[name][0]).certificate(delta=EXACT[name][1]) for name in names]
    return [
        *made,
        *(
            account(RENYI[name][0], RDPAccountant).certificate(delta=RENYI[name][1])
            for name in ("training", "sampled response", "zCDP")
        ),
    ]


def assert_nothing_false_is_accepted(certificates, count, seed):
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


def test_mutations(certificates):
    assert_nothing_false_is_accepted(certificates, 150, 1)


@pytest.mark.slow
def test_many_mutations(certificates):
    assert_nothing_false_is_accepted(certificates, 2000, 2)


def test_unsafe_claims_are_rejected(certificates):
    for made in certificates:
        for name, factor in (("delta", 1 - 1e-6), ("epsilon", 1 - 1e-6)):
            data = json.loads(json.dumps(made))
            data["claim"][name] = (float.fromhex(data["claim"][name]) * factor).hex()
            with pytest.raises(check.Rejected, match="not proved"):
                check.check_text(json.dumps(data))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("bits",), 10**9),
        pytest.param(("proofs", 0, "nodes"), 10**6, marks=pytest.mark.slow),
        (("proofs", 0, "nodes"), 10**30),
        (("proofs", 0, "parts", 0, "last"), 10**7),
        (("proofs", 0, "parts", 0, "step"), "0x1.0p-30"),
        pytest.param(("proofs", 0, "tilt"), "0x1.0p+29", marks=pytest.mark.slow),
        (("composition", 0, "count"), 10**12),
        pytest.param(
            ("composition",),
            [
                {
                    "mechanism": {"type": "DiscreteGaussian", "sigma": 999.0, "sensitivity": 1},
                    "count": 10**9,
                }
            ]
            * 1000,
            marks=pytest.mark.slow,
        ),
        (("composition", 0, "mechanism", "mechanism", "noise_multiplier"), 1e-3),
    ],
)
def test_no_file_runs_away(certificates, path, value):
    data = json.loads(json.dumps(certificates[0]))
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(check.Rejected):
        check.check_text(json.dumps(data))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", "[" * 10**5, '{"schema": NaN}', "1e999", '{"a": 1, "a": 1}', b"\xff"],
)
def test_what_is_no_certificate_is_rejected(text):
    with pytest.raises(check.Rejected):
        check.check_text(text)


@pytest.mark.parametrize(
    "name",
    [
        "training",
        pytest.param("training and Gaussian", marks=pytest.mark.slow),
        pytest.param("few steps", marks=pytest.mark.slow),
    ],
)
def test_a_second_checker_accepts_the_same_files(name):
    parts, delta = EXACT[name]
    text = json.dumps(account(parts).certificate(delta=delta))
    assert SECOND.accepts(text, 1.0 + 1e-6)
    assert not SECOND.accepts(text, 1.0 - 1e-6)


def test_the_published_schema(certificates):
    schema = json.loads((ROOT / "python/renyi/certificate.schema.json").read_text())
    assert schema["properties"]["schema"]["const"] == check.SCHEMA
    for made in certificates:
        assert set(made) == set(schema["properties"])
        for proof in made["proofs"]:
            assert set(proof) == set(schema["$defs"][proof["reading"]]["properties"])


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
    assert len((ROOT / "python/renyi/check.py").read_text().splitlines()) < 700
