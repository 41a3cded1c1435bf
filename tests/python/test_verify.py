"""The cross-check of the engine: it passes where the engine is right and fails where it is not."""

from __future__ import annotations

import json
import math

import pytest
from each import each, slow

from renyi import reference, special
from renyi.cli import main
from renyi.verify import random_points, verify_curves, verify_point


@pytest.mark.parametrize(
    "point",
    [
        *slow(((0.01, 1.0, 32.0),), ((0.004, 1.1, 8.5),)),
        (0.01, 1.0, 2.0),
        (1e-6, 4.0, 8.0),
        (0.5, 1.0, 2.5),
        (1.0, 2.0, 7.0),
        (0.9, 2.0, 1.0),
        (1e-12, 1e6, 1.0 + 1e-8),
    ],
)
def test_every_route_agrees(point):
    result = verify_point(*point)
    assert result.ok
    for route in result.routes:
        if route.applies:
            assert route.ok
            assert route.digits > 11.0
            assert route.lower <= route.value <= route.upper


def test_where_routes_apply():
    routes = {route.name: route for route in verify_point(0.01, 1.0, 8.5).routes}
    assert list(routes) == ["engine", "binomial", "series", "quadrature", "rdp"]
    assert not routes["binomial"].applies
    assert routes["binomial"].ok
    assert math.isnan(routes["binomial"].digits)
    assert all(routes[name].applies for name in ("engine", "series", "quadrature", "rdp"))
    assert all(route.applies for route in verify_point(0.01, 1.0, 8.0).routes)


@pytest.mark.parametrize(
    "broken", ["log_a_lower", "log_a_quadrature_upper", *slow("rdp_sampled_gaussian")]
)
def test_a_wrong_route_is_caught(monkeypatch, capsys, broken):
    right = getattr(special, broken)
    factor = 0.999 if broken.endswith("upper") else 1.001
    monkeypatch.setattr(special, broken, lambda *point: factor * right(*point))
    result = verify_point(0.01, 1.0, 8.5)
    assert not result.ok
    assert sum(not route.ok for route in result.routes) == 1
    assert (
        main(["verify", "--sample-rate", "0.01", "--noise-multiplier", "1", "--order", "8.5"]) == 1
    )
    assert "violation" in capsys.readouterr().out


def test_a_missing_answer_is_a_violation(monkeypatch):
    monkeypatch.setattr(special, "log_a", lambda *point: math.nan)
    routes = {route.name: route for route in verify_point(0.01, 1.0, 8.5).routes}
    assert not routes["engine"].ok
    assert routes["binomial"].ok


@each(
    "check, point, more, message",
    [
        (verify_point, (-0.1, 1.0, 2.0), {}, "sample_rate must be .*, got"),
        (verify_point, (math.nan, 1.0, 2.0), {}, "sample_rate must be .*, got"),
        (verify_point, (0.1, 0.0, 2.0), {}, "noise_multiplier must be .*, got"),
        (verify_point, (0.1, 1.0, 0.5), {}, "order must be .*, got"),
        (verify_point, (0.1, 1.0, math.inf), {}, "order must be .*, got"),
        (verify_point, (0.1, 1.0, 2.0), {"digits": 10}, "digits must be"),
        (verify_curves, (0.1, 1.0, 0.5), {}, r"order must be a number in \[1, 1000000\], got 0.5"),
        (verify_curves, (0.1, 1.0, 2.0), {"digits": 20}, "digits must be an integer >= 30, got 20"),
    ],
)
def test_bad_points(check, point, more, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        check(*point, **more)


def test_random_points_fill_the_box():
    points = list(random_points(2000, seed=7))
    assert points == list(random_points(2000, seed=7))
    assert points != list(random_points(2000, seed=8))
    for values, (low, high) in zip(
        zip(*points, strict=True), ((1e-12, 1.0), (0.01, 1e6), (1.0 + 1e-8, 1e6)), strict=True
    ):
        assert low <= min(values)
        assert max(values) <= high
        assert min(values) - 1.0 * (low > 1.0) < 10.0 * (low if low < 1.0 else 1e-8)
        assert max(values) > high / 10.0
    whole = sum(alpha == int(alpha) for _, _, alpha in points)
    assert 350 < whole < 520


def test_the_command_shows_every_route(capsys):
    arguments = ["verify", "--sample-rate", "0.01", "--noise-multiplier", "1", "--order", "32"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "348.634554048" in out  # 31 times the Renyi divergence 11.24627593704807
    for route in ("engine", "binomial", "series", "quadrature", "rdp"):
        assert route in out
    assert "Every certified bracket contains the reference." in out
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["violations"] == 0
    assert len(document["results"][0]["routes"]) == 5


def test_a_random_sample_of_the_box(capsys):
    assert main(["verify", "--random", "2", "--seed", "3"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""  # the progress bar is for terminals
    _, routes, _, curves, verdict = captured.out.split("\n\n")
    for table, rows in ((routes, 5), (curves, len(verify_curves(0.1, 2.0, 2.0, digits=30)))):
        lines = table.splitlines()
        assert len(lines) == 1 + rows
        assert all(line.split()[-1] == "0" for line in lines[1:])
    assert verdict == "Every certified bracket contains the reference.\n"


def test_csv_has_a_row_a_route_and_a_curve(capsys):
    arguments = ["verify", "--sample-rate", "0.01", "--noise-multiplier", "1,2", "--order", "3"]
    assert main([*arguments, "--csv"]) == 0
    curves = len(verify_curves(0.01, 1.0, 3.0, digits=30))
    assert len(capsys.readouterr().out.splitlines()) == 1 + 2 * (5 + curves)


@pytest.mark.parametrize(
    "point",
    [
        (0.01, 1.0, 8.5),
        (1.0, 2.0, 7.0),
        (0.0, 0.5, 3.0),
        (1e-12, 1e6, 1.0 + 1e-8),
        (0.3, math.inf, 2.0),
        *slow(((0.9, 2.0, 1.0),), ((0.3, 1e-3, 1e6),)),
    ],
)
def test_every_curve_agrees(point):
    checks = verify_curves(*point, digits=30)
    assert len({check.name for check in checks}) == len(checks) > 15
    for check in checks:
        assert check.ok
        assert check.lower <= check.upper
        assert check.order <= point[2]


def test_a_known_divergence():
    laplace = {check.name: check for check in verify_curves(0.01, 2.0, 2.0)}["Laplace"]
    assert laplace.reference.startswith("0.2003038961736159622")
    assert laplace.upper == pytest.approx(0.20030389617361596, rel=1e-13)
    assert laplace.proven > 13
    assert laplace.digits > 13


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_wrong_curve_is_caught(monkeypatch, capsys, factor):
    right = reference.rdp

    def wrong_without_sampling(pair, *arguments, q=1, **named):
        return (factor if pair.density and q == 1 else 1) * right(pair, *arguments, q=q, **named)

    monkeypatch.setattr(reference, "rdp", wrong_without_sampling)
    wrong = {check.name for check in verify_curves(0.01, 1.0, 8.5) if not check.ok}
    assert "Laplace" in wrong
    assert "Laplace, Poisson" not in wrong
    assert ("Laplace, bound for any sample" in wrong) == (factor > 1)  # of a bound only the upper
    assert (
        main(["verify", "--sample-rate", "0.01", "--noise-multiplier", "1", "--order", "8.5"]) == 1
    )
    assert "NO" in capsys.readouterr().out
