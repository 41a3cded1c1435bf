# The ufuncs of renyi.special, registered from the table in loops.hpp, and their documentation, made from the common
# parts of each family.

_PARAMETERS = {
    "q": """q : array_like
    Sampling rate, in [0, 1].""",
    "sigma": """sigma : array_like
    Noise multiplier (standard deviation over sensitivity), in (0, inf].""",
    "alpha": """alpha : array_like
    Order, in [-1e6, 0] or [1, 1e6].""",
    "complex alpha": """alpha : array_like
    Order, in [-1e6, 0] or [1, 1e6]. A complex order selects the complex loop; its real part has
    the same domain.""",
    "series alpha": """alpha : array_like
    Order, in [1, 16384].""",
    "integer alpha": """alpha : array_like
    Order, a whole number in [1, 1e6].""",
    "rdp alpha": """alpha : array_like
    Order, in [1, 1e6]; 1 is the Kullback-Leibler divergence.""",
    "gaussian alpha": """alpha : array_like
    Order, in [1, inf].""",
    "mu": """mu : array_like
    Sensitivity over noise, in [0, inf]; of a composition, the root of the sum of squares.""",
    "epsilon": """epsilon : array_like
    Any number, negative ones included.""",
    "delta": """delta : array_like
    In [0, 1].""",
    "error": """alpha : array_like
    Probability of a type I error, in [0, 1].""",
    "step q": """q : array_like
    Sampling rate, 0 or in [1e-100, 1].""",
    "step sigma": """sigma : array_like
    Noise multiplier (standard deviation over sensitivity), in [1e-100, inf].""",
    "steps": """steps : array_like
    How many, a whole number in [0, 1e9].""",
    "curve epsilon": """epsilon : array_like
    In [0, inf].""",
    "bound q": """q : array_like
    Sampling rate, in [0, 1/5].""",
    "bound sigma": """sigma : array_like
    Noise multiplier, in [4, inf].""",
    "bound alpha": """alpha : array_like
    Order above 1 that satisfies (c1) and (c2) below.""",
}

_LOG_A = """``log E[(mu(z) / mu0(z))**alpha]`` with ``z ~ mu0 = N(0, sigma**2)`` and
``mu = (1 - q) * mu0 + q * N(1, sigma**2)``: the log moment generating function of the privacy loss,
a convex function of ``alpha`` that is 0 at 0 and 1. ``log_a(q, sigma, alpha) / (alpha - 1)`` is the
Rényi differential privacy of order ``alpha > 1``; composition adds values of ``log_a``."""

_ERROR = """Relative error at most 1e-14 where the value is below 1e4 and 4e-14 elsewhere, proven for
``sigma`` in [0.01, 1e6] and ``q`` in [1e-12, 1] or 0."""

_ENCLOSED = """The exact value lies between ``{0}_lower`` and ``{0}_upper``, a certificate computed with
outward rounding for ``sigma`` in [0.01, 1e6] and ``q`` in [1e-12, 1] or 0."""

_SOURCE = """Mironov, Talwar, Zhang, "Rényi Differential Privacy of the Sampled Gaussian Mechanism", 2019,
arXiv 1908.10530, Theorem 4."""

_SIDES = {
    "": "{summary}",
    "_lower": "Lower bound on `{name}`, never above the exact value.",
    "_upper": "Upper bound on `{name}`, never below the exact value.",
}


def _render(name, summary, about, parameters, notes, source, example, returned="Dimensionless, in nats"):
    names = [text.split(" :")[0] for text in (_PARAMETERS[key] for key in parameters)]
    options = "/, out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True"
    head = f"{name}({', '.join(names)}, {options})"
    return "\n".join([
        head, "", summary, "", about, "",
        "Parameters", "----------", *(_PARAMETERS[key] for key in parameters),
        "out, where, casting, order, dtype, subok", "    As for every ufunc, see `numpy.ufunc`.", "",
        "Returns", "-------", "ndarray or scalar", f"    {returned}; NaN outside the domain.", "",
        "Notes", "-----", notes, "",
        "References", "----------", source, "",
        "Examples", "--------", ">>> from renyi import special", example,
    ])


def _family(name, summary, about, parameters, notes, source, call, printed, **returned):
    """Documentation of ``name`` and of its two bounds; their examples print the same ten digits."""
    docs = {}
    for side, phrase in _SIDES.items():
        shown = [key.replace("complex ", "") if side else key for key in parameters]
        docs[name + side] = _render(
            name + side, phrase.format(name=name, summary=summary), about, shown, notes, source,
            f'>>> f"{{special.{name}{side}({call}):.10g}}"\n{printed!r}', **returned)
    return docs


def _sided(name, what, about, parameters, call, printed, **returned):
    """Documentation of two bounds of a number that has no nearest value of its own."""
    return {
        f"{name}_{side}": _render(
            f"{name}_{side}", f"{side.title()} bound on {what}, never {never} the exact value.", about, parameters,
            _CERTIFIED, _ZHU, f'>>> f"{{special.{name}_{side}({call}):.7g}}"\n{printed!r}', **returned)
        for side, never in (("lower", "above"), ("upper", "below"))
    }


_CERTIFIED = """A certified end of the exact privacy curve: both ends are usually within 1e-12 of each other."""

_ZHU = """Zhu, Dong, Wang, "Optimal Accounting of Differential Privacy via Characteristic Function", 2022,
arXiv 2106.08567."""

_BALLE = """Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", 2018, arXiv 1805.06530,
Theorem 8."""

_STEP = """One step of the Poisson-sampled Gaussian mechanism: every record is sampled with probability ``q`` and
the noise is ``N(0, sigma**2)`` at sensitivity 1. """

_STEP_SOURCE = """Balle, Barthe, Gaboardi, "Privacy Amplification by Subsampling", 2018, arXiv 1807.01647, Theorem 2."""

_NEIGHBOURS = """The relative error is below 1.2e-16, also of values near 1e-300. The exact value lies between
``{0}_lower`` and ``{0}_upper``, neighbouring doubles; below the smallest normal number these are 0
and that number. The GIL is free during the computation."""

_STEP_NEIGHBOURS = _NEIGHBOURS.replace("neighbouring doubles;", """neighbouring doubles except where
``epsilon`` is within about 1e-9 of the largest loss of the "add" direction, ``-log(1 - q)``;""")

_ROOT = """The exact value lies between ``{0}_lower`` and ``{0}_upper``, a few units of the last place apart; the
signs at both ends are proven. The GIL is free during the computation."""

_PROBABILITY = {"returned": "A probability"}

_TWO = "0.01, 1.0, 2.0"
_VALUE_AT_TWO = "0.0001718134221"
_HALF = "0.01, 1.0, 1.5"
_VALUE_AT_HALF = "6.362687166e-05"
_TRIPLE = ("q", "sigma", "alpha")

DOCS = {
    **_family(
        "log_a", "Log moment generating function of the privacy loss of the sampled Gaussian.",
        _LOG_A, ("q", "sigma", "complex alpha"),
        _ERROR + "\n" + _ENCLOSED.format("log_a") + """
An expansion is taken where one converges, for orders up to 72, and mostly the quadrature elsewhere.
One call with many points is faster than many calls, with the same bits. The GIL is free during the
computation. At complex orders the principal branch is taken, and the absolute error of ``A(alpha)``
is a small multiple of ``2**-53 * A(alpha.real)``, not certified.""",
        _SOURCE, _TWO, _VALUE_AT_TWO),
    **_family(
        "log_b", "Log moment of the privacy loss of the sampled Gaussian when a record is added.",
        """``log E[(mu0(z) / mu(z))**alpha]`` with ``z ~ mu``, the two distributions of `log_a` in the other
order: ``log_a`` at ``1 - alpha``. ``log_b(q, sigma, alpha) / (alpha - 1)`` is the Rényi divergence of
``mu0`` from ``mu``, and at most that of ``mu`` from ``mu0``: ``log_b <= log_a``.""",
        ("q", "sigma", "rdp alpha"),
        _ERROR + "\n" + _ENCLOSED.format("log_b") + "\nThe GIL is free during the computation.",
        _SOURCE + " Theorem 5 for the direction.", _TWO, "0.0001602226498"),
    **_family(
        "log_a_binomial", "`log_a` at whole orders, by the binomial expansion.",
        _LOG_A, ("q", "sigma", "integer alpha"),
        """``A - 1 = sum_k Bin(k; alpha, q) * expm1(k*(k-1) / (2*sigma**2))`` over ``k >= 2``: all terms are
positive, so that small values keep their relative accuracy.
""" + _ERROR + "\n" + _ENCLOSED.format("log_a_binomial"),
        _SOURCE + " Section 3.3 for the expansion.", _TWO, _VALUE_AT_TWO),
    **_family(
        "log_a_series", "`log_a` at fractional orders, by the two series of error functions.",
        _LOG_A, ("q", "sigma", "series alpha"),
        """The second, independent route to the same number, for checks. The terms cancel, so that the sum is in
double-double; the ends are at most 1e-12 apart, relatively. NaN where cancellation
leaves more: mostly from ``sigma`` 100 on, and for orders next to 1 there.
""" + _ENCLOSED.format("log_a_series"),
        _SOURCE + " Section 3.3 for the series.", _HALF, _VALUE_AT_HALF),
    **_family(
        "log_a_quadrature", "`log_a` by the trapezoidal rule on its defining integral.",
        _LOG_A, _TRIPLE,
        "The integrand is a sum of non-negative pieces; the rule converges geometrically.\n"
        + _ERROR + "\n" + _ENCLOSED.format("log_a_quadrature"),
        _SOURCE, _TWO, _VALUE_AT_TWO),
    "log_a_nearest": _render(
        "log_a_nearest", "The double nearest to `log_a`, where double-double arithmetic decides.",
        _LOG_A, _TRIPLE, "NaN where it does not: `renyi.theory.correct_rounding` takes more digits there.", _SOURCE,
        ">>> special.log_a(0.01, 1.0, 2.0).dtype\ndtype('float64')"),
    "rdp_sampled_gaussian_nearest": _render(
        "rdp_sampled_gaussian_nearest",
        "The double nearest to `rdp_sampled_gaussian`, where double-double arithmetic decides.",
        _LOG_A, _TRIPLE, "NaN where it does not: `renyi.theory.correct_rounding` takes more digits there.", _SOURCE,
        ">>> special.log_a(0.01, 1.0, 2.0).dtype\ndtype('float64')"),
    "log_a_derivative": _render(
        "log_a_derivative", "First derivative of `log_a` with respect to the order.", _LOG_A, _TRIPLE,
        "A tilted mean of the privacy loss. At ``alpha = 1`` it is the Kullback-Leibler divergence.", _SOURCE,
        '>>> f"{special.log_a_derivative(1.0, 2.0, 3.0):.10g}"  # (2*alpha - 1) / (2*sigma**2)\n\'0.625\''),
    "log_a_second_derivative": _render(
        "log_a_second_derivative", "Second derivative of `log_a` with respect to the order.", _LOG_A, _TRIPLE,
        "A tilted variance of the privacy loss, never negative.", _SOURCE,
        '>>> f"{special.log_a_second_derivative(1.0, 2.0, 3.0):.10g}"  # 1 / sigma**2\n\'0.25\''),
    **_family(
        "rdp_sampled_gaussian", "Rényi differential privacy of the Poisson-sampled Gaussian mechanism.",
        """``log_a(q, sigma, alpha) / (alpha - 1)``: the largest Rényi divergence of order ``alpha`` between the
outputs on two data sets that differ by adding or removing one record, when every record is sampled
independently with probability ``q`` and the noise is ``N(0, sigma**2)`` at sensitivity 1.""",
        ("q", "sigma", "rdp alpha"),
        _ERROR + "\n" + _ENCLOSED.format("rdp_sampled_gaussian") + "\nThe GIL is free during the computation.",
        _SOURCE + " Theorem 5 for the direction.", _TWO, _VALUE_AT_TWO),
    **_family(
        "rdp_gaussian", "Rényi differential privacy of the Gaussian mechanism without sampling.",
        "``alpha / (2 * sigma**2)``: the Rényi divergence between ``N(1, sigma**2)`` and ``N(0, sigma**2)``.",
        ("sigma", "gaussian alpha"),
        "The nearest double or its neighbour. " + """The exact value lies between ``rdp_gaussian_lower`` and
``rdp_gaussian_upper`` everywhere; where it is a double, all three are equal.""",
        'Mironov, "Rényi Differential Privacy", 2017, arXiv 1702.07476, Proposition 7.',
        "2.0, 3.0", "0.375"),
    **_family(
        "gaussian_delta", "Privacy curve of the Gaussian mechanism: delta at a given epsilon.",
        """``Phi(mu/2 - epsilon/mu) - exp(epsilon) * Phi(-mu/2 - epsilon/mu)``, exact for the Gaussian mechanism
and for compositions of it, in both directions of adding or removing one record.""",
        ("mu", "epsilon"), _NEIGHBOURS.format("gaussian_delta"), _BALLE, "1.0, 2.0", "0.02092363582",
        **_PROBABILITY),
    **_family(
        "gaussian_epsilon", "Privacy curve of the Gaussian mechanism: epsilon at a given delta.",
        """The inverse of `gaussian_delta` in ``epsilon``; negative for large ``delta``, ``inf`` at 0 and
``-inf`` at 1.""",
        ("mu", "delta"), _ROOT.format("gaussian_epsilon"), _BALLE, "1.0, 1e-05", "4.377178096"),
    **_family(
        "gaussian_mu", "Largest ``mu`` with which a Gaussian mechanism is (epsilon, delta)-private.",
        """The inverse of `gaussian_delta` in ``mu``: noise of standard deviation ``sensitivity / mu`` is the least
that suffices. NaN where nothing does, that is, where ``delta < 1 - exp(epsilon)``.""",
        ("epsilon", "delta"), _ROOT.format("gaussian_mu"), _BALLE, "1.0, 1e-05", "0.2680511232",
        returned="Dimensionless"),
    **_family(
        "gaussian_tradeoff", "Trade-off function of the Gaussian mechanism: least type II error.",
        """``Phi(Phi^-1(1 - alpha) - mu)``: no test for one record's presence with a type I error of at most
``alpha`` has a smaller type II error.""",
        ("mu", "error"), _NEIGHBOURS.format("gaussian_tradeoff"),
        'Dong, Roth, Su, "Gaussian Differential Privacy", 2022, arXiv 1905.02383, Definition 2.6.',
        "1.0, 0.05", "0.7404889772", **_PROBABILITY),
    **_family(
        "sampled_gaussian_delta_remove", "Privacy curve of one sampled Gaussian step, a record removed.",
        _STEP + """``P`` is the law of the output with the record, ``Q`` without it.""",
        ("step q", "step sigma", "epsilon"), _STEP_NEIGHBOURS.format("sampled_gaussian_delta_remove"), _STEP_SOURCE,
        "0.1, 1.0, 0.5", "0.00203253692", **_PROBABILITY),
    **_family(
        "sampled_gaussian_delta_add", "Privacy curve of one sampled Gaussian step, a record added.",
        _STEP + """``P`` is the law of the output without the record, ``Q`` with it. Zero for
``epsilon >= -log(1 - q)``.""",
        ("step q", "step sigma", "epsilon"), _STEP_NEIGHBOURS.format("sampled_gaussian_delta_add"), _STEP_SOURCE,
        "0.01, 0.8, 0.005", "0.001463409002", **_PROBABILITY),
    **_family(
        "sampled_gaussian_epsilon_remove", "Epsilon at a given delta of one sampled Gaussian step, a record removed.",
        "The inverse of `sampled_gaussian_delta_remove` in ``epsilon``.",
        ("step q", "step sigma", "delta"), _ROOT.format("sampled_gaussian_epsilon_remove"), _STEP_SOURCE,
        "0.01, 1.0, 1e-05", "0.1994504478"),
    **_family(
        "sampled_gaussian_epsilon_add", "Epsilon at a given delta of one sampled Gaussian step, a record added.",
        "The inverse of `sampled_gaussian_delta_add` in ``epsilon``.",
        ("step q", "step sigma", "delta"), _ROOT.format("sampled_gaussian_epsilon_add"), _STEP_SOURCE,
        "0.01, 1.0, 1e-05", "0.009054199658"),
    "rdp_sampled_gaussian_bound": _render(
        "rdp_sampled_gaussian_bound",
        "Closed-form upper bound on the Rényi differential privacy of the sampled Gaussian mechanism.",
        """``2 * q**2 * alpha / sigma**2``, rounded up, where with ``L = log(1 + 1/(q*(alpha-1)))``

- (c1) ``1 < alpha <= sigma**2*L/2 - 2*log(sigma)``,
- (c2) ``alpha <= (sigma**2*L**2/2 - log(5) - 2*log(sigma)) / (L + log(q*alpha) + 1/(2*sigma**2))``;

NaN where a condition fails. `renyi.theory.sampled_gaussian` says which one, and gives the largest order.""",
        ("bound q", "bound sigma", "bound alpha"),
        "At most 4 times the exact value.",
        _SOURCE.replace("Theorem 4", "Theorem 11"),
        '>>> f"{special.rdp_sampled_gaussian_bound(0.01, 4.0, 8.0):.10g}"\n\'0.0001\''),
    **_sided(
        "dp_sgd_epsilon", "epsilon at a given delta of steps of the Poisson-sampled Gaussian mechanism",
        """The number that ``PLDAccountant().compose(PoissonSampled(Gaussian(sigma), q), steps)`` gives:
the worse of the removal and the addition of one record. Some milliseconds an element, without the
interpreter's lock.""",
        ("q", "sigma", "steps", "delta"), "0.01, 1.0, 1000, 1e-5",
        "1.828237"),
    **_sided(
        "dp_sgd_delta", "delta at a given epsilon of steps of the Poisson-sampled Gaussian mechanism",
        "The inverse of `dp_sgd_epsilon_upper` and `dp_sgd_epsilon_lower` in ``epsilon``.",
        ("q", "sigma", "steps", "curve epsilon"), "0.01, 1.0, 1000, 1.0",
        "0.002612421", returned="A probability"),
}


cdef extern from "loops.hpp" namespace "renyi::bindings" nogil:
    struct Ufunc:
        const char* name
        int inputs
        cnp.PyUFuncGenericFunction functions[4]
    Ufunc[1] ufuncs  # the true length is in the header
    char[1] types

cdef extern from *:
    """
    static constexpr int renyi_ufunc_count = std::size(renyi::bindings::ufuncs);
    static void* renyi_no_data[2] = {nullptr, nullptr};
    """
    const int renyi_ufunc_count
    void* renyi_no_data[2]

cdef extern from "renyi/loss/gaussian.hpp" namespace "renyi" nogil:
    enum class BoundCondition:
        first
        second
        both
    double _largest_order "renyi::largest_order_of_bound"(double q, double sigma, BoundCondition condition)

cnp.import_array()
cnp.import_umath()

_kept_alive = []  # a ufunc stores pointers to its name and documentation, not the texts


cdef object _make_ufunc(str name, int inputs, cnp.PyUFuncGenericFunction* functions, int loops):
    cdef str doc = DOCS.pop(name)
    cdef bytes title = name.encode()
    cdef bytes body = doc.split("\n\n", 1)[1].encode()  # NumPy writes a first line of its own
    _kept_alive.extend((title, body))
    ufunc = cnp.PyUFunc_FromFuncAndData(
        functions, renyi_no_data, types, loops, inputs, 1, cnp.PyUFunc_None, title, body, 0)
    with contextlib.suppress(AttributeError):  # not settable in older versions of NumPy
        ufunc.__module__ = "renyi.special"
        ufunc.__qualname__ = name
        ufunc.__doc__ = doc
    return ufunc


cdef int _i, _place, _loops
for _i in range(renyi_ufunc_count):
    for _side, _place in (("", 0), ("_lower", 2), ("_upper", 3)):
        if ufuncs[_i].functions[_place] != NULL:
            _name = ufuncs[_i].name.decode() + _side
            _loops = 2 if _place == 0 and ufuncs[_i].functions[1] != NULL else 1
            globals()[_name] = _make_ufunc(_name, ufuncs[_i].inputs, &ufuncs[_i].functions[_place], _loops)


def largest_order_of_bound(double q, double sigma, str condition="both", /):
    """Largest order that the conditions of ``rdp_sampled_gaussian_bound`` permit.

    ``condition`` is "first", "second" or "both".
    """
    if condition == "first":
        return _largest_order(q, sigma, BoundCondition.first)
    if condition == "second":
        return _largest_order(q, sigma, BoundCondition.second)
    return _largest_order(q, sigma, BoundCondition.both)
