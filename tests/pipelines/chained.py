"""What the tests of the whole chain share: a small size, and an app that counts what it answers."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.simulated_provider.exchange import hang

SMALL = ["--set", "num_users=2", "--set", "num_questions=3", "--set", "num_periods=2"]


class Counted:
    """An ASGI app that counts how often each request body was answered; what has none, such as `/models`, does not count.

    While `enough()` holds, it answers nobody who asks, until whoever asked is gone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.answered: Counter[bytes] = Counter()
        self.enough: Callable[[], bool] = lambda: False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        body = await Request(scope, receive).body()
        if self.enough():
            return await hang(receive)
        self.answered[body] += 1

        async def replay() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        return await self.app(scope, replay, send)
