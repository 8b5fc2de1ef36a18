"""Settings for all tests: a slow machine must not fail a property test."""

from hypothesis import HealthCheck, settings

pytest_plugins = ("tests.lanes", "tests.faults.figures")

settings.register_profile(
    "unhurried", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
