"""The quota of the simulated provider: what it refuses, what it says then, and how it fills up again."""

import pytest

from pipelines.embedded.app import embedded_app
from tests.pipelines.llm.provider_requests import TEXTS, chat, post
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Needs, Provider, Quota, duration


def test_too_many_requests_get_what_a_provider_says() -> None:
    provider = Provider(embedded_app(), FaultProfile(requests_per_minute=2))
    answers = [post(provider, chat(text)) for text in TEXTS[:3]]
    assert [answer and answer.status_code for answer in answers] == [200, 200, 429]
    first, last = answers[0], answers[2]
    assert first is not None
    assert last is not None
    assert first.headers["x-ratelimit-limit-requests"] == "2"
    assert first.headers["x-ratelimit-remaining-requests"] == "1"
    assert 29 <= int(last.headers["retry-after"]) <= 30
    assert 29_000 <= int(last.headers["retry-after-ms"]) <= 30_000
    assert last.headers["x-ratelimit-remaining-requests"] == "0"
    assert last.headers["x-ratelimit-reset-requests"].startswith(("59", "1m"))
    error = last.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("requests", "rate_limit_exceeded", None)


def test_a_quota_fills_up_again_and_a_guess_is_corrected() -> None:
    now = [0.0]
    quota = Quota(FaultProfile(requests_per_minute=60, tokens_per_minute=600), clock=lambda: now[0])
    needs = Needs(tokens=500)
    assert quota.admit(needs) is None
    short = quota.admit(needs)
    assert short is not None
    assert dict(short.headers)[b"retry-after"] == b"40"
    assert short.content["error"]["type"] == "tokens"
    quota.settle(needs, tokens=100)
    assert quota.headers()["x-ratelimit-remaining-tokens"] == "500"
    assert quota.admit(needs) is None, "a refusal uses nothing"
    now[0] = 60.0
    assert quota.headers()["x-ratelimit-remaining-tokens"] == "600"
    too_large = quota.admit(Needs(tokens=601))
    assert too_large is not None
    assert "too large" in too_large.content["error"]["message"]


@pytest.mark.parametrize(("seconds", "text"), [(0.12, "120ms"), (1.5, "1.5s"), (90.5, "1m30.5s"), (360, "6m0s")])
def test_durations_read_as_providers_write_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
