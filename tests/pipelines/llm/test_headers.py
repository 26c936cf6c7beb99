"""Headers of one's own go with every request to the address that they were given for, and into no message."""

import asyncio
import logging
from typing import Any

import pytest

from assets.llm.ports import EndpointError
from pipelines.redaction import shareable
from pipelines.resources.cache.reply_cache import open_replies
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.place import EndpointPlace
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.scripted_server import a_request
from tests.support.echo_server import Answer, EchoServer, echo_server

SECRET = "w4lrus-k3y-0123456789"
REPLY = {"choices": [{"message": {"content": "Ada"}, "finish_reason": "stop"}]}


def given(server: EchoServer, headers: str, **more: str) -> EndpointSettings:
    """The settings from an environment with these headers."""
    environ = {"AMEMGYM_BASE_URL": f"{server.url}/v1?api-version=7", "AMEMGYM_HEADERS": headers, **more}
    settings = EndpointSettings.from_environment(environ)
    assert settings is not None
    return settings.model_copy(update={"backoff_seconds": 0.01})


def ask(settings: EndpointSettings) -> str:
    return asyncio.run(ModelClient(settings).complete(a_request())).text


def a_model(path: str) -> Answer:
    return (200, {"data": []}) if "/models" in path else (200, REPLY)


def test_they_go_with_every_request_beside_the_key(tmp_path: Any) -> None:
    with echo_server(answer=a_model) as server:
        settings = given(server, f"X-Team: blue\\nX-Gateway-Key: {SECRET}", AMEMGYM_API_KEY="key-1234")
        assert ask(settings) == "Ada"
        asyncio.run(EndpointPlace(settings, replies=open_replies(tmp_path / "calls.sqlite")).of("m"))
    assert server.paths == ["/v1/chat/completions?api-version=7", "/v1/models?api-version=7"]
    for headers in server.headers:
        assert (headers["x-team"], headers["x-gateway-key"]) == ("blue", SECRET)
        assert headers["authorization"] == "Bearer key-1234"


def test_a_header_may_stand_in_the_place_of_a_key() -> None:
    with echo_server(answer=a_model) as server:
        assert ask(given(server, f"api-key: {SECRET}\nUser-Agent: bench")) == "Ada"
        assert ask(given(server, f"Authorization: Token {SECRET}")) == "Ada"
    first, second = server.headers
    assert "authorization" not in first
    assert (first["api-key"], first["user-agent"]) == (SECRET, "bench")
    assert second["authorization"] == f"Token {SECRET}"


def test_no_sentence_has_them() -> None:
    with echo_server() as server, pytest.raises(EndpointError) as told:
        ask(given(server, f"X-Gateway-Key: Bearer {SECRET}"))
    assert "cannot read" in str(told.value)
    assert SECRET[:6] not in str(told.value)


def test_a_redirect_to_another_server_sends_nothing_there_and_ends_the_run() -> None:
    with echo_server(answer=a_model) as other, echo_server(redirect=other.url.__add__) as server:
        with pytest.raises(EndpointError) as told:
            ask(given(server, f"X-Gateway-Key: {SECRET}"))
        there = other.url
    assert str(told.value) == (
        f"The model endpoint {server.url}/v1 sends requests on to {there}; put the address that is to read the prompts into "
        "AMEMGYM_BASE_URL."
    )
    assert (len(server.headers), other.headers) == (1, [])


def test_what_belongs_to_openais_address_goes_to_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Gateway-Key: {SECRET}")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-ada")
    with echo_server(answer=a_model) as server:
        ask(given(server, ""))
        openai = EndpointSettings.from_environment(
            {"OPENAI_BASE_URL": server.url, "OPENAI_CUSTOM_HEADERS": f"X-Gateway-Key: {SECRET}"}
        )
        assert openai is not None
        ask(openai)
    theirs, its_own = server.headers
    assert not {"x-gateway-key", "openai-organization"} & theirs.keys()
    assert (its_own["x-gateway-key"], its_own["openai-organization"]) == (SECRET, "org-ada")


def test_headers_without_their_address_are_refused_and_not_left_out() -> None:
    for others in ({}, {"OPENAI_API_KEY": "key-1234"}):
        with pytest.raises(EndpointError, match="AMEMGYM_HEADERS goes with the address in AMEMGYM_BASE_URL") as refused:
            EndpointSettings.from_environment({"AMEMGYM_HEADERS": f"X-Team: {SECRET}", **others})
        assert SECRET not in str(refused.value)


def test_tracebacks_and_logs_have_none_of_them(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("AMEMGYM_HEADERS", f"X-Team: blue\\nX-Gateway-Key: Bearer {SECRET}")
    assert shareable(f"KeyError: {SECRET}, of blue and Gateway") == "KeyError: [hidden], of blue and Gateway"
    with caplog.at_level(logging.INFO), echo_server(answer=a_model) as server:
        address = server.url.replace("://", f"://ada:{SECRET}@")
        settings = EndpointSettings.from_environment({"AMEMGYM_BASE_URL": f"{address}/v1?api_key={SECRET}"})
        assert settings is not None
        ask(settings)
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        (SECRET, "must be headers, a line for each"),
        (f"X Team: {SECRET}", "must be headers, a line for each"),
        (f"Host: {SECRET}", "may not hold the header Host"),
        (f"X-Team: {SECRET}ü", "must give the header X-Team a value of printable ASCII"),
        ("X-Team:", "must give the header X-Team a value of printable ASCII"),
        (
            f"authorization: {SECRET}",
            "AMEMGYM_HEADERS holds the header Authorization, which is made of AMEMGYM_API_KEY too; take one out",
        ),
    ],
)
def test_headers_that_cannot_be_sent_name_their_variable_and_repeat_no_value(headers: str, words: str) -> None:
    environ = {"AMEMGYM_BASE_URL": "http://host/v1", "AMEMGYM_API_KEY": "key-1234", "AMEMGYM_HEADERS": headers}
    with pytest.raises(EndpointError) as refused:
        EndpointSettings.from_environment(environ)
    assert words in str(refused.value)
    assert "AMEMGYM_HEADERS" in str(refused.value)
    assert SECRET not in str(refused.value)
