"""A privacy statement: Markdown and one HTML page for people, JSON for programs and registries.

>>> from renyi import Gaussian, PoissonSampled
>>> statement = privacy_report(PoissonSampled(Gaussian(1.1), 0.004), 15_000, delta=1e-5)
>>> print(statement.to_markdown().splitlines()[2])
**ε = 2.296 at δ = 1e-5**
"""

from renyi.report._data import Disclosure, json_schema
from renyi.report._report import Report as Report
from renyi.report._report import dataset_report, privacy_report

__all__ = ["Disclosure", "dataset_report", "json_schema", "privacy_report"]
__dir__ = __all__.copy
