"""Every mechanism once, and Hypothesis strategies: single ones by kind, and trees of all."""

import math

from hypothesis import strategies as st

from renyi import matrix, pairs
from renyi.mechanisms import (
    ZCDP,
    ApproxDP,
    Composed,
    CorrelatedGaussian,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    FixedAllocation,
    FixedSizeSampled,
    Gaussian,
    GaussianMixture,
    GroupSampled,
    Gumbel,
    Laplace,
    MatrixMechanism,
    MultivariateDiscreteGaussian,
    Parallel,
    PermuteAndFlip,
    PoissonSampled,
    PrivacyLoss,
    PureDP,
    RandomAllocation,
    RandomizedResponse,
    RDPCurve,
    RepeatAndSelect,
    Shuffled,
    ShuffledBatches,
    Skellam,
    Staircase,
    TruncatedPoissonSampled,
)
from renyi.mechanisms.sampling import samplings
from renyi.pairs import MechanismPair

normal = Gaussian(2.0)
examples = {  # one of each kind, by name
    type(leaf).__name__: leaf
    for leaf in (
        normal,
        Laplace(2.0),
        DiscreteLaplace(2.0),
        Staircase(1.0, 0.4),
        RandomizedResponse(0.6),
        PureDP(0.5),
        DiscreteGaussian(3.0),
        Skellam(20.0),
        Gumbel(4.0),
        Exponential(1.0),
        PermuteAndFlip(1.0),
        GaussianMixture(2.0, [0.0, 1.0], [0.5, 0.5]),
        GroupSampled(normal, 0.1, 3),
        GroupSampled(Laplace(2.0), 0.1, 3),
        CorrelatedGaussian([[4.0, 1.0], [1.0, 4.0]], [[1.0, 0.0]]),
        PrivacyLoss(pairs.StudentTPair(3.0, 2.0)),
        ApproxDP(0.5, 1e-7),
        ZCDP(0.1),
        RDPCurve([2.0, 4.0], [0.1, 0.2]),
        RepeatAndSelect(normal, 10.0, 1.0),
        Parallel([normal, Laplace(2.0)]),
        MultivariateDiscreteGaussian(2.0),
        RandomAllocation(normal, 10),
        FixedAllocation(normal, 10, 3),
        TruncatedPoissonSampled(normal, 0.1, 20, 100),
        ShuffledBatches(normal, 10),
        Shuffled(RandomizedResponse(0.6), 1000),
        MatrixMechanism(matrix.SquareRoot(8), 2.0),
        PoissonSampled(normal, 0.1),
        FixedSizeSampled(normal, 10, 100),
    )
}

rates = st.floats(0.0, 1.0)
losses = st.floats(0.0, math.inf)
noises = st.floats(0.0, math.inf, exclude_min=True)
finite_noises = st.floats(0.0, 1e300, exclude_min=True)
sizes = st.integers(1, 10**9)
counts = st.integers(0, 30)  # of compositions of compositions, at most 10^9 in all

gaussians = st.builds(Gaussian, losses)
planes = st.lists(st.tuples(*[st.floats(-1e3, 1e3)] * 2), min_size=1, max_size=4)


@st.composite
def mixtures(draw):
    weights = draw(st.lists(st.integers(1, 1000), min_size=1, max_size=8))
    moves = draw(st.lists(st.floats(0.0, 1e6), min_size=len(weights), max_size=len(weights)))
    return GaussianMixture(draw(noises), moves, [w / sum(weights) for w in weights])


@st.composite
def tables(draw):
    orders = draw(
        st.lists(st.floats(1.0, 1e6, exclude_min=True), min_size=1, max_size=8, unique=True)
    )
    divergences = draw(st.lists(losses, min_size=len(orders), max_size=len(orders)))
    return RDPCurve(orders, divergences)


dominating = st.recursive(
    st.one_of(
        st.builds(lambda b: pairs.MechanismPair(Laplace(b)), st.floats(0.002, 1e12)),
        st.builds(lambda mu: pairs.MechanismPair(Gaussian(1.0 / mu)), st.floats(1e-6, 1e6)),
        st.builds(lambda e, d: pairs.MechanismPair(ApproxDP(e, d)), st.floats(0.0, 500.0), rates),
        st.just(pairs.DiscretePair((0.25, 0.75, 0.0), (0.5, 0.25, 0.25))),
        st.just(MechanismPair(GaussianMixture(2.0, (0.0, 1.0, 2.0), (0.81, 0.18, 0.01)))),
    ),
    lambda inner: st.one_of(
        st.builds(pairs.ReversedPair, inner), st.builds(pairs.PoissonSampledPair, inner, rates)
    ),
    max_leaves=3,
)

# Few of them: the pair of an epoch takes a second where noise is small, and equal ones share it.
dealt = [Gaussian(noise) for noise in (0.0, 0.01, 0.4, 1.0, 30.0, 1e6, math.inf)]
dealt += [Laplace(1.0), PureDP(3.0), RandomizedResponse(0.7, 3), PoissonSampled(Laplace(2.0), 0.1)]
allocations = st.one_of(
    st.builds(RandomAllocation, st.sampled_from(dealt), st.sampled_from([1, 2, 100, 10**6])),
    st.builds(
        RandomAllocation, st.sampled_from(dealt[3:]), st.just(100), st.sampled_from([3, 100])
    ),
)

lengths = st.integers(1, 1000)
correlated = st.builds(
    MatrixMechanism,
    st.one_of(
        st.builds(matrix.SquareRoot, lengths),
        st.builds(matrix.Tree, lengths),
        st.builds(matrix.BLT, lengths, st.just((0.9,)), st.just((0.3,))),
        st.builds(matrix.BandedInverse.optimal, st.sampled_from([2, 30]), st.just(2)),
    ),
    losses,
    st.one_of(
        st.builds(matrix.SinglePass),
        st.builds(matrix.FixedEpochs, lengths),
        st.builds(matrix.MinSeparation, lengths, lengths),
        st.builds(matrix.CyclicPoisson, rates, st.integers(1000, 2000)),
    ),
)

leaves = st.one_of(
    gaussians,
    st.builds(Laplace, noises),
    st.builds(Gumbel, noises),
    st.builds(DiscreteGaussian, finite_noises, sizes),
    st.builds(MultivariateDiscreteGaussian, noises),
    st.builds(DiscreteLaplace, finite_noises, sizes),
    st.builds(Skellam, finite_noises, sizes),
    st.builds(Staircase, st.floats(0.0, 500.0), rates),
    st.builds(RandomizedResponse, rates, st.integers(1, 100)),
    st.builds(Exponential, losses),
    st.builds(PermuteAndFlip, losses),
    st.builds(PureDP, losses),
    st.builds(ApproxDP, losses, rates),
    st.builds(ZCDP, losses, losses),
    tables(),
    mixtures(),
    st.builds(GroupSampled, gaussians, rates, st.integers(1, 1000)),
    st.builds(GroupSampled, st.builds(Laplace, noises), rates, st.integers(1, 20)),
    st.builds(
        GroupSampled, st.builds(DiscreteGaussian, st.floats(0.1, 50.0)), rates, st.integers(1, 9)
    ),
    st.builds(CorrelatedGaussian, st.just(((4.0, 1.0), (1.0, 4.0))), planes),
    st.builds(PrivacyLoss, dominating),
    st.builds(PrivacyLoss, dominating, dominating),
    st.builds(MatrixMechanism, st.builds(matrix.Tree, sizes), losses),
    correlated,
    st.builds(TruncatedPoissonSampled, gaussians, rates, sizes, sizes),
    allocations,
    st.builds(
        FixedAllocation, st.sampled_from([Gaussian(0.0), Gaussian(2.0)]), st.just(100), sizes
    ),
)


@st.composite
def fixed_size(draw, inner):
    """Draw a sample of fixed size of a mechanism that may stand inside one."""
    mechanism = draw(inner)
    needs = [node for node in samplings(mechanism) if node.size_matters]
    populations = {node.population for node in needs if isinstance(node, FixedSizeSampled)}
    if len(populations) > 1 or any(
        isinstance(node, TruncatedPoissonSampled | RandomAllocation | FixedAllocation)
        for node in needs
    ):
        mechanism, needs, populations = draw(gaussians), [], set()
    size = populations.pop() if populations else draw(sizes)
    if needs or draw(st.booleans()):
        return FixedSizeSampled(mechanism, size, size + draw(st.integers(0, 10**9)))
    return FixedSizeSampled(mechanism, size, draw(sizes), True)


@st.composite
def poisson(draw, inner):
    """Draw a Poisson sample of a mechanism that may stand inside one."""
    mechanism = draw(inner)
    if any(node.size_matters for node in samplings(mechanism)):
        mechanism = draw(gaussians)
    return PoissonSampled(mechanism, draw(rates))


def around(inner):
    """Return what is made of other mechanisms."""
    shapes = st.floats(-1.0, math.inf, exclude_min=True)
    return st.one_of(
        poisson(inner),
        fixed_size(inner),
        st.builds(ShuffledBatches, inner, sizes),
        st.builds(RepeatAndSelect, inner, st.floats(1.0, 1e9), shapes),
        st.lists(st.tuples(inner, counts), max_size=4).map(lambda parts: Composed(*parts)),
    )


def mechanisms(max_leaves=6):
    """Return a strategy for trees of mechanisms of all kinds."""
    return st.recursive(leaves, around, max_leaves=max_leaves)
