"""How often and how long one request is tried."""

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelRequest
from pipelines.resources.llm.errors import CallFailure

MAX_TRIES = 8
MAX_TRIES_BEFORE_ANY_REPLY = 3
MAX_SECONDS = 300.0
MAX_BACKOFF = 60  # in multiples of the settings' backoff_seconds


class RetryBudget:
    """The tries that one request has had. `seconds` are spent on them and between them, not in the queue."""

    def __init__(self, request: ModelRequest, *, backoff_seconds: float) -> None:
        self.request = request
        self.tries = 0
        self.seconds = 0.0
        self._backoff = backoff_seconds

    def next_delay(self, failure: CallFailure, *, served: bool) -> float | None:
        """Seconds until the next try; None when there is to be none. `served`: the endpoint has answered others."""
        self.tries += 1
        most = MAX_TRIES_BEFORE_ANY_REPLY if failure.misdirected and not served else MAX_TRIES
        if failure.kind != "transient" or self.tries >= most:
            return None
        growing = min(2 ** (self.tries - 1), MAX_BACKOFF) * self._backoff / 2
        delay = max(failure.retry_after, growing) + growing * self._jitter()
        return delay if self.seconds + delay <= MAX_SECONDS else None

    def error_message(self, failure: CallFailure, *, endpoint: str) -> str:
        """The sentence for the user: where, what, and what to do."""
        tries = f" at the last of {self.tries} tries" if failure.kind == "transient" and self.tries > 1 else ""
        asked = f" and asks to be left alone for {failure.retry_after:.0f} seconds" if failure.retry_after > MAX_SECONDS else ""
        return f"The model endpoint {endpoint} {failure.problem}{tries}{asked}; {failure.remedy}."

    def _jitter(self) -> float:
        """From 0 to 1, the same for the same request and try: requests that failed together come back apart."""
        words = (message.content for message in self.request.messages)
        return SeededRandom(*words, self.request.sample, self.tries).integer_below(1000) / 1000
