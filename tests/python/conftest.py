"""Settings of the whole test run: reproducible examples, no time limits."""

from hypothesis import settings

settings.register_profile("renyi", deadline=None, derandomize=True, database=None)
settings.load_profile("renyi")
