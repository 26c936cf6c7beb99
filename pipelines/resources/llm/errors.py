"""The client's exceptions as failures: which calls are tried again, which are asked differently, which end the run."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import httpx2
import openai

from assets.llm.ports import ModelRequest
from pipelines.resources.llm.compatibility import Rejection
from pipelines.resources.llm.redaction import Redactor
from pipelines.resources.llm.retry import RUN_AGAIN, CallFailure, FailureKind, retry_after_seconds
from pipelines.resources.llm.settings import VARIABLES, EndpointSettings

SLOW_DOWN = (
    "set AMEMGYM_REQUESTS_PER_MINUTE or AMEMGYM_TOKENS_PER_MINUTE to what the provider allows for this model and key, "
    f"and {RUN_AGAIN}"
)
FILTERED_CODES = {"content_filter", "content_policy_violation", "invalid_prompt"}
TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many tokens|too long|too large|exceeds? the .{0,20}tokens",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ErrorResponse:
    """An answer with an error status, read as far as providers agree on its form."""

    status: int
    codes: frozenset[str]
    param: str
    text: str
    retry_after: float

    @classmethod
    def read(cls, error: openai.APIStatusError) -> "ErrorResponse":
        """Take the parts out of the client's exception."""
        return cls(
            status=error.status_code,
            codes=frozenset(str(code) for code in (error.code, error.type) if code),
            param=str(error.param or ""),
            text=_message(error.body),
            retry_after=retry_after_seconds(error.response.headers, limited=error.status_code == 429),
        )

    def says_too_long(self) -> bool:
        """Whether prompt and reply do not fit the model."""
        named = self.status == 413 or "context_length_exceeded" in self.codes
        return named or ("response_format" not in self.param and TOO_LONG.search(self.text) is not None)


class FailureClassifier:
    """Turns the client's exceptions into failures whose texts are free of the API key."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._has_key = settings.api_key is not None
        self._redactor = Redactor(settings.api_key.get_secret_value() if settings.api_key else "")

    def of_connection(self, error: openai.APIConnectionError) -> CallFailure:
        """The failure of a call to which no answer arrived."""
        if isinstance(error.__cause__, (httpx2.ConnectError, httpx2.ConnectTimeout)):
            remedy = f"start the server there, or correct the address in {self._settings.url_variable}"
            return CallFailure("transient", "could not be reached", remedy, misdirected=True)
        if isinstance(error, openai.APITimeoutError):
            return self.of_timeout()
        return CallFailure("transient", "dropped the connection", own=True)

    def of_timeout(self) -> CallFailure:
        seconds = f"{self._settings.timeout_seconds:g}"
        remedy = f"wait until it has recovered, or allow more than {seconds} seconds in AMEMGYM_TIMEOUT, and {RUN_AGAIN}"
        return CallFailure("transient", f"did not answer within {seconds} seconds", remedy, overloaded=True, own=True)

    def of_unreadable_answer(self) -> CallFailure:
        """A success without a chat completion in it: a proxy's page, or an error in disguise."""
        remedy = f"check that {self._settings.url_variable} is the address of an OpenAI-compatible API (it often ends in /v1)"
        return CallFailure(
            "transient", "answered with something that is not a chat completion", remedy, misdirected=True, own=True
        )

    def of_unusable_completion(self) -> CallFailure:
        """A chat completion that cannot be one, such as one with a usage of 10^30 tokens: the address is right."""
        remedy = "look at what the server or the proxy before it answers"
        return CallFailure("transient", "answered with a chat completion whose parts cannot be read", remedy, own=True)

    def of_status(self, error: openai.APIStatusError, *, request: ModelRequest) -> CallFailure:
        """An answer with an error status."""
        answer = ErrorResponse.read(error)
        if answer.status == 402 or "insufficient_quota" in answer.codes:
            remedy = f"add credit or raise the limit at the provider, then {RUN_AGAIN}"
            return CallFailure("fatal", f"has no quota left for this key{self._quoted(answer)}", remedy)
        if answer.status == 429:
            problem = f"has a rate limit that is used up{self._quoted(answer)}"
            return CallFailure(
                "transient", problem, SLOW_DOWN, retry_after=answer.retry_after, limited=True, own=True, status=429
            )
        if answer.status in (408, 409, 425) or answer.status >= 500:
            return CallFailure(
                "transient",
                f"failed{self._quoted(answer)}",
                overloaded=answer.status in (408, 503, 529),
                retry_after=answer.retry_after,
                own=True,
                status=answer.status,
            )
        if answer.codes & FILTERED_CODES:
            return CallFailure("refused", f"refused the content{self._quoted(answer)}")
        return self._of_request(answer, request=request)

    def _of_request(self, answer: ErrorResponse, *, request: ModelRequest) -> CallFailure:
        key, address = self._settings.key_variable, self._settings.url_variable
        quoted, named = self._quoted(answer), f"prompt {request.labels.prompt or request.schema_name!r}"
        if answer.status == 401:
            # Providers quote the wrong key here, masked in ways of their own: their words are not repeated.
            problem = "does not accept the API key" if self._has_key else "asks for an API key"
            return CallFailure("fatal", f"{problem} (401)", f"put a valid key into {key}")
        if answer.status == 403:
            remedy = f"check that the key in {key} may use the model {request.model!r}"
            return CallFailure("fatal", f"denied access{quoted}", remedy)
        if answer.status in (404, 405):
            remedy = f"correct the model's name in the recipe, or the address in {address}"
            if self._settings.transport is not None:  # the embedded model, which plays no other
                remedy = f"set {VARIABLES[1][1]}, or {' and '.join(VARIABLES[0])}, so that an endpoint is asked which does"
            return CallFailure("fatal", f"does not know the model {request.model!r}{quoted}", remedy)
        if answer.says_too_long():
            remedy = "choose a model with a larger context, or change max_output_tokens in the recipe"
            problem = f"finds {named} too long for the model {request.model!r}{quoted}"
            return CallFailure("fatal", problem, remedy, own=True, status=answer.status)
        problem = f"rejected {named} for the model {request.model!r}{quoted}"
        remedy = "correct the model's settings in the recipe, or choose another model"
        kind: FailureKind = "rejected" if answer.status in (400, 422) else "fatal"
        rejection = Rejection(answer.text, answer.param)
        return CallFailure(kind, problem, remedy, rejection=rejection, own=True, status=answer.status)

    def _quoted(self, answer: ErrorResponse) -> str:
        text = self._redactor.clean(answer.text)
        return f" ({answer.status}: {text.rstrip('.')})" if text else f" ({answer.status})"


def _message(body: object) -> str:
    """The provider's message, whichever field it is in; empty for a page of HTML."""
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else body
    if not isinstance(body, dict):
        return ""
    fields = cast(Mapping[str, object], body)
    message = next((fields[name] for name in ("message", "detail", "error") if fields.get(name)), "")
    return message if isinstance(message, str) else json.dumps(message, ensure_ascii=False)
