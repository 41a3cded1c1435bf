"""Correlated noise as a gradient transformation of optax.

>>> import jax.numpy as jnp
>>> import optax
>>> from renyi.matrix import BandedInverse
>>> noise = correlated_noise(BandedInverse.optimal(4, 2).noise(3, scale=0.5))
>>> rule = optax.chain(noise, optax.sgd(1.0))
>>> updates, _ = rule.update(jnp.ones(3), rule.init(jnp.zeros(3)))
>>> bool((updates != -1.0).all())
True
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax

from renyi.matrix import NoiseStream

__all__ = ["correlated_noise"]


def correlated_noise(stream: NoiseStream) -> Any:
    """Return a transformation that adds the noise of a stream, to stand first in a chain.

    Updates are then those of `renyi.matrix.MatrixMechanism`, if they were sums of clipped
    gradients, perhaps over a public number: the ``scale`` of the stream is the noise multiplier
    times the clipping norm over that number. The noise is drawn on the host, outside of `jax.jit`;
    the stream keeps its own state, so each chain needs its own stream.

    Args:
        stream: A stream for all entries of all leaves, one after the other.

    Raises:
        RuntimeError: In an update past the last step of the stream.
    """

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        leaves, tree = jax.tree_util.tree_flatten(updates)
        flat = np.concatenate([np.asarray(leaf, dtype=np.float64).reshape(-1) for leaf in leaves])
        ends = np.cumsum([leaf.size for leaf in leaves])[:-1]
        noisy = [
            jax.numpy.asarray(part.reshape(leaf.shape), dtype=leaf.dtype)
            for part, leaf in zip(np.split(stream.add(flat), ends), leaves, strict=True)
        ]
        return jax.tree_util.tree_unflatten(tree, noisy), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)
