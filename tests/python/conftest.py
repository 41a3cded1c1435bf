"""Settings of the whole test run: reproducible examples, no time limits."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "renyi",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),  # of the machine's speed, and of the version
)
settings.load_profile("renyi")
