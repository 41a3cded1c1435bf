"""Correlated noise in the optimisers of PyTorch, as a hook before each step.

>>> import torch
>>> from renyi.matrix import BandedInverse
>>> weights = torch.zeros(3, requires_grad=True)
>>> optimizer = torch.optim.SGD([weights], lr=1.0)
>>> hook = add_correlated_noise(optimizer, BandedInverse.optimal(4, 2).noise(3, scale=0.5))
>>> weights.sum().backward()
>>> _ = optimizer.step()
>>> bool((weights != -1.0).all())
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from renyi.matrix import NoiseStream

__all__ = ["add_correlated_noise"]


def add_correlated_noise(optimizer: Any, stream: NoiseStream) -> Any:
    """Add the noise of a stream to the gradients before each step, and return the hook's handle.

    Gradients are then those of `renyi.matrix.MatrixMechanism`, if they were sums of clipped
    gradients, perhaps over a public number: the ``scale`` of the stream is the noise multiplier
    times the clipping norm over that number. With Opacus give its optimiser a noise multiplier of 0
    and pass ``optimizer.original_optimizer`` here; its steps come after clipping.

    Args:
        optimizer (torch.optim.Optimizer): An optimiser whose parameters all have gradients at each
            step.
        stream: A stream for all entries of all parameters, one after the other.

    Raises:
        ValueError: At a step, if a parameter has no gradient, as it would get no noise, or if the
            stream has another number of entries.
        RuntimeError: Past the last step of the stream.
    """

    def before(found: Any, *_: Any) -> None:
        parameters = [p for group in found.param_groups for p in group["params"]]
        if any(p.grad is None for p in parameters):
            raise ValueError("parameters must have a gradient each, got one without")
        flat = torch.cat([p.grad.detach().reshape(-1).to("cpu") for p in parameters])
        noisy = torch.from_numpy(stream.add(np.array(flat.numpy(), dtype=np.float64)))
        for p, part in zip(parameters, noisy.split([p.numel() for p in parameters]), strict=True):
            p.grad.copy_(part.reshape(p.shape))

    return optimizer.register_step_pre_hook(before)
