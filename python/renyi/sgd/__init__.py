"""Differentially private stochastic gradient descent on arrays."""

from renyi.sgd.accumulation import ClipAccumulator, clipped_grad
from renyi.sgd.adaptive import QuantileClipNorm
from renyi.sgd.clipping import average_clipped_at_half, clip_and_sum, per_sample_norms, weighted_sum
from renyi.sgd.ghost_clipping import ghost_clip_and_sum, ghost_norms
from renyi.sgd.grid import Grid
from renyi.sgd.layers import BiasLayer, ConvLayer, EmbeddingLayer, LinearLayer, LoRALayer, NormLayer
from renyi.sgd.noisy_sums import noisy_clipped_sum
from renyi.sgd.optimizer import DPSGD
from renyi.sgd.plan import TrainingPlan, compare_user_sampling
from renyi.sgd.projected import PNSGD, Ball, Box, LogisticLoss, RidgeLoss
from renyi.sgd.rules import ClipGroups
from renyi.sgd.sums import ClippedSum, PrivateDiagnostics
from renyi.sgd.updates import SGD, Adam, AdamBC, AdamW, Schedule, UpdateRule

__all__ = [
    "DPSGD",
    "PNSGD",
    "SGD",
    "Adam",
    "AdamBC",
    "AdamW",
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
    "PrivateDiagnostics",
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
    "ghost_norms",
    "noisy_clipped_sum",
    "per_sample_norms",
    "weighted_sum",
]
__dir__ = __all__.copy
