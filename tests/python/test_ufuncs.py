"""The ufuncs behave as NumPy's own: broadcasting, layouts, out=, laziness, no warnings."""

import doctest
import inspect
import math
import pickle
import subprocess
import sys
import warnings

import dask.array as da
import numpy as np
import pytest
from each import each

from renyi import Gaussian, PLDAccountant, PoissonSampled, special

ALL = [getattr(special, name) for name in special.__all__]
TERNARY = [f for f in ALL if f.nin == 3]
SIDED = [f for f in ALL if f.__name__.endswith(("_lower", "_upper"))]

# Arguments inside every domain: (q, sigma, alpha), whole orders for the binomial route.
Q = np.array([1e-4, 0.01, 0.05, 0.1, 0.2])
SIGMA = np.array([4.0, 5.0, 6.0, 8.0, 10.0])
ALPHA = np.array([2.0, 3.0, 4.0, 3.0, 2.0])

# Privacy curves: what their arguments are called, and some in their domain.
MU = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
EPSILON = np.array([0.0, 1.0, 2.0, 0.5, 1.0])
STEPS = np.array([1.0, 10.0, 100.0, 7.0, 40.0])
DELTA = np.array([0.25, 0.5, 0.125, 0.75, 0.0625])
CURVES = {
    "dp_sgd_delta": {"q": Q, "sigma": SIGMA, "steps": STEPS, "epsilon": EPSILON},
    "dp_sgd_epsilon": {"q": Q, "sigma": SIGMA, "steps": STEPS, "delta": DELTA},
    "gaussian_delta": {"mu": MU, "epsilon": EPSILON},
    "gaussian_epsilon": {"mu": MU, "delta": DELTA},
    "gaussian_mu": {"epsilon": EPSILON, "delta": DELTA},
    "gaussian_tradeoff": {"mu": MU, "alpha": DELTA},
    "sampled_gaussian_delta_remove": {"q": Q, "sigma": SIGMA, "epsilon": EPSILON},
    "sampled_gaussian_delta_add": {"q": Q, "sigma": SIGMA, "epsilon": EPSILON},
    "sampled_gaussian_epsilon_remove": {"q": Q, "sigma": SIGMA, "delta": DELTA},
    "sampled_gaussian_epsilon_add": {"q": Q, "sigma": SIGMA, "delta": DELTA},
}


def curve(f):
    """The arguments of a privacy curve, None for other functions."""
    return CURVES.get(f.__name__.removesuffix("_lower").removesuffix("_upper"))


MOMENTS = [f for f in ALL if curve(f) is None]
CURVE_UFUNCS = [f for f in ALL if curve(f) is not None]


def arguments(f):
    if curve(f) is not None:
        return tuple(curve(f).values())
    return (SIGMA, ALPHA) if f.nin == 2 else (Q, SIGMA, ALPHA)


def one_by_one(f, *arrays):
    arrays = np.broadcast_arrays(*arrays)
    values = [
        f(*(float(a) for a in point)) for point in zip(*(a.ravel() for a in arrays), strict=True)
    ]
    return np.array(values).reshape(arrays[0].shape)


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


every = each("f", ALL)
every_moment = each("f", MOMENTS)
every_curve = each("f", CURVE_UFUNCS)


@every
def test_is_a_documented_ufunc(f):
    assert isinstance(f, np.ufunc)
    assert (f.nout, f.identity, f.signature) == (1, None, None)
    doc = f.__doc__
    names = list(curve(f) or (["sigma", "alpha"] if f.nin == 2 else ["q", "sigma", "alpha"]))
    for part in ("Parameters\n", "Returns\n", "Notes\n", "References\n", "Examples\n"):
        assert part in doc
    for name in names:
        assert f"\n{name} : array_like" in doc
    assert doc.startswith(f"{f.__name__}(")
    if getattr(f, "__module__", None) == "renyi.special":  # not settable in older NumPy
        assert doc.startswith(f"{f.__name__}({', '.join(names)}, /")


@every
def test_documented_example(f):
    test = doctest.DocTestParser().get_doctest(f.__doc__, {}, f.__name__, None, 0)
    assert test.examples
    report = []
    assert doctest.DocTestRunner(verbose=False).run(test, out=report.append).failed == 0, report


def test_module_lists_every_ufunc():
    ufuncs = {name for name, value in vars(special).items() if isinstance(value, np.ufunc)}
    assert ufuncs == set(special.__all__)
    assert {f.__name__ for f in ALL} == ufuncs
    base = {name.removesuffix("_lower") for name in ufuncs if name.endswith("_lower")}
    assert base == {name.removesuffix("_upper") for name in ufuncs if name.endswith("_upper")}
    assert {name for name in base if not name.startswith("dp_sgd")} <= ufuncs


def test_loops():
    """What NumPy makes of other types, of where and of unsuitable outputs follows from these."""
    for f in ALL:
        expected = ["d" * f.nin + "->d"]
        if f is special.log_a:
            expected.append("ddD->D")
        assert f.types == expected


@every
def test_pickles_by_name(f):
    assert pickle.loads(pickle.dumps(f)) is f


@every
def test_scalars_give_scalars(f):
    point = [float(a[0]) for a in arguments(f)]
    value = f(*point)
    assert isinstance(value, np.float64)
    assert math.isfinite(value)
    assert value == f(*(np.array(x) for x in point)) == f(*(np.array([x]) for x in point))[0]


@every
def test_arrays_equal_scalars(f):
    assert same(f(*arguments(f)), one_by_one(f, *arguments(f)))


@each("f", TERNARY)
def test_broadcasting(f):
    q, sigma, last = arguments(f)
    grid = q[:2, None, None], sigma[None, :3, None], last[None, None, :4]
    value = f(*grid)
    assert value.shape == (2, 3, 4)
    assert same(value, one_by_one(f, *grid))
    with pytest.raises(ValueError, match="broadcast"):
        f(q, sigma[:3], last)


@each("f", TERNARY)
@each("count", [1, 257])
def test_one_mechanism_many_orders_equals_one_by_one(f, count):
    whole = "binomial" in f.__name__
    orders = np.arange(2, count + 2) if whole else np.linspace(1.0, 30.0, count)
    if "delta" in (curve(f) or {}):
        orders = orders / 32.0
    q, sigma = 0.05, 4.0
    expected = one_by_one(f, q, sigma, orders)
    assert same(f(q, sigma, orders), expected)
    assert same(f(q, sigma, orders[::-1]), expected[::-1])
    assert same(f(np.full(count, q), sigma, orders), expected)


@every
def test_layouts(f):
    expected = f(*arguments(f))
    spread = []
    for a in arguments(f):
        wide = np.full(3 * a.size, np.nan)
        wide[::3] = a
        view = wide[::3]
        view.flags.writeable = False
        spread.append(view)
    assert same(f(*spread), expected)
    assert same(f(*(a[::-1] for a in arguments(f))), expected[::-1])

    swapped = [a.astype(a.dtype.newbyteorder()) for a in arguments(f)]
    assert same(f(*swapped), expected)

    raw = [np.frombuffer(b"\0" + a.tobytes(), dtype=np.uint8)[1:].view("f8") for a in arguments(f)]
    assert not any(a.flags.aligned for a in raw)
    assert same(f(*raw), expected)

    square = [np.asfortranarray(np.tile(a, (5, 1))) for a in arguments(f)]
    assert same(f(*square), np.tile(expected, (5, 1)))


@every
def test_out(f):
    expected = f(*arguments(f))
    out = np.zeros(10)
    target = out[::2]
    assert f(*arguments(f), out=target) is target
    assert same(target, expected)
    assert same(out[1::2], np.zeros(5))

    in_place = arguments(f)[-1].copy()
    f(*arguments(f)[:-1], in_place, out=in_place)
    assert same(in_place, expected)

    backwards = arguments(f)[-1][::-1].copy()
    f(*arguments(f)[:-1], backwards[::-1], out=backwards)
    assert same(backwards, expected)

    single = np.empty(5, np.float32)
    f(*arguments(f), out=single, casting="same_kind")
    assert same(single, expected.astype(np.float32))


def test_orders_overwritten_by_their_own_results():
    orders = np.linspace(1.0, 20.0, 1000)
    expected = special.log_a(0.1, 4.0, orders)
    buffer = np.append(orders, 0.0)
    special.log_a(0.1, 4.0, buffer[:-1], out=buffer[1:])  # overlaps, shifted by one
    assert same(buffer[1:], expected)
    special.log_a(0.1, 4.0, orders, out=orders)
    assert same(orders, expected)


@every
def test_empty(f):
    shapes = [(0,), (3, 0), (0, 2)]
    for shape in shapes:
        value = f(*(np.empty(shape) for _ in range(f.nin)))
        assert (value.shape, value.dtype) == (shape, np.float64)


@every
def test_dask_stays_lazy(f):
    lazy = [da.from_array(a, chunks=2) for a in arguments(f)]
    value = f(*lazy)
    assert isinstance(value, da.Array)
    assert same(value.compute(), f(*arguments(f)))

    mixed = f(*(float(a[0]) for a in arguments(f)[:-1]), lazy[-1])
    assert isinstance(mixed, da.Array)
    assert same(mixed.compute(), f(*(float(a[0]) for a in arguments(f)[:-1]), arguments(f)[-1]))


OUTSIDE = [
    (-0.1, 4.0, 2.0),
    (np.nextafter(0.0, -1.0), 4.0, 2.0),
    (np.nextafter(1.0, 2.0), 4.0, 2.0),
    (np.nan, 4.0, 2.0),
    (np.inf, 4.0, 2.0),
    (0.1, 0.0, 2.0),
    (0.1, -1.0, 2.0),
    (0.1, -np.inf, 2.0),
    (0.1, np.nan, 2.0),
    (0.1, 4.0, 0.5),
    (0.1, 4.0, np.nextafter(1.0, 0.0)),
    (0.1, 4.0, np.nan),
    (0.1, 4.0, -np.inf),
]


@every_moment
@each("point", OUTSIDE)
def test_outside_the_domain_is_nan(f, point):
    q_matters = point[1:] == (4.0, 2.0)
    if f.nin == 2 and q_matters:
        return
    point = point[-f.nin :]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(f(*point))
        assert np.all(np.isnan(f(*(np.full(3, x) for x in point))))
        assert np.all(np.isnan(f(*point[:-1], np.full(3, point[-1]))))


OUTSIDE_OF = {
    "mu": (-1.0, np.nextafter(0.0, -1.0), -np.inf, np.nan),
    "epsilon": (np.nan,),
    "steps": (-1.0, 1.5, 2e9, np.inf, np.nan),
    "delta": (-0.1, np.nextafter(1.0, 2.0), np.inf, np.nan),
    "alpha": (-0.1, np.nextafter(1.0, 2.0), np.inf, np.nan),
    "q": (-0.1, np.nextafter(1.0, 2.0), np.nan, np.inf, 1e-200),
    "sigma": (0.0, -1.0, -np.inf, np.nan, 1e-200),
}


@every_curve
def test_outside_the_domain_of_a_curve_is_nan(f):
    inside = {name: float(values[1]) for name, values in curve(f).items()}
    for name in inside:
        for wrong in OUTSIDE_OF[name]:
            point = {**inside, name: wrong}.values()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert math.isnan(f(*point))
                assert np.all(np.isnan(f(*(np.full(3, x) for x in point))))


@each("f", [f for f in TERNARY if curve(f) is None and "bound" not in f.__name__])
def test_infinite_or_too_large_orders_are_nan(f):
    assert np.all(np.isnan(f(0.1, 4.0, [np.inf, 1.000001e6])))


@each("f", [f for f in TERNARY if f.__name__.startswith("rdp")])
def test_rdp_needs_an_order_of_at_least_one(f):
    assert np.all(np.isnan(f(0.1, 4.0, [0.0, -1.0, -1e6])))


# In the domain, some of them outside the range where the accuracy is proven.
EXTREME = [
    (0.0, 4.0, 2.0),
    (1e-300, 4.0, 2.0),
    (0.2, np.inf, 3.0),
    (0.2, 1e300, 3.0),
    (1.0, 0.01, 1e6),
    (1e-12, 0.01, 1e6),
    (0.5, 1e6, 2.0),
    (0.2, 0.01, -1e6),
    (0.1, 4.0, 1.0),
    (0.1, 4.0, 0.0),
]


@every
def test_no_warning_and_no_flag_left(f):
    q, sigma, last = np.array(OUTSIDE + EXTREME).T
    columns = np.array([q, sigma, np.full(q.size, 10.0), last] if f.nin == 4 else [q, sigma, last])
    columns = columns[-f.nin :]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        f(*columns)
        for point in columns.T:
            f(*point)
            f(*point[:-1], np.full(3, point[-1]))
        np.add(1.0, 2.0)


def test_extreme_arguments_come_to_an_end():
    # In a process of its own: a loop without end must fail, not hang. Nothing is said about speed.
    code = """
from renyi import Gaussian, PLDAccountant, PoissonSampled, special
for sigma in (1e-300, 1e-3):
    for q in (5e-324, 0.2, 1.0):
        for alpha in (-1e6, 0.0, 1.0 + 2.0**-52, 1e6):
            for name in special.__all__:
                f = getattr(special, name)
                if f.nin == 4:
                    f(q, sigma, 10.0, abs(alpha) if "delta" in name else 1.0 / max(abs(alpha), 1.0))
                elif not name.startswith("rdp_gaussian"):
                    f(*(q, sigma, alpha)[-f.nin:])
                    f(*(q, sigma, 1.0 / max(abs(alpha), 1.0))[-f.nin:])
            special.log_a(q, sigma, alpha + 1j)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_values_at_the_limits():
    assert special.rdp_gaussian(np.inf, 5.0) == 0.0
    assert special.rdp_gaussian(2.0, 3.0) == 0.375
    assert same(special.log_a(0.0, 1.0, ALPHA), np.zeros(5))
    assert same(special.log_a(Q, np.inf, ALPHA), np.zeros(5))
    assert same(special.log_a(Q, SIGMA, 1.0), np.zeros(5))
    assert same(special.log_a(Q, SIGMA, 0.0), np.zeros(5))
    assert special.log_a(1.0, 2.0, 3.0) == 0.75


@each("name", [f.__name__.removesuffix("_lower") for f in SIDED if "_lower" in f.__name__])
def test_bounds_are_on_their_sides_and_close(name):
    lower, upper = (getattr(special, name + side) for side in ("_lower", "_upper"))
    f = getattr(special, name, lower)  # what takes a search has its ends only
    a = arguments(f)
    assert np.all(lower(*a) <= f(*a))
    assert np.all(f(*a) <= upper(*a))
    close = 1e-20 if name.startswith("dp_sgd") else 0.0
    assert np.all(upper(*a) - lower(*a) <= 1e-11 * np.abs(f(*a)) + close)


def test_complex_loop():
    orders = np.array([1.5 + 0j, 2.0 + 3j, 2.0 - 3j, -1.0 + 0.5j])
    value = special.log_a(0.1, 4.0, orders)
    assert value.dtype == np.complex128
    assert isinstance(special.log_a(0.1, 4.0, 2 + 1j), np.complex128)
    np.testing.assert_allclose(value[0], special.log_a(0.1, 4.0, 1.5), rtol=1e-11)
    np.testing.assert_allclose(value[2], value[1].conjugate(), rtol=1e-11)
    assert special.log_a(0.1, 4.0, orders.astype(np.complex64)).dtype == np.complex128
    assert same(special.log_a(0.1, 4.0, orders), [special.log_a(0.1, 4.0, a) for a in orders])
    assert np.isnan(special.log_a(0.1, -4.0, 2 + 1j))


def test_keyword_names_are_not_part_of_the_interface():
    with pytest.raises(TypeError):
        special.log_a(q=0.1, sigma=4.0, alpha=2.0)
    assert "sigma" in inspect.getdoc(special.log_a)


def test_the_guarantees_of_runs_are_those_of_accountants():
    q, sigma, steps = np.array([0.01, 1.0, 0.2]), np.array([[0.8], [2.0]]), np.array([1, 50, 3000])
    for delta in (1e-2, 1e-6):
        low, high = (
            f(q, sigma, steps, delta)
            for f in (special.dp_sgd_epsilon_lower, special.dp_sgd_epsilon_upper)
        )
        assert low.shape == high.shape == (2, 3)
        for (i, j), value in np.ndenumerate(high):
            step = PoissonSampled(Gaussian(sigma[i, 0]), q[j])
            run = PLDAccountant().compose(step, int(steps[j]))
            assert run.get_epsilon(delta) == value
            assert run.get_epsilon_bounds(delta)[0] == low[i, j]
            back = special.dp_sgd_delta_lower(q[j], sigma[i, 0], steps[j], value)
            there = special.dp_sgd_delta_upper(q[j], sigma[i, 0], steps[j], low[i, j])
            assert back <= delta
            assert low[i, j] == 0.0 or delta <= there


def test_a_grid_of_runs_on_dask():
    """Lazy, in chunks, without the lock: the grid of noise and length of a sweep."""
    sigma = da.linspace(0.8, 2.0, 8, chunks=2)[:, None]
    steps = da.from_array(np.array([10.0, 100.0, 1000.0]), chunks=2)
    lazy = special.dp_sgd_epsilon_upper(0.01, sigma, steps, 1e-5)
    assert isinstance(lazy, da.Array)
    assert lazy.numblocks == (4, 2)
    found = lazy.compute(scheduler="threads")
    assert np.array_equal(
        found, special.dp_sgd_epsilon_upper(0.01, sigma.compute(), steps.compute(), 1e-5)
    )
    assert (np.diff(found, axis=0) < 0.0).all()
    assert (np.diff(found, axis=1) > 0.0).all()


@each(
    "point", [(0.01, 1.0, 1.5, 0.1), (0.01, 1.0, 2e9, 0.1), (0.01, -1.0, 9, 0.1), (2, 1.0, 9, 0.1)]
)
def test_runs_that_are_none_are_nan(point):
    for side in ("lower", "upper"):
        assert math.isnan(getattr(special, f"dp_sgd_epsilon_{side}")(*point))
        assert math.isnan(getattr(special, f"dp_sgd_delta_{side}")(*point))
