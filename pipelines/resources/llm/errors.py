"""The client's exceptions as failures: which calls are tried again, which are asked differently, which end the run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import httpx2

from assets.llm.ports import ModelRequest
from pipelines.bounded_http import BodyTooLarge, RedirectedElsewhere
from pipelines.resources.llm.compatibility import SAYS_UNKNOWN, Rejection
from pipelines.resources.llm.error_body import ErrorBody
from pipelines.resources.llm.limits.reply_room import limit_per_call, room_limit_in
from pipelines.resources.llm.retry import MAX_SECONDS, RUN_AGAIN, CallFailure, FailureKind, retry_after_seconds
from pipelines.resources.llm.settings import NO_ENDPOINT, EndpointSettings

if TYPE_CHECKING:
    import openai

SLOW_DOWN = (
    "set AMEMGYM_REQUESTS_PER_MINUTE or AMEMGYM_TOKENS_PER_MINUTE to what the provider allows for this model and key, "
    f"and {RUN_AGAIN}"
)
FILTERED_CODES = {
    "content_filter",
    "content_policy_violation",
    "invalid_prompt",
    "ResponsibleAIPolicyViolation",
    "data_inspection_failed",
    "DataInspectionFailed",
    "PROHIBITED_CONTENT",
}
FILTERED = re.compile(
    r"content exists risk|inappropriate content|violates? .{0,40}(?:polic|guideline)|content management policy"
    r"|content filtering|was flagged",
    re.IGNORECASE,
)
QUOTA_CODES = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "Arrearage",
    "budget_exceeded",
}
KEY_CODES = {"API_KEY_INVALID", "invalid_api_key"}  # Gemini says 400 of a wrong key
DAY_QUOTA = re.compile(r"per.?day", re.IGNORECASE)  # in the name of a quota
# The account's own settings are in the way: often a page of theirs is named.
ACCOUNT_POLICY = re.compile(r"data policy|privacy settings|guardrail|https?://\S+/settings/", re.IGNORECASE)
# Where the status says that the request is bad, and the code that the model is.
MODEL_CODE = re.compile(r"model.?(?:not|un)|deployment.?not", re.IGNORECASE)
# Of a local server that loads another model just now.
MODEL_AWAY = re.compile(r"\bmodel (?:\w+ )?(?:unloaded|(?:still |being )?loading)\b", re.IGNORECASE)
# Ollama's and LM Studio's, whose machine cannot load the model at all.
NO_MEMORY = re.compile(r"requires more (?:\w+ )?memory|insufficient system (?:resources|memory)", re.IGNORECASE)
QUOTA = re.compile(
    r"(?:insufficient|out of|any|used all|exceeded)\b(?: \w+){0,3} (?:balance|credits?|funds|budget)\b"
    r"|credit balance is too low|余额不足",
    re.IGNORECASE,
)
# The model's words were no valid reply, and the server refuses to hand them out: another try may bring better ones.
FAILED_GENERATION_CODES = {"json_validate_failed", "tool_use_failed", "output_parse_failed", "incomplete_generation"}
FAILED_GENERATION = re.compile(
    r"failed.generation|fail(?:ed|ure) to (?:generate|validate|produce) .{0,40}(?:json\b|response\b|output|function)"
    r"|(?:generated|model'?s?) (?:json|output|response|text|arguments)\b.{0,40}(?:not|n't|invalid|fail)",
    re.IGNORECASE,
)
# A server's fault by its status, a schema's by its words: it cannot turn this schema into a grammar.
NO_GRAMMAR = re.compile(
    r"grammar error|pars(?:e|ing) grammar|schema conversion|(?:convert|compil)\w* .{0,30}(?:schema|grammar)", re.IGNORECASE
)
# OpenRouter's, where the model is there and no provider of it takes all fields.
NO_PROVIDER_TAKES_THE_FIELDS = re.compile(r"no (?:endpoints?|providers?) .{0,40}requested parameters", re.IGNORECASE)
TOO_LONG_FOR_CONTEXT = re.compile(r"context.?(?:length|window|size)|maximum context", re.IGNORECASE)
# Of texts to embed, in the words of llama.cpp, Ollama, TEI, vLLM, OpenAI, Gemini, DashScope and others.
LONG_INPUT = re.compile(
    r"too (?:large|long|many)|larger than|less than|exceed|maximum|context|input (?:length|token)|超", re.IGNORECASE
)
SHORTEST_PART = 200  # characters of a text that is embedded in parts
# Timeouts, conflicts, another server's answer (421), a failed container (424), a client that was thought to have left (499).
PASSING = {408, 409, 421, 424, 425, 499}
NAMES_MESSAGES = re.compile(r"\b(?:messages|roles?)\b", re.IGNORECASE)
ALWAYS_SENT = {"model", "messages", "max_tokens", "max_completion_tokens"}
ANSWERS_OF_PROXIES = {403, 404, 405, 407, 500, 501, 502, 503, 504}
TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum context|too many tokens|too long|too large|exceeds? the .{0,20}tokens",
    re.IGNORECASE,
)


def can_be_split(request: ModelRequest) -> bool:
    """Return True for texts to embed that may be asked for in parts."""
    return request.max_output_tokens == 0 and sum(len(text.content) for text in request.messages) >= 2 * SHORTEST_PART


@dataclass(frozen=True)
class ErrorResponse:
    """An answer with an error status, or an error in an answer without one, read as far as providers agree on its form."""

    status: int
    codes: frozenset[str]
    param: str
    text: str
    retry_after: float
    failed_generation: bool = False
    flagged: bool = False

    @classmethod
    def read(cls, error: "openai.APIStatusError") -> "ErrorResponse":
        """Take the parts out of the client's exception."""
        # The exception has lost what stands beside `error` in the body.
        return cls.of(error.status_code, error.response.text or error.body, headers=error.response.headers)

    @classmethod
    def of(cls, status: int, body: object, *, headers: Mapping[str, str] | None = None) -> "ErrorResponse":
        """Read a body with this status; of a success it is what the body says itself."""
        found = ErrorBody.of(body)
        status = status if status >= 400 else found.own_status
        limited = status == 429
        told = retry_after_seconds(headers, limited=limited) if headers else 0.0
        return cls(
            status=status,
            codes=frozenset(found.codes),
            param=" ".join(found.params),
            text=found.text,
            retry_after=told or (found.asked_pause if limited or status >= 500 else 0.0),
            failed_generation=found.failed_generation,
            flagged=found.flagged,
        )

    def says_too_long(self) -> bool:
        """Return True when prompt and reply do not fit the model."""
        if self.status >= 500:
            return TOO_LONG_FOR_CONTEXT.search(self.text) is not None
        named = self.status == 413 or "context_length_exceeded" in self.codes
        if NO_GRAMMAR.search(self.text):
            return False
        return named or ("response_format" not in self.param and TOO_LONG.search(self.text) is not None)

    def says_failed_generation(self) -> bool:
        """Return True when the model's own words were no valid reply."""
        named = self.failed_generation or bool(self.codes & FAILED_GENERATION_CODES)
        return named or (FAILED_GENERATION.search(self.text) is not None and not SAYS_UNKNOWN.search(self.text))

    def says_filtered(self) -> bool:
        """Return True when the content is what the provider objects to."""
        return self.flagged or bool(self.codes & FILTERED_CODES) or FILTERED.search(self.text) is not None

    def says_day_is_over(self) -> bool:
        """Return True when the quota of a whole day is used up: by its name, or in words without a pause."""
        named = any(map(DAY_QUOTA.search, self.codes))
        return self.status == 429 and (named or (not self.retry_after and DAY_QUOTA.search(self.text) is not None))

    def says_no_quota(self) -> bool:
        """Return True when nothing is left to pay with."""
        return self.status == 402 or bool(self.codes & QUOTA_CODES) or QUOTA.search(self.text) is not None


@dataclass(frozen=True)
class Unfinished:
    """A reply whose finish reason is none of a finished one: it may be half a text."""

    reason: str


@dataclass(frozen=True)
class Misplaced:
    """A reply that says of itself that it is to another request, or of another model.

    `doubtful`: the endpoint may give the asked model a name of its own, which more replies will show.
    """

    problem: str
    doubtful: bool = False


# `unusable`: a reply of this API whose parts cannot be read; `foreign`: something else, so that the address may be wrong.
NoReply = Literal["unusable", "foreign"] | Unfinished | Misplaced | ErrorResponse


class FailureClassifier:
    """Turns the client's exceptions into failures whose texts are free of the API key."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._has_key = settings.api_key is not None
        self._redactor = settings.redactor
        self._route = settings.route

    def of_connection(self, error: BaseException) -> CallFailure:
        """The failure of a call to which no answer arrived, by the error of the HTTP library."""
        obstacle = self._route.obstacle(error, setting=self._settings.url_variable)
        if obstacle is not None:
            problem = self._redactor.hide(obstacle.problem)
            return CallFailure("unreachable" if obstacle.passing else "fatal", problem, obstacle.remedy)
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            remedy = f"start the server there, or correct the address in {self._settings.url_variable}"
            return CallFailure("unreachable", "could not be reached", remedy)
        if isinstance(error, httpx2.TimeoutException):
            return self.of_timeout()
        if isinstance(error, BodyTooLarge):
            return self.of_too_large(error)
        if isinstance(error, RedirectedElsewhere):
            remedy = f"put the address that is to read the prompts into {self._settings.url_variable}"
            return CallFailure("fatal", self._redactor.clean(str(error)), remedy)
        return CallFailure("transient", "dropped the connection")

    def of_timeout(self) -> CallFailure:
        seconds = f"{self._settings.timeout_seconds:g}"
        remedy = f"wait until it has recovered, or allow more than {seconds} seconds in AMEMGYM_TIMEOUT, and {RUN_AGAIN}"
        return CallFailure("transient", f"did not answer within {seconds} seconds", remedy, overloaded=True)

    def of_too_large(self, error: BodyTooLarge) -> CallFailure:
        """An answer that was not read to its end."""
        problem = f"{error}, more than any reply has"
        return CallFailure("transient", problem, "look at what the server or the proxy before it answers")

    def of_unreadable_answer(self) -> CallFailure:
        """A success without a chat completion in it: a proxy's page, or an error in disguise."""
        remedy = f"check that {self._settings.url_variable} is the address of an OpenAI-compatible API (it often ends in /v1)"
        return CallFailure("foreign", "answered with something that is not a chat completion", remedy + self._route.doubt)

    def of_unusable_completion(self) -> CallFailure:
        """A chat completion that cannot be one, such as one with a usage of 10^30 tokens: the address is right."""
        remedy = "look at what the server or the proxy before it answers"
        return CallFailure("transient", "answered with a chat completion whose parts cannot be read", remedy)

    def of_unfinished(self, answer: Unfinished) -> CallFailure:
        """A reply that may be half of one."""
        reason = self._redactor.clean(answer.reason)
        problem = f"answered with a reply that is not finished (its finish reason is {reason!r})"
        return CallFailure("transient", problem)

    def of_no_reply(self, answer: NoReply, *, request: ModelRequest) -> CallFailure:
        """An answer with status 200 that brings no reply."""
        if isinstance(answer, ErrorResponse):
            return self.of_error(answer, request=request)
        if isinstance(answer, Unfinished):
            return self.of_unfinished(answer)
        if isinstance(answer, Misplaced):
            remedy = "look at what the server or the proxy before it answers"
            kind: FailureKind = "doubtful" if answer.doubtful else "transient"
            return CallFailure(kind, f"answered {self._redactor.clean(answer.problem)}", remedy)
        return self.of_unusable_completion() if answer == "unusable" else self.of_unreadable_answer()

    def of_status(self, error: "openai.APIStatusError", *, request: ModelRequest) -> CallFailure:
        """An answer with an error status, in the form of OpenAI's."""
        return self.of_error(ErrorResponse.read(error), request=request)

    def of_error(self, answer: ErrorResponse, *, request: ModelRequest) -> CallFailure:
        """An answer with an error status, which may be that of a proxy in between."""
        failure = self._of_answer(answer, request=request)
        may_be_proxys = self._route.doubt and answer.status in ANSWERS_OF_PROXIES
        return replace(failure, remedy=failure.remedy + self._route.doubt) if may_be_proxys else failure

    def _of_answer(self, answer: ErrorResponse, *, request: ModelRequest) -> CallFailure:
        if answer.status == 407:
            remedy = f"put one into {self._route.variable or 'HTTP_PROXY'}, as in http://USER:PASSWORD@proxy:3128"
            return CallFailure("fatal", "could not be reached, because the proxy before it asks for a login (407)", remedy)
        if answer.says_no_quota():
            remedy = f"add credit or raise the limit at the provider, then {RUN_AGAIN}"
            return CallFailure("fatal", f"has no quota left for this key{self._quote_answer(answer)}", remedy)
        if answer.says_day_is_over():
            remedy = f"wait until the provider's next day, or use another model or key, then {RUN_AGAIN}"
            return CallFailure("fatal", f"has used up the quota of this day{self._quote_answer(answer)}", remedy)
        if answer.status == 429 and not limit_per_call(answer.text, asked=request.max_output_tokens):
            problem = f"has a rate limit that is used up{self._quote_answer(answer)}"
            remedy = SLOW_DOWN if answer.retry_after <= MAX_SECONDS else f"wait until then, and {RUN_AGAIN}"
            return CallFailure("limited", problem, remedy, retry_after=answer.retry_after)
        if answer.says_filtered():
            return CallFailure("refused", f"refused the content{self._quote_answer(answer)}")
        if can_be_split(request) and (answer.status == 413 or LONG_INPUT.search(answer.text)):
            return CallFailure("too_long", f"takes no texts as long as these{self._quote_answer(answer)}")
        if answer.status >= 500 and (answer.says_too_long() or NO_GRAMMAR.search(answer.text)):
            return self._of_request(answer, request=request)
        if NO_MEMORY.search(answer.text):
            remedy = f"free memory on the server's machine, or choose a smaller model, then {RUN_AGAIN}"
            problem = f"has too little memory for the model {request.model!r}{self._quote_answer(answer)}"
            return CallFailure("fatal", problem, remedy)
        if answer.status in PASSING or not 400 <= answer.status < 500 or MODEL_AWAY.search(answer.text):
            return CallFailure(
                "transient",
                f"failed{self._quote_answer(answer)}",
                overloaded=answer.status in (408, 503, 529),
                turned_away=answer.status in (409, 425),
                retry_after=answer.retry_after,
            )
        if answer.says_failed_generation():
            remedy = "choose another model, or set its temperature in the recipe higher"
            return CallFailure(
                "transient", f"could not make a valid reply of the model's words{self._quote_answer(answer)}", remedy
            )
        return self._of_request(answer, request=request)

    def _of_request(self, answer: ErrorResponse, *, request: ModelRequest) -> CallFailure:
        key = self._settings.key_variable
        address = self._settings.url_variable
        quoted = self._quote_answer(answer)
        named = f"prompt {request.labels.prompt or request.schema_name!r}"
        if answer.status == 401 or answer.codes & KEY_CODES:
            # Providers quote the wrong key here, masked in ways of their own: their words are not repeated.
            problem = "does not accept the API key" if self._has_key else "asks for an API key"
            return CallFailure("fatal", f"{problem} ({answer.status})", f"put a valid key into {key}")
        if answer.status == 403:
            remedy = f"check that the key in {key} may use the model {request.model!r}"
            return CallFailure("fatal", f"denied access{quoted}", remedy)
        if answer.status == 404 and ACCOUNT_POLICY.search(answer.text):
            remedy = f"change these settings of the account at the provider, then {RUN_AGAIN}"
            return CallFailure("fatal", f"serves {request.model!r} to no account with such settings{quoted}", remedy)
        lacks_fields = answer.status == 404 and NO_PROVIDER_TAKES_THE_FIELDS.search(answer.text) is not None
        names_model = answer.status == 400 and (answer.param == "model" or any(map(MODEL_CODE.search, answer.codes)))
        if names_model or (answer.status in (404, 405) and not lacks_fields):
            remedy = f"correct the model's name in the recipe, or the address in {address}"
            if self._settings.transport is not None:  # the embedded model, which plays no other
                remedy = NO_ENDPOINT
            return CallFailure("fatal", f"does not know the model {request.model!r}{quoted}", remedy)
        room = room_limit_in(answer.text, asked=request.max_output_tokens)
        if answer.says_too_long() or room:
            remedy = "choose a model with a larger context, or change max_output_tokens in the recipe"
            problem = f"finds {named} too long for the model {request.model!r}{quoted}"
            kind: FailureKind = "rejected" if room else "unserved"
            return CallFailure(kind, problem, remedy, rejection=Rejection(room=room))
        problem = f"rejected {named} for the model {request.model!r}{quoted}"
        remedy = "correct the model's settings in the recipe, or choose another model"
        explained = answer.param in ALWAYS_SENT or NAMES_MESSAGES.search(answer.text) is not None
        for name in request.extra_body:
            if re.search(rf"\b{re.escape(name)}\b", f"{answer.param} {answer.text}"):
                remedy = f"change {name} in the extra_body of the model's settings, or choose another model"
                explained = True
        kind = "rejected" if answer.status in (400, 422) or answer.status >= 500 or lacks_fields else "unserved"
        rejection = Rejection(answer.text, answer.param, unexplained=answer.status in (400, 422) and not explained)
        return CallFailure(kind, problem, remedy, rejection=rejection)

    def _quote_answer(self, answer: ErrorResponse) -> str:
        text = self._redactor.clean(answer.text)
        return f" ({answer.status}: {text.rstrip('.')})" if text else f" ({answer.status})"
