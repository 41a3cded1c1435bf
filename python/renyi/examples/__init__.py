"""Programs to run and read, on real data: ``python -m renyi.examples.digits --help``."""

from importlib.util import find_spec

if find_spec("tqdm") is None:
    raise ImportError("renyi.examples needs tqdm: python -m pip install tqdm")
