"""The settings of the endpoint come from the environment; a key goes nowhere but to its own address."""

import pytest

from assets.llm.ports import EndpointError
from pipelines.resources.llm.settings import EndpointSettings


def test_settings_come_from_the_environment() -> None:
    assert EndpointSettings.from_environment({}) is None
    own = {"OPENAI_BASE_URL": "http://host:1/v1", "OPENAI_API_KEY": " sk-1 ", "AMEMGYM_MAX_IN_FLIGHT": "7"}
    settings = EndpointSettings.from_environment(own)
    assert settings is not None
    assert (settings.base_url, settings.max_in_flight, settings.timeout_seconds) == ("http://host:1/v1", 7, 120.0)
    assert settings.key_variable == "OPENAI_API_KEY"
    assert "sk-1" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "address", "key"),
    [
        ({"AMEMGYM_BASE_URL": "http://own/v1", "OPENAI_API_KEY": "sk-1"}, "http://own/v1", None),
        ({"AMEMGYM_BASE_URL": "http://own/v1", "AMEMGYM_API_KEY": "k", "OPENAI_API_KEY": "sk-1"}, "http://own/v1", "k"),
        ({"OPENAI_BASE_URL": "http://other/v1", "AMEMGYM_API_KEY": "k"}, "https://api.openai.com/v1", "k"),
        ({"OPENAI_API_KEY": "sk-1", "AMEMGYM_API_KEY": " "}, "https://api.openai.com/v1", "sk-1"),
    ],
)
def test_a_key_goes_to_the_address_it_belongs_to_and_no_other(given: dict[str, str], address: str, key: str | None) -> None:
    settings = EndpointSettings.from_environment(given)
    assert settings is not None
    assert settings.base_url == address
    assert (settings.api_key and settings.api_key.get_secret_value()) == key


def test_settings_that_cannot_be_used_name_their_variable() -> None:
    wrong = {"AMEMGYM_BASE_URL": "host:8000", "AMEMGYM_API_KEY": "two sëcrets", "AMEMGYM_TIMEOUT": "soon"}
    with pytest.raises(EndpointError) as caught:
        EndpointSettings.from_environment(wrong)
    for name in wrong:
        assert name in str(caught.value)
    assert "crets" not in str(caught.value)
    assert caught.value.__context__ is None
