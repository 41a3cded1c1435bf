"""Accountants of other libraries, computed by this one, and a callback for training loops.

`StepCallback` asks whether a step would exceed a budget, and charges it.
`renyi.compat.dp_accounting` (for TensorFlow Privacy and JAX-Privacy too), `renyi.compat.opacus` and
`renyi.compat.pfl` are accountants for these libraries; `renyi.compat.lightning`,
`renyi.compat.transformers` and `renyi.compat.flower` wrap the callback. Each needs its library.
Everything is rounded to the safe side. docs/migration.md lists the calls of both side by side.
"""

from renyi.compat._steps import StepCallback

__all__ = ["StepCallback"]
__dir__ = __all__.copy
