"""Settings of the whole test run: reproducible examples, no time limits."""

import gc

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "renyi",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),  # of the machine's speed, and of the version
)
settings.load_profile("renyi")


@pytest.fixture
def without_collector():
    """Keep the callbacks that others give the garbage collector from being interrupted."""
    gc.disable()
    yield
    gc.enable()
