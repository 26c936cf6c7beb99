"""One call to the Hub with our own patience: time limits, tries, and the port's errors for the client's."""

import time
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import set_client_factory
from huggingface_hub.utils import get_token, logging
from huggingface_hub.utils._http import default_client_factory

from dataset_card.hub.port import HubDenied, HubError, HubMissing, HubStale, HubUncertain, HubUnreachable
from pipelines.resources.hub.errors import CLIENT_ERRORS, HubTrouble, diagnose
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.llm.redaction import Redactor

T = TypeVar("T")
LONG_WAIT = 5.0
CLASSES: dict[str, type[HubError]] = {
    "offline": HubUnreachable,
    "transient": HubUnreachable,
    "stale": HubStale,
    "missing": HubMissing,
    "fatal": HubError,
}


class HubCalls:
    """Sends calls of the client. The client by itself waits for ever, and retries some calls and not others."""

    def __init__(self, settings: HubSettings, *, endpoint: str) -> None:
        self._settings, self._endpoint = settings, endpoint
        set_client_factory(self._client)
        # Its warnings quote addresses that are signed for one upload.
        logging.set_verbosity_error()

    def ask(self, what: str, call: Callable[[], T]) -> T:
        """Read, several times if need be. Raises the port's errors but HubUncertain."""
        number = 0
        while True:
            number += 1
            try:
                return call()
            except CLIENT_ERRORS as error:
                trouble = self._trouble(error)
                if trouble.kind != "transient" or number >= self._settings.tries or self._too_long(trouble):
                    raise self._refusal(what, trouble) from error
            self._rest(what, trouble, number)

    def send(self, what: str, call: Callable[[], T]) -> T:
        """Write once: whether it happened although no reply came is for the caller to find out."""
        try:
            return call()
        except CLIENT_ERRORS as error:
            trouble = self._trouble(error)
            if trouble.kind == "transient" and not self._too_long(trouble):
                raise HubUncertain(f"{what} got no clear answer: {trouble.what}", wait=trouble.wait) from error
            raise self._refusal(what, trouble) from error

    def _client(self) -> httpx2.Client:
        client = default_client_factory()
        client.timeout = httpx2.Timeout(self._settings.timeout, connect=self._settings.connect_timeout)
        return client

    def _trouble(self, error: BaseException) -> HubTrouble:
        return diagnose(error, host=urlsplit(self._endpoint).netloc, redactor=Redactor(get_token() or ""))

    def _too_long(self, trouble: HubTrouble) -> bool:
        return trouble.wait > self._settings.longest_wait

    def _rest(self, what: str, trouble: HubTrouble, number: int) -> None:
        wait = max(trouble.wait, self._settings.first_wait * 2.0 ** (number - 1))
        if wait >= LONG_WAIT:
            self._settings.notice(f"{self._endpoint}, {what}: {trouble.what}; trying again in {wait:.0f} s.")
        time.sleep(wait)

    def _refusal(self, what: str, trouble: HubTrouble) -> HubError:
        sentence = f"{self._endpoint}, {what}: {trouble.what}"
        if trouble.kind == "denied":
            return HubDenied(f"{sentence}; {login_advice()}.")
        remedies = {
            "offline": "unset it to reach the Hub",
            "transient": f"try again in {max(trouble.wait, 60.0):.0f} seconds, nothing is lost",
            "missing": "check the name, and that the token may see it",
        }
        remedy = remedies.get(trouble.kind)
        return CLASSES[trouble.kind](f"{sentence}; {remedy}." if remedy else f"{sentence}.")


def login_advice() -> str:
    """What to do about a right that is missing."""
    if get_token() is None:
        return "log in with `hf auth login`, or put a token into HF_TOKEN"
    return "use a token that may (`hf auth login`, or HF_TOKEN)"
