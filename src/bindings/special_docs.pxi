# Documentation of the ufuncs, made from what each family has in common.

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


def _render(name, summary, about, parameters, notes, source, example):
    names = [text.split(" :")[0] for text in (_PARAMETERS[key] for key in parameters)]
    head = f"{name}({', '.join(names)}, /, out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True)"
    return "\n".join([
        head, "", summary, "", about, "",
        "Parameters", "----------", *(_PARAMETERS[key] for key in parameters),
        "out, where, casting, order, dtype, subok", "    As for every ufunc, see `numpy.ufunc`.", "",
        "Returns", "-------", "ndarray or scalar", "    Dimensionless, in nats; NaN outside the domain.", "",
        "Notes", "-----", notes, "",
        "References", "----------", source, "",
        "Examples", "--------", ">>> from renyi import special", example,
    ])


def _family(name, summary, about, parameters, notes, source, call, printed):
    """Documentation of ``name`` and of its two bounds; their examples print the same ten digits."""
    docs = {}
    for side, phrase in _SIDES.items():
        shown = [key.replace("complex ", "") if side else key for key in parameters]
        docs[name + side] = _render(
            name + side, phrase.format(name=name, summary=summary), about, shown, notes, source,
            f'>>> f"{{special.{name}{side}({call}):.10g}}"\n{printed!r}')
    return docs


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
The fastest of three routes is taken. Where ``q`` and ``sigma`` are scalars or broadcast, one call
with an array of orders shares work between them. The GIL is free during the computation. At complex
orders the principal branch is taken, and the absolute error of ``A(alpha)`` is a small multiple of
``2**-53 * A(alpha.real)``, not certified.""",
        _SOURCE, _TWO, _VALUE_AT_TWO),
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
        """The second, independent route to the same number, for checks. The terms alternate: NaN where the sum
is ill conditioned (condition number above 16), as it is for ``sigma`` above about 2 and for orders
next to 1.
""" + _ENCLOSED.format("log_a_series"),
        _SOURCE + " Section 3.3 for the series.", _HALF, _VALUE_AT_HALF),
    **_family(
        "log_a_quadrature", "`log_a` by the trapezoidal rule on its defining integral.",
        _LOG_A, _TRIPLE,
        "The integrand is a sum of non-negative pieces; the rule converges geometrically.\n"
        + _ERROR + "\n" + _ENCLOSED.format("log_a_quadrature"),
        _SOURCE, _TWO, _VALUE_AT_TWO),
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
    "rdp_sampled_gaussian_bound": _render(
        "rdp_sampled_gaussian_bound",
        "Closed-form upper bound on the Rényi differential privacy of the sampled Gaussian mechanism.",
        """``2 * q**2 * alpha / sigma**2``, rounded up, where with ``L = log(1 + 1/(q*(alpha-1)))``

- (c1) ``1 < alpha <= sigma**2*L/2 - 2*log(sigma)``,
- (c2) ``alpha <= (sigma**2*L**2/2 - log(5) - 2*log(sigma)) / (L + log(q*alpha) + 1/(2*sigma**2))``;

NaN where a condition fails. `renyi.closed_form` says which one, and gives the largest order.""",
        ("bound q", "bound sigma", "bound alpha"),
        "At most 4 times the exact value.",
        _SOURCE.replace("Theorem 4", "Theorem 11"),
        '>>> f"{special.rdp_sampled_gaussian_bound(0.01, 4.0, 8.0):.10g}"\n\'0.0001\''),
}
