"""Private training on several machines: workers clip and sum, one process adds the noise.

``python -m examples.distributed --workers 2``

The records stay where they are. In every step each worker draws a Poisson batch of its own records,
which makes a Poisson batch of all of them, and returns a `ClippedSum`. These add up in any order;
the noise is added once, to the total, so that it is no more than on one machine. The process that
adds them is trusted: a sum of one worker has no noise.

Here the workers are those of Dask. With MPI (mpi4py) a step is the same in one line, for its
reductions of Python objects use ``+``, and only rank 0 holds the optimiser::

    total = comm.reduce(clip_and_sum(grads, plan.max_grad_norm), root=0)
    if comm.rank == 0:
        optimizer.step(total)
    comm.Bcast(weights, root=0)
"""

from __future__ import annotations

import argparse
import operator
import sys
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from examples._classifiers import LogisticRegression
from examples._data import Split, digits
from examples._program import TRAINING, cluster, planned, program

from renyi._progress import LOGGED, progress
from renyi._rounding import round_up
from renyi._validation import decimal_of
from renyi.samplers import PoissonSampler
from renyi.sgd import DPSGD, SGD, ClippedSum, TrainingPlan

__all__ = ["Shard", "main", "train"]

CLASSES = 10


@dataclass(frozen=True)
class Shard:
    """The records of one worker, and its part of every batch."""

    images: Any
    labels: Any
    sample_rate: float

    def clipped_sum(self, parameters: list[Any], max_grad_norm: float) -> ClippedSum:
        """Return the sum of the clipped gradients of a new batch."""
        batch = PoissonSampler(len(self.labels), self.sample_rate).sample()
        features, classes = parameters[0].shape
        classifier = LogisticRegression(features, classes, seed=0)
        classifier.parameters = parameters
        return classifier.clipped_sum(self.images[batch], self.labels[batch], max_grad_norm)


def train(
    client: Any, data: Split, plan: TrainingPlan, learning_rate: float, charge: Any = None
) -> tuple[LogisticRegression, DPSGD]:
    """Train logistic regression with one shard on each worker of a Dask client.

    The sum of a worker that is lost is made again elsewhere, of another batch: the first was never
    added, and nobody has seen it.

    Args:
        client (dask.distributed.Client): Its workers.
        data: Cut into shards of about the same size.
        plan: Of the whole: the sampling rate is that of every shard.
        learning_rate: Of plain stochastic gradient descent.
        charge (callable): See `renyi.sgd.DPSGD`: one charge a step, where the noise is added.

    Returns:
        classifier: After the last step.
        optimizer: With the accountant of the run.
    """
    names = list(client.nthreads())
    parts = zip(
        names,
        np.array_split(data.train, len(names)),
        np.array_split(data.train_labels, len(names)),
        strict=True,
    )
    shards = [
        client.submit(
            Shard, *part, plan.sample_rate, workers=[name], allow_other_workers=True, pure=False
        )
        for name, *part in parts
    ]
    classifier = LogisticRegression(data.train.shape[1], CLASSES, seed=0)
    optimizer = DPSGD(classifier.parameters, plan, SGD(learning_rate), charge=charge)
    for _ in progress(range(plan.steps), "step", logged=LOGGED):
        now = classifier.parameters, plan.max_grad_norm
        sums = [client.submit(Shard.clipped_sum, shard, *now, pure=False) for shard in shards]
        optimizer.step(reduce(operator.add, client.gather(sums)))
    return classifier, optimizer


@program(
    "distributed",
    "Train a classifier of digits privately on several processes, with Dask.",
    {"--workers": (2, "processes of a cluster on this machine"), **TRAINING},
)
def main(options: argparse.Namespace) -> None:
    """Run the program on a cluster of this machine and return its exit code."""
    data = digits(options.seed)
    plan = planned(options, len(data.train))
    with cluster(options.workers) as client:
        classifier, optimizer = train(client, data, plan, options.learning_rate)
    accuracy = classifier.accuracy(data.test, data.test_labels)
    print(
        f"{options.workers} workers: accuracy {accuracy:.1%} of held-out images, "
        f"({round_up(optimizer.get_epsilon(options.delta))}, {decimal_of(options.delta)})-DP"
    )


if __name__ == "__main__":
    sys.exit(main())
