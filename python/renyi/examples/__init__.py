"""Programs to run and read, on real data: ``python -m renyi.examples.digits --help``."""
