"""Settings of all tests."""

from hypothesis import settings

# A slow machine is no defect; in CI, Hypothesis has turned its own deadline off already.
settings.register_profile("house", settings.default, deadline=None)
settings.load_profile("house")
