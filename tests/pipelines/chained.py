"""What the tests of the whole chain share: a small size, and an app that counts what it answers."""

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from tests.pipelines.llm.scripted_server import on_a_port
from tests.support.simulated_provider.exchange import hang

SMALL = ["--set", "num_users=2", "--set", "num_questions=3", "--set", "num_periods=2"]
# The least that is released.
TINY = ["--set", "num_users=1", "--set", "num_questions=2", "--set", "num_periods=1"]
# That the embedded model behind an address takes every role.
SERVED = ["--model", model_name(), "--set", f"diversity.embedding_model={model_name()}"]
IN_FLIGHT = 4


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


@dataclass(frozen=True)
class Endpoint:
    """The embedded model behind an address, and the variables that send a command there."""

    app: Counted
    surroundings: dict[str, str]


@contextmanager
def endpoint(*, latency: float = 0.0) -> Generator[Endpoint]:
    """One that can stop answering, so that a command cannot end before it is stopped, however late that is.

    `latency`: seconds before each reply.
    """
    key = "sk-test-0123456789"
    app = Counted(embedded_app(api_key=key, latency=latency))
    with on_a_port(app) as url:
        limit = {"AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)}
        yield Endpoint(app, {"AMEMGYM_BASE_URL": url, "AMEMGYM_API_KEY": key, **limit})
