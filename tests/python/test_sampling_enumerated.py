"""No claim is exceeded by actual neighbours: every output of small data sets, enumerated."""

import pytest
from scheme_enumeration import (
    adaptive,
    allocated,
    constant,
    cyclic,
    delta,
    fixed_allocated,
    law,
    poisson,
    repeated,
    shuffled,
    truncated,
)

from renyi import (
    FixedAllocation,
    Gaussian,
    PLDAccountant,
    PoissonSampled,
    RandomAllocation,
    RDPAccountant,
    ShuffledBatches,
    TruncatedPoissonSampled,
)

NOISE = 0.8
G = Gaussian(NOISE)
EPSILONS = (0.0, 0.3, 1.0, 2.0)
ALL = ("add_remove", "zero_out", "replace_one")
EQUAL = ("zero_out", "replace_one")
# The mechanism, the scheme of so many records, the adjacencies that it holds for.
SCHEMES = {
    "allocation": (RandomAllocation(G, 3), lambda n: allocated(n, 3), ALL),
    "two epochs": (RandomAllocation(G, 2) * 2, lambda n: repeated(allocated(n, 2), 2), ALL),
    "sampled": (
        PoissonSampled(RandomAllocation(G, 3), 0.4),
        lambda n: allocated(n, 3, rate=0.4),
        ("add_remove", "zero_out"),
    ),
    "two of three": (RandomAllocation(G, 3, 2), lambda n: allocated(n, 3, chosen=2), ALL),
    "secret groups": (
        FixedAllocation(PoissonSampled(G, 0.5), 2, 2),
        lambda n: cyclic(n, 2, 2, 0.5),
        ALL,
    ),
    "fixed": (FixedAllocation(G, 2, 2), lambda n: fixed_allocated(n, 2, 2), ALL),
    "Poisson": (PoissonSampled(G, 0.3) * 2, lambda n: poisson(n, 2, 0.3), ALL),
    "truncated": (
        TruncatedPoissonSampled(G, 0.6, 1, 3) * 2,
        lambda n: truncated(n, 2, 0.6, 1),
        ALL,
    ),
    "cyclic": (PoissonSampled(G, 0.5) * 2, lambda n: cyclic(n, 2, 2, 0.5), ALL),
    "shuffled": (ShuffledBatches(G, 3), lambda n: shuffled(n, 3), EQUAL),
}
LARGE = ("allocation", "truncated", "shuffled")  # of three records, the others of two
CASES = [(name, adjacency) for name, (_, _, holds) in SCHEMES.items() for adjacency in holds]


def neighbours(scheme, adjacency, records):
    """Yield the laws of actual neighbours: extreme ones, and some that depend on all outputs."""
    whole = scheme(records)
    less = scheme(records - 1) if adjacency == "add_remove" else whole
    for others in (-1.0, 0.0, 1.0):
        rest = [others] * (records - 1)
        for own, other in {"replace_one": [(1.0, -1.0)]}.get(adjacency, [(1.0, 0.0), (-1.0, 0.0)]):
            yield (
                law(whole, constant([*rest, own]), NOISE),
                law(less, constant([*rest, other]), NOISE),
            )
    for seed in range(1):
        added = adaptive(seed)

        def changed(record, history, added=added):
            if record < records - 1:
                return added(record, history)
            return 0.0 if adjacency == "zero_out" else added("other", history)

        yield law(whole, added, NOISE), law(less, changed, NOISE)


@pytest.mark.parametrize(("name", "adjacency"), CASES, ids=lambda value: value)
def test_no_pair_of_neighbours_exceeds_the_claim(name, adjacency):
    mechanism, scheme, _ = SCHEMES[name]
    exact = PLDAccountant(adjacency=adjacency).compose(mechanism)
    by_renyi = RDPAccountant(adjacency=adjacency).compose(mechanism)
    claims = [(epsilon, exact.get_delta(epsilon)) for epsilon in EPSILONS]
    for p, q in neighbours(scheme, adjacency, 3 if name in LARGE else 2):
        assert abs(p.sum() - 1.0) < 1e-12
        for epsilon, claim in claims:
            reached = max(delta(p, q, epsilon), delta(q, p, epsilon))
            assert reached <= claim + 1e-12
    for epsilon, claim in claims:
        assert claim <= by_renyi.get_delta(epsilon) * (1.0 + 1e-3)
