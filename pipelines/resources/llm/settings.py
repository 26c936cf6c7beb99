"""Where the models are and how much they may be asked: read once, from arguments or from the environment."""

import os
from collections.abc import Mapping

import httpx2
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from assets.llm.ports import EndpointError

OPENAI_URL = "https://api.openai.com/v1"
# Pairs of address and key. They are never mixed: a key goes to the address it was given for, and to no other.
VARIABLES = (("AMEMGYM_BASE_URL", "AMEMGYM_API_KEY"), ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
NUMBER_VARIABLES = {
    "max_in_flight": "AMEMGYM_MAX_IN_FLIGHT",
    "requests_per_minute": "AMEMGYM_REQUESTS_PER_MINUTE",
    "tokens_per_minute": "AMEMGYM_TOKENS_PER_MINUTE",
    "timeout_seconds": "AMEMGYM_TIMEOUT",
}


class EndpointSettings(BaseModel):
    """An OpenAI-compatible endpoint. `transport` calls an ASGI app in process (httpx2.ASGITransport); it is never closed.

    All delays (backoff, pauses of the circuit breaker) are multiples of `backoff_seconds`. `url_variable` and `key_variable`
    name the environment variables that an error's sentence sends the user to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)

    base_url: str = OPENAI_URL
    api_key: SecretStr | None = None
    timeout_seconds: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    max_in_flight: int = Field(default=64, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    backoff_seconds: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    url_variable: str = VARIABLES[0][0]
    key_variable: str = VARIABLES[0][1]
    transport: httpx2.AsyncBaseTransport | None = Field(default=None, exclude=True, repr=False)

    @field_validator("base_url")
    @classmethod
    def _is_a_web_address(cls, value: str) -> str:
        try:
            url = httpx2.URL(value.strip())
        except httpx2.InvalidURL as error:
            raise ValueError("must be an address such as https://host/v1") from error
        if url.scheme not in ("http", "https") or not url.host:
            raise ValueError("must be an address such as https://host/v1")
        return value.strip()

    @field_validator("api_key")
    @classmethod
    def _is_a_header_value(cls, value: SecretStr | None) -> SecretStr | None:
        # The HTTP library's error about a key that no header can hold would contain the whole key.
        key = value.get_secret_value().strip() if value else ""
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("must be one word of printable ASCII characters")
        return SecretStr(key) if key else None

    @property
    def address(self) -> str:
        """The address without user, password and query, fit for a message."""
        url = httpx2.URL(self.base_url)
        port = f":{url.port}" if url.port else ""
        return f"{url.scheme}://{url.host}{port}{url.path}"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "EndpointSettings | None":
        """The settings that the environment gives; None when it names neither an address nor a key.

        The first pair of variables of which one is set counts; an address that is not set is OpenAI's. Raises EndpointError,
        also for a number that would limit nothing because there is no endpoint.
        """
        variables = os.environ if environ is None else environ
        pairs = ((names, [variables.get(name, "").strip() for name in names]) for names in VARIABLES)
        pair = next(((names, values) for names, values in pairs if any(values)), None)
        (url_variable, key_variable), (url, key) = pair or (VARIABLES[0], ("", ""))
        values: dict[str, object] = {"url_variable": url_variable, "key_variable": key_variable}
        values |= {"base_url": url} if url else {}
        values |= {"api_key": key} if key else {}
        values |= {field: variables[name] for field, name in NUMBER_VARIABLES.items() if variables.get(name, "").strip()}
        problems: list[str] = []
        try:
            settings = cls.model_validate(values)
            return settings if pair else None
        except ValidationError as error:
            names = {"base_url": url_variable, "api_key": key_variable, **NUMBER_VARIABLES}
            problems = [f"{names[str(problem['loc'][0])]}: {problem['msg']}" for problem in error.errors(include_input=False)]
        raise EndpointError(f"The model endpoint's settings cannot be used; correct in the environment {'; '.join(problems)}.")
