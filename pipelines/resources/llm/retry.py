"""How often and how long one request is tried."""

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelRequest
from pipelines.resources.llm.errors import Trouble

MOST_TRIES = 8
MOST_TRIES_BEFORE_ANY_REPLY = 3
PATIENCE_SECONDS = 300.0
LONGEST_BACKOFF = 60  # in multiples of the settings' backoff_seconds


class Effort:
    """The tries that one request has had. `seconds` are spent on them and between them, not in the queue."""

    def __init__(self, request: ModelRequest, *, backoff_seconds: float) -> None:
        self.request = request
        self.tries = 0
        self.seconds = 0.0
        self._backoff = backoff_seconds

    def wait_after(self, trouble: Trouble, *, served: bool) -> float | None:
        """Seconds until the next try; None when there is to be none. `served`: the endpoint has answered others."""
        self.tries += 1
        most = MOST_TRIES_BEFORE_ANY_REPLY if trouble.misdirected and not served else MOST_TRIES
        if trouble.kind != "transient" or self.tries >= most:
            return None
        growing = min(2 ** (self.tries - 1), LONGEST_BACKOFF) * self._backoff / 2
        wait = max(trouble.wait, growing) + growing * self._jitter()
        return wait if self.seconds + wait <= PATIENCE_SECONDS else None

    def farewell(self, trouble: Trouble, *, place: str) -> str:
        """The sentence for the user: where, what, and what to do."""
        tries = f" at the last of {self.tries} tries" if trouble.kind == "transient" and self.tries > 1 else ""
        asked = f" and asks to be left alone for {trouble.wait:.0f} seconds" if trouble.wait > PATIENCE_SECONDS else ""
        return f"The model endpoint {place} {trouble.what}{tries}{asked}; {trouble.remedy}."

    def _jitter(self) -> float:
        """From 0 to 1, the same for the same request and try: requests that failed together come back apart."""
        words = (message.content for message in self.request.messages)
        return SeededRandom(*words, self.request.sample, self.tries).integer_below(1000) / 1000
