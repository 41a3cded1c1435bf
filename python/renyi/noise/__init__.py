"""Noise from a cryptographic generator: ideal noise rounded to a lattice, or integers."""

from renyi.noise.draws import (
    add_discrete_gaussian_noise,
    add_discrete_laplace_noise,
    add_gaussian_noise,
    add_laplace_noise,
    noise_lattice,
)
from renyi.noise.generator import InsecureGeneratorWarning, SecureGenerator

__all__ = [
    "InsecureGeneratorWarning",
    "SecureGenerator",
    "add_discrete_gaussian_noise",
    "add_discrete_laplace_noise",
    "add_gaussian_noise",
    "add_laplace_noise",
    "noise_lattice",
]
__dir__ = __all__.copy
