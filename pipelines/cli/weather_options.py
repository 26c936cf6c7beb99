"""The simulated provider's weather as options of a command, such as --errors 0.02."""

from pipelines.cli.field_options import options_of
from pipelines.embedded.simulated_provider.fault_profile import Weather

with_weather = options_of(Weather, keyword="weather", panel="Weather")
