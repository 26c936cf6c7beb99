"""Settings of a model endpoint, from arguments or from the environment: its address, its key, its limits."""

import os
from collections.abc import Iterator, Mapping
from typing import Self

import httpx2
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from assets.llm.ports import EndpointError
from assets.records.problems import requirement
from pipelines.bounded_http import header_lines
from pipelines.errors import Problem
from pipelines.network_route import NetworkRoute
from pipelines.redaction import Redactor, can_be_taken_apart, login_of, public_address, secrets_of

OPENAI_URL = "https://api.openai.com/v1"
# Address, key, and headers. They are never mixed: a key goes to the address it was given for, and to no other.
VARIABLES = (
    ("AMEMGYM_BASE_URL", "AMEMGYM_API_KEY", "AMEMGYM_HEADERS"),
    ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_CUSTOM_HEADERS"),
)
NO_ENDPOINT = f"set {VARIABLES[1][1]}, or {' and '.join(VARIABLES[0][:2])}, so that an endpoint is asked which does"
# The openai library makes them of OPENAI_ORG_ID and OPENAI_PROJECT_ID, whatever the address.
OPENAI_HEADERS = ("OpenAI-Organization", "OpenAI-Project")
SHORTEST_SECRET = 6  # of a header's value: shorter ones are part of ordinary words
NUMBER_VARIABLES = {
    "max_in_flight": "AMEMGYM_MAX_IN_FLIGHT",
    "requests_per_minute": "AMEMGYM_REQUESTS_PER_MINUTE",
    "tokens_per_minute": "AMEMGYM_TOKENS_PER_MINUTE",
    "timeout_seconds": "AMEMGYM_TIMEOUT",
}
RUNS_AT_ONCE = "AMEMGYM_RUNS_AT_ONCE"


class EndpointSettings(BaseModel):
    """An OpenAI-compatible endpoint. `transport` calls an ASGI app in process (httpx2.ASGITransport); it is never closed.

    All delays (backoff, pauses of the circuit breaker) are multiples of `backoff_seconds`. `headers` go with every request;
    given as a text they are lines, as in X-Team: blue. `url_variable`, `key_variable` and `headers_variable` name the
    environment variables that an error's sentence sends the user to.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)

    base_url: str = Field(default=OPENAI_URL, repr=False)
    api_key: SecretStr | None = None
    headers: Mapping[str, str] = Field(default_factory=dict[str, str], repr=False)
    timeout_seconds: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    max_in_flight: int = Field(default=64, ge=1)
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    backoff_seconds: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    url_variable: str = VARIABLES[0][0]
    key_variable: str = VARIABLES[0][1]
    headers_variable: str = VARIABLES[0][2]
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
        if not can_be_taken_apart(value.strip()):
            raise ValueError("does not say for sure what its host is; in a password write %40 for @ and %2F for /")
        return value.strip()

    @field_validator("api_key")
    @classmethod
    def _is_a_header_value(cls, value: SecretStr | None) -> SecretStr | None:
        # The HTTP library's error about a key that no header can hold would contain the whole key.
        key = value.get_secret_value().strip() if value else ""
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise ValueError("must be one word of printable ASCII characters")
        return SecretStr(key) if key else None

    @field_validator("headers", mode="before")
    @classmethod
    def _are_headers(cls, value: object) -> object:
        # In a file of variables a line break can only be written as two characters.
        return dict(header_lines(value.replace("\\n", "\n"))) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _has_one_login(self) -> Self:
        # Both would go into the header Authorization, where the HTTP library silently lets the address win.
        if self.api_key is not None and login_of(self.base_url) is not None:
            raise ValueError(
                f"{self.url_variable} holds a user or password and {self.key_variable} a key, and a request has room for one "
                "of them; take the other out"
            )
        if any(name.lower() == "authorization" for name in self.headers):
            other = self.key_variable if self.api_key is not None else self.url_variable
            if self.api_key is not None or login_of(self.base_url) is not None:
                raise ValueError(
                    f"{self.headers_variable} holds the header Authorization, which is made of {other} too; take one out"
                )
        return self

    @property
    def address(self) -> str:
        """The address without user, password and query, fit for a message, a file and an id."""
        return public_address(str(httpx2.URL(self.base_url)))

    @property
    def root(self) -> str:
        """The address without its query, to which routes are added; it may hold user and password."""
        return str(httpx2.URL(self.base_url).copy_with(query=None)).rstrip("/")

    @property
    def query(self) -> dict[str, str]:
        """The address's query, which goes with every request behind its route."""
        return dict(httpx2.URL(self.base_url).params)

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers that say who asks: the key's, and those of one's own."""
        key = {"Authorization": f"Bearer {self.api_key.get_secret_value()}"} if self.api_key else {}
        return {**key, **self.headers}

    def headers_of_others(self) -> list[str]:
        """Names of headers that the openai library makes of variables which belong to OpenAI's address and not to this one."""
        if self.url_variable == VARIABLES[1][0]:
            return []
        lines = os.environ.get(VARIABLES[1][2], "").splitlines()
        return [*OPENAI_HEADERS, *filter(None, (line.partition(":")[0].strip() for line in lines))]

    @property
    def redactor(self) -> Redactor:
        """Takes the key, the headers, and what is secret in the address and in the proxy's, out of others' words."""
        key = self.api_key.get_secret_value() if self.api_key else ""
        return Redactor(key, *secrets_of(self.base_url), *secrets_of_headers(self.headers), *self.route.secrets)

    @property
    def route(self) -> NetworkRoute:
        """The way to the address, as the environment decides it."""
        return NetworkRoute.to(self.base_url)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "EndpointSettings | None":
        """Return the settings that the environment gives; None when it names neither an address nor a key.

        The first pair of variables of which one is set counts; an address that is not set is OpenAI's. Raises EndpointError,
        also for a number that would limit nothing because there is no endpoint.
        """
        variables = os.environ if environ is None else environ
        given = {name: value.strip() for name, value in variables.items() if value.strip()}
        pair = next((names for names in VARIABLES if given.keys() & set(names[:2])), None)
        url_variable, key_variable, headers_variable = pair or VARIABLES[0]
        if VARIABLES[0][2] in given and pair != VARIABLES[0]:
            raise EndpointError(
                f"{VARIABLES[0][2]} goes with the address in {VARIABLES[0][0]}, which is not set; set that address, or give "
                f"headers for OpenAI's in {VARIABLES[1][2]}."
            )
        values: dict[str, object] = {
            "url_variable": url_variable,
            "key_variable": key_variable,
            "headers_variable": headers_variable,
        }
        names = {"base_url": url_variable, "api_key": key_variable, "headers": headers_variable, **NUMBER_VARIABLES}
        for field, name in names.items():
            if name in given:
                values[field] = given[name]
        problems: list[str] = []
        try:
            settings = cls.model_validate(values)
            return settings if pair else None
        except ValidationError as error:
            problems = [_problem(problem, names) for problem in error.errors(include_input=False)]
        # Raised outside of the handler: pydantic's error, with the values in it, must not be its context.
        raise EndpointError(f"The model endpoint's settings cannot be used. In the environment, {'; '.join(problems)}.")


def secrets_of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of headers, and of each its last word: a message may hold a key without the word Bearer before it."""
    for value in headers.values():
        for secret in (value, value.rpartition(" ")[2]):
            if len(secret) >= SHORTEST_SECRET:
                yield secret


def _problem(problem: ErrorDetails, names: Mapping[str, str]) -> str:
    """Return the problem after the variable that has it; a problem of two variables names them itself."""
    return f"{names[str(problem['loc'][0])]} {requirement(problem)}" if problem["loc"] else requirement(problem)


def runs_at_once() -> int:
    """Return the number of runs that all workers carry out at once; 1 where the variable is not set.

    Raises Problem where it is set to what Dagster takes for no run, for runs without end, or for no number.
    """
    given = os.environ.get(RUNS_AT_ONCE, "1")
    if not given.strip().isdecimal() or int(given) < 1:
        raise Problem(
            f"{RUNS_AT_ONCE} is {given!r}; give the pool processes of all workers, 1 or more, as in {RUNS_AT_ONCE}=8."
        )
    return int(given)
