"""Failures of a call, how often and how long it is tried again, and how long a service asks to wait (Retry-After).

The loop that tries a call again is in `client.py`. This module imports no client, so that the Hub's retries can use it too.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Literal

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelRequest
from pipelines.resources.llm.compatibility import Rejection

# limited: a rate limit turned the try away. transient: it may pass. foreign: the answer is in no form of the API.
# doubtful: the reply is perhaps another model's. unreachable: nobody listens. rejected: perhaps it passes without what the
# endpoint rejects. unserved: this request never passes. refused: the answer is no. too_long: texts that pass in parts.
# fatal: no request passes.
FailureKind = Literal[
    "limited", "transient", "foreign", "doubtful", "unreachable", "rejected", "unserved", "refused", "too_long", "fatal"
]
TRIED_AGAIN: frozenset[FailureKind] = frozenset({"limited", "transient", "foreign", "doubtful", "unreachable"})
SUSPECT_ADDRESS: frozenset[FailureKind] = frozenset({"foreign", "unreachable"})
MAY_BE_PAID: frozenset[FailureKind] = frozenset({"transient", "foreign", "doubtful"})
ENDS_THE_RUN: frozenset[FailureKind] = frozenset({"unreachable", "fatal"})

MAX_TRIES = 10  # their waits add up to more than a minute, which an endpoint takes to start again
MAX_TRIES_BEFORE_ANY_REPLY = 3  # of an address that may be wrong: nobody should wait a minute to hear of it
MAX_TRIES_AS_A_WHOLE = 3  # of what can be asked in parts: one text of many may be what fails
MAX_LIMITED_TRIES = 40  # of one request: it may be larger than the limit, so that it never passes
MAX_SECONDS = 300.0  # for one request's tries, and for what a Retry-After may ask
MAX_BACKOFF = 60  # in multiples of the settings' backoff_seconds
NO_REJECTION = Rejection()
RUN_AGAIN = "start the run again, finished work is kept"
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
RESET = "x-ratelimit-reset"


@dataclass(frozen=True)
class CallFailure:
    """A try that brought no reply. `problem` and `remedy` go into a sentence, the `rejection` never does.

    `overloaded`: the endpoint wants fewer calls at once. `turned_away`: the model did not get to it.
    """

    kind: FailureKind
    problem: str
    remedy: str = f"wait until it has recovered and {RUN_AGAIN}"
    overloaded: bool = False
    turned_away: bool = False
    retry_after: float = 0.0
    rejection: Rejection = NO_REJECTION

    @property
    def may_be_paid(self) -> bool:
        """Return True where the model may have worked: all but what was turned away, or never sent, can be on the bill."""
        return self.kind in MAY_BE_PAID and not self.turned_away


class RetryBudget:
    """The tries that one request has had. `seconds` are spent on them and between them, not in the queue."""

    def __init__(self, request: ModelRequest, *, backoff_seconds: float) -> None:
        self.request = request
        self.tries = 0
        self.limited_tries = 0
        self.seconds = 0.0
        self._backoff = backoff_seconds
        self._most_tries = MAX_TRIES_AS_A_WHOLE if request.labels.divisible else MAX_TRIES

    def next_delay(self, failure: CallFailure, *, served: bool) -> float | None:
        """Return the seconds until the next try; None when there is to be none. `served`: the endpoint has replied before.

        A limited try counts apart.
        """
        if failure.kind == "limited":
            self.limited_tries += 1
            too_long = failure.retry_after > MAX_SECONDS
            return None if too_long or self.limited_tries >= MAX_LIMITED_TRIES else self._delay(failure, self.limited_tries)
        self.tries += 1
        suspect = failure.kind in SUSPECT_ADDRESS and not served
        most = MAX_TRIES_BEFORE_ANY_REPLY if suspect else self._most_tries
        if failure.kind not in TRIED_AGAIN or self.tries >= most:
            return None
        delay = self._delay(failure, self.tries)
        self.seconds += delay
        return delay if self.seconds <= MAX_SECONDS else None

    def error_message(self, failure: CallFailure, *, endpoint: str) -> str:
        """Return the sentence for the user: where, what, and what to do."""
        tried = self.limited_tries if failure.kind == "limited" else self.tries
        tries = f" at the last of {tried} tries" if failure.kind in TRIED_AGAIN and tried > 1 else ""
        asked = f" and asks to be left alone for {failure.retry_after:.0f} seconds" if failure.retry_after > MAX_SECONDS else ""
        return f"The model endpoint {endpoint} {failure.problem}{tries}{asked}; {failure.remedy}."

    def _delay(self, failure: CallFailure, tries: int) -> float:
        """Return what the endpoint asks for, at least a time that doubles with each try, and a part of that more.

        The part is the same for the same request and try: requests that failed together come back apart.
        """
        growing = min(2 ** (tries - 1), MAX_BACKOFF) * self._backoff / 2
        words = (message.content for message in self.request.messages)
        jitter = SeededRandom(*words, self.request.sample, tries).integer_below(1000) / 1000
        # One server of several may be down for a day: only a limit counts for all of them.
        longest = MAX_SECONDS if failure.kind == "limited" else MAX_BACKOFF * self._backoff
        return max(min(failure.retry_after, longest), growing) + growing * jitter


def retry_after_seconds(headers: Mapping[str, str], *, limited: bool) -> float:
    """Return the seconds to wait, 0 without a hint. `headers` ignores case, as httpx2.Headers does.

    `limited`: the answer says that a rate limit is used up; only then do the headers that describe limits matter.
    """
    if "retry-after-ms" in headers:
        return parse_duration(headers["retry-after-ms"] + "ms")
    if "retry-after" in headers:
        return parse_duration(headers["retry-after"])
    if not limited:
        return 0.0
    # Providers send a reset for each of their limits. Only a limit that is used up makes anybody wait; where no header says
    # which one is, the shortest is tried.
    waits: list[float] = []
    waits_of_used_up: list[float] = []
    for name, value in headers.items():
        if name.lower().startswith(RESET):
            waits.append(parse_duration(value))
            if headers.get(name.lower().replace("reset", "remaining")) == "0":
                waits_of_used_up.append(waits[-1])
    return max(waits_of_used_up) if waits_of_used_up else min(waits, default=0.0)


def parse_duration(text: str) -> float:
    """Return the seconds that a text gives, 0 where it cannot be read.

    It is a duration ("2", "1m30.5s", "20ms"), a point in time (seconds or milliseconds since 1970) or an HTTP date.
    """
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
