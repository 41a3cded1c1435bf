"""Differentially private stochastic gradient descent on arrays."""

from renyi.sgd.accumulation import ClipAccumulator, clipped_grad
from renyi.sgd.adaptive import QuantileClipNorm
from renyi.sgd.clipping import average_clipped_at_half, clip_and_sum, per_sample_norms, weighted_sum
from renyi.sgd.ghost_clipping import ghost_clip_and_sum
from renyi.sgd.grid import Grid
from renyi.sgd.layers import BiasLayer, ConvLayer, EmbeddingLayer, LinearLayer, LoRALayer, NormLayer
from renyi.sgd.noisy_sums import noisy_clipped_sum
from renyi.sgd.optimizer import DPSGD
from renyi.sgd.plan import TrainingPlan, compare_user_sampling
from renyi.sgd.projected import PNSGD, Ball, Box, LogisticLoss, RidgeLoss
from renyi.sgd.rules import ClipGroups
from renyi.sgd.sums import ClippedSum
from renyi.sgd.sums import PrivateDiagnostics as PrivateDiagnostics
from renyi.sgd.updates import SGD, Adam, Schedule, UpdateRule

__all__ = [
    "DPSGD",
    "PNSGD",
    "SGD",
    "Adam",
    "Ball",
    "BiasLayer",
    "Box",
    "ClipAccumulator",
    "ClipGroups",
    "ClippedSum",
    "ConvLayer",
    "EmbeddingLayer",
    "Grid",
    "LinearLayer",
    "LoRALayer",
    "LogisticLoss",
    "NormLayer",
    "QuantileClipNorm",
    "RidgeLoss",
    "Schedule",
    "TrainingPlan",
    "UpdateRule",
    "average_clipped_at_half",
    "clip_and_sum",
    "clipped_grad",
    "compare_user_sampling",
    "ghost_clip_and_sum",
    "noisy_clipped_sum",
    "per_sample_norms",
    "weighted_sum",
]
__dir__ = __all__.copy
