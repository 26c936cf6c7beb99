"""How the embedded model is reached: in process, through the real client and the real HTTP interface."""

import httpx2

from pipelines.embedded.app import create_app
from pipelines.embedded.simulated_provider.fault_profile import Weather
from pipelines.embedded.simulated_provider.provider import simulate
from pipelines.resources.llm.settings import EndpointSettings

EMBEDDED_URL = "http://embedded.model/v1"


def embedded_settings() -> EndpointSettings:
    """The settings of the embedded model's endpoint, in fair weather."""
    return EndpointSettings(base_url=EMBEDDED_URL, transport=httpx2.ASGITransport(app=simulate(create_app(), Weather())))
