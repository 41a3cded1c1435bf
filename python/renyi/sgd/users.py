"""Users as the unit of a guarantee: a comparison of the noise of two ways to sample them."""

from typing import Any, NamedTuple

from renyi._validation import integer_of
from renyi.sgd.plan import TrainingPlan, Unit


class UserSampling(NamedTuple):
    """Plans for one budget and equal work, and the noise of their mean gradients.

    Attributes:
        by_record, by_user: Records are drawn and clipped one by one; users are drawn, and each is
            clipped as one.
        record_noise, user_noise: Standard deviations of the noise of a coordinate of the mean
            gradient over the clipping norm, which is that of a record or that of the mean gradient
            of a user.
    """

    by_record: TrainingPlan
    by_user: TrainingPlan
    record_noise: float
    user_noise: float

    @property
    def recommended(self) -> Unit:
        """The unit to draw: that with less noise at equal clipping norms.

        Mean gradients of users are shorter than those of records, up to the root of the number of
        records where these differ at random: with a clipping norm smaller by a factor, users are
        better up to a ``user_noise`` larger by this factor.
        """
        return "record" if self.record_noise <= self.user_noise else "user"


def compare_user_sampling(
    users: int,
    records_per_user: int,
    batch_size: int,
    *,
    target_epsilon: float,
    target_delta: float,
    records_drawn: int | None = None,
    **settings: Any,
) -> UserSampling:
    """Return both ways to train with users as the unit, calibrated to one budget.

    Args:
        users: Number of users.
        records_per_user: The most records of a user, in [1, 1000].
        batch_size: Average number of record gradients that a step computes, equal for both ways.
        target_epsilon, target_delta: The target for all records of a user together.
        records_drawn: Number of records that a drawn user contributes; by default all. It divides
            ``batch_size``.
        **settings: Of `TrainingPlan`: ``steps`` or, for passes over the records, ``epochs`` where
            users contribute all; ``max_grad_norm``, ``adjacency``, ``accountant``.

    Raises:
        ValueError: If no noise meets the target.

    Source: Charles and others 2024, arXiv 2407.07737, for both ways and their comparison.

    >>> both = compare_user_sampling(
    ...     10_000, 2, 400, target_epsilon=1.0, target_delta=1e-6, steps=100, accountant="rdp"
    ... )
    >>> round(both.record_noise * 400, 2), round(both.user_noise * 400, 2), both.recommended
    (2.17, 2.83, 'record')
    """
    people = integer_of(users, "users", 1)
    most = integer_of(records_per_user, "records_per_user", 1)
    size = integer_of(batch_size, "batch_size", 1)
    drawn = most if records_drawn is None else integer_of(records_drawn, "records_drawn", 1)
    if drawn > most or size % drawn:
        raise ValueError(
            f"records_drawn must be at most records_per_user, {most}, and divide batch_size, "
            f"{size}, got {drawn}"
        )
    target, settings = (target_epsilon, target_delta), {**settings, "unit": "user"}
    by_user = TrainingPlan.calibrated(
        *target, population=people, batch_size=size // drawn, **settings
    )
    settings |= {"population": people * most, "batch_size": size, "records_per_user": most}
    by_record = TrainingPlan.calibrated(*target, **settings)
    return UserSampling(
        by_record,
        by_user,
        by_record.noise_multiplier / size,
        by_user.noise_multiplier * drawn / size,
    )
