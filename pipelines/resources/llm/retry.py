"""Failures of a call, how often and how long it is tried again, and how long a service asks to wait (Retry-After).

The loop that tries a call again is `ModelClient.complete` in `client.py`. This module imports no client, so that the Hub's
retries can use it too.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Literal

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelRequest
from pipelines.resources.llm.compatibility import Rejection

FailureKind = Literal["transient", "rejected", "refused", "fatal"]
MAX_TRIES = 8
MAX_TRIES_BEFORE_ANY_REPLY = 3
MAX_TRIES_IN_AN_OUTAGE = 16  # which take five minutes
SEVERAL_USERS = 3  # who fail alike, and nobody passes between them: then it is not the request
SEVERAL_ANSWERS = 3  # to others, since a request first failed
LEAST_TRIES = 4  # before others' tries say that it is the request
UNLIKELY = 1e-6
MAX_LIMITED_TRIES = 40  # of one request, while others under the same limit get through
MAX_SECONDS = 300.0
MAX_BACKOFF = 60  # in multiples of the settings' backoff_seconds
NO_REJECTION = Rejection()
RUN_AGAIN = "start the run again, finished work is kept"
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
RESET = "x-ratelimit-reset"


@dataclass(frozen=True)
class CallFailure:
    """A try that brought no reply. `problem` and `remedy` go into a sentence, the `rejection` never does.

    transient: try again. rejected: perhaps without what the endpoint rejects. refused: the answer is no. fatal: the run ends.
    `misdirected`: the address may be wrong, so before any reply it is not worth many tries. `own`: it may lie in the request,
    and others may pass. `limited`: a rate limit is used up, which is no fault and no try. `status`: of HTTP, if there was one.
    """

    kind: FailureKind
    problem: str
    remedy: str = f"wait until it has recovered and {RUN_AGAIN}"
    overloaded: bool = False
    misdirected: bool = False
    own: bool = False
    limited: bool = False
    status: int = 0
    retry_after: float = 0.0
    rejection: Rejection = NO_REJECTION


@dataclass
class TryCounts:
    """The tries of all requests at an endpoint. `failing`: whose have failed since anybody's was answered.

    `rounds`: failures since then, of which those that were under way at the same time count once.
    """

    answered: int = 0
    failed: int = 0
    rounds: int = 0
    failing: set[str] = field(default_factory=set[str])
    _round_at: float = 0.0

    def note_answer(self) -> None:
        self.answered += 1
        self.rounds = 0
        self.failing.clear()

    def note_failure(self, request: ModelRequest, *, sent_at: float) -> None:
        self.failed += 1
        self.failing.add(request.labels.item_id)
        if sent_at >= self._round_at:
            self.rounds += 1
            self._round_at = time.monotonic()

    @property
    def is_outage(self) -> bool:
        """Whether several users fail and nobody passes, which says nothing of any request."""
        return len(self.failing) >= SEVERAL_USERS


class RetryBudget:
    """The tries that one request has had. `seconds` are spent on them and between them, not in the queue.

    `counts` are those of all requests: what became of the others' since the first failure tells whose fault it is.
    """

    def __init__(self, request: ModelRequest, *, backoff_seconds: float, counts: TryCounts) -> None:
        self.request = request
        self._counts, self._then = counts, replace(counts)
        self.tries = 0
        self.limited_tries = 0
        self.seconds = 0.0
        self._backoff = backoff_seconds

    def next_delay(self, failure: CallFailure, *, served: bool) -> float | None:
        """Seconds until the next try; None when there is to be none. `served`: the endpoint has answered others.

        A limited try waits with all others under the limit (`LearnedLimit`), and for as long as that takes.
        """
        if failure.limited:
            self.limited_tries += 1
            return 0.0 if failure.retry_after <= MAX_SECONDS and self.limited_tries < MAX_LIMITED_TRIES else None
        if not self.tries:
            self._then = replace(self._counts)
        self.tries += 1
        if failure.kind != "transient" or (failure.own and self._fails_alone()):
            return None
        # Where many calls wait, a probe is another request each time, and none is tried often.
        if failure.misdirected and not served and max(self.tries, self._counts.rounds) >= MAX_TRIES_BEFORE_ANY_REPLY:
            return None
        if self.tries >= (MAX_TRIES_IN_AN_OUTAGE if self._counts.is_outage else MAX_TRIES):
            return None
        growing = min(2 ** (self.tries - 1), MAX_BACKOFF) * self._backoff / 2
        delay = max(failure.retry_after, growing) + growing * self._jitter()
        return delay if self.seconds + delay <= MAX_SECONDS else None

    def error_message(self, failure: CallFailure, *, endpoint: str) -> str:
        """The sentence for the user: where, what, and what to do."""
        tried = self.limited_tries if failure.limited else max(self.tries, self._counts.rounds if failure.misdirected else 0)
        tries = f" at the last of {tried} tries" if failure.kind == "transient" and tried > 1 else ""
        asked = f" and asks to be left alone for {failure.retry_after:.0f} seconds" if failure.retry_after > MAX_SECONDS else ""
        return f"The model endpoint {endpoint} {failure.problem}{tries}{asked}; {failure.remedy}."

    @property
    def others_passed(self) -> bool:
        """Whether several others were answered since it first failed; then its failures tell nothing of the endpoint."""
        return self.tries > 0 and self._counts.answered - self._then.answered >= SEVERAL_ANSWERS

    def _fails_alone(self) -> bool:
        """Whether a request like the others would hardly ever have failed so often while they passed."""
        if self.tries < LEAST_TRIES:
            return False
        answered = self._counts.answered - self._then.answered
        failed = self._counts.failed - self._then.failed - (self.tries - 1)
        return ((failed + 1) / (answered + failed + 2)) ** self.tries < UNLIKELY

    def _jitter(self) -> float:
        """From 0 to 1, the same for the same request and try: requests that failed together come back apart."""
        words = (message.content for message in self.request.messages)
        return SeededRandom(*words, self.request.sample, self.tries).integer_below(1000) / 1000


def retry_after_seconds(headers: Mapping[str, str], *, limited: bool) -> float:
    """Seconds to wait, 0 without a hint. `headers` ignores case, as httpx2.Headers does.

    `limited`: the answer says that a rate limit is used up; only then do the headers that describe limits matter.
    """
    if "retry-after-ms" in headers:
        return parse_duration(headers["retry-after-ms"] + "ms")
    if "retry-after" in headers:
        return parse_duration(headers["retry-after"])
    if not limited:
        return 0.0
    # Providers send one reset per limit, also for limits that are not used up: only those count, where they are known.
    resets = {name.lower(): parse_duration(value) for name, value in headers.items() if name.lower().startswith(RESET)}
    used_up = [wait for name, wait in resets.items() if headers.get(name.replace("reset", "remaining")) == "0"]
    return max(used_up) if used_up else min(resets.values(), default=0.0)


def parse_duration(text: str) -> float:
    """A duration ("2", "1m30.5s", "20ms"), a point in time (seconds or milliseconds since 1970) or an HTTP date."""
    text = text.strip().lower()
    if PART.sub("", text) == "":
        return sum(float(amount) * UNITS[unit] for amount, unit in PART.findall(text))
    if re.fullmatch(r"\d+(\.\d+)?", text):
        number = float(text)
        moment = number / 1000 if number > 1e12 else number
        return max(0.0, moment - time.time()) if moment > 1e9 else number
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0
