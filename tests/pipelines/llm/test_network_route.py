"""Proxies and certificates come from the environment; where they lead nowhere, one sentence names the variable."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.services.http_service import HttpMemory
from pipelines.network_route import NetworkRoute
from pipelines.resources.llm.client import ModelClient
from tests.pipelines.llm.scripted_server import ScriptedServer, a_request, on_a_port, settings_for
from tests.support.coroutines import run
from tests.support.echo_server import Answer, echo_server
from tests.support.tls import on_a_tls_port, own_certificate

NOBODY = "127.0.0.1:9"
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def url() -> Iterator[str]:
    with on_a_port(ScriptedServer()) as address:
        yield address


def ask(url: str) -> str:
    return asyncio.run(ModelClient(settings_for(url)).complete(a_request())).text


def sentence(url: str) -> str:
    with pytest.raises(EndpointError) as told:
        ask(url)
    return str(told.value)


def forbidden(path: str) -> Answer:
    return 403, {"error": "not allowed"}


def without_login(path: str) -> Answer:
    return 407, {}


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HTTP_PROXY", f"http://ada:walrus-pw@{NOBODY}", "the proxy http://127.0.0.1:9 in HTTP_PROXY does not answer"),
        ("http_proxy", NOBODY, "in http_proxy does not answer"),
        ("ALL_PROXY", f"http://{NOBODY}", "in ALL_PROXY does not answer"),
        ("ALL_PROXY", f"socks5://{NOBODY}", "The variable ALL_PROXY names a SOCKS proxy, for which the package socksio"),
        ("all_proxy", f"socks://{NOBODY}/", "The variable all_proxy names a proxy by socks://"),
        ("HTTP_PROXY", "http://proxy:port", "The variable HTTP_PROXY holds no address of a proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_variable(
    variable: str, value: str, words: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    told = sentence(url)
    assert words in told
    assert "walrus-pw" not in told
    monkeypatch.setenv("NO_PROXY", "other.example, 127.0.0.0/8")
    assert "Ada" in ask(url)


def test_a_proxy_that_answers_in_the_servers_place_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with echo_server(answer=forbidden) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert "may be that of the proxy in HTTP_PROXY: put 127.0.0.1 into NO_PROXY" in sentence(url)
    with echo_server(answer=without_login) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert "asks for a login (407); put one into HTTP_PROXY" in sentence(url)


def test_a_proxy_that_lets_nobody_through_to_tls_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with on_a_port(ScriptedServer()) as proxy:  # which knows no CONNECT
        monkeypatch.setenv("https_proxy", proxy.removesuffix("/v1"))
        assert "in https_proxy refused" in sentence("https://model.example/v1")


@pytest.mark.parametrize(
    ("exceptions", "host", "excepted"),
    [
        ("*", "model.example", True),
        ("example", "model.example", True),
        (".model.example", "model.example", True),
        ("*.example", "model.example", True),
        ("odel.example", "model.example", False),
        ("model.example:8000", "model.example", False),
        ("model.example:443", "model.example", True),
        ("https://model.example", "model.example", True),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("::1", "[::1]", True),
        ("[::1]", "[::1]", True),
        ("bad:port", "model.example", False),
    ],
)
def test_exceptions_are_hosts_domains_and_networks(
    exceptions: str, host: str, excepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", NOBODY)
    monkeypatch.setenv("NO_PROXY", exceptions)
    assert (NetworkRoute.to(f"https://{host}/v1").proxy == "") == excepted


def test_a_certificate_of_ones_own_is_trusted_where_the_environment_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = own_certificate(tmp_path)
    with on_a_tls_port(ScriptedServer(), certificate) as url:
        assert "shows a certificate that this machine does not trust" in sentence(url)
        assert "SSL_CERT_FILE" in sentence(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate(tmp_path, days=3)))
        assert "signed by nobody in SSL_CERT_FILE" in sentence(url)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert "Ada" in ask(url)


def test_certificates_of_another_host_or_of_the_past_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for certificate, words in (
        (own_certificate(tmp_path, host="10.0.0.1"), "a certificate of another host"),
        (own_certificate(tmp_path, days=-1), "a certificate that is out of date"),
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with on_a_tls_port(ScriptedServer(), certificate) as url:
            assert words in sentence(url)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_certificates_that_do_not_exist_are_named_before_any_call(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/nowhere/ca.pem")
    assert f"The variable {variable} names /nowhere/ca.pem, which does not exist" in sentence("https://model.example/v1")


def test_a_file_without_certificates_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    assert "ca.pem, which has no certificate in PEM form" in sentence("https://model.example/v1")


def test_tls_to_a_server_without_it_is_told(url: str) -> None:
    assert "does not speak TLS; write http:// in AMEMGYM_BASE_URL" in sentence(url.replace("http://", "https://"))


def test_a_memory_service_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def write() -> None:
        await HttpMemory(address="http://memory.example/v1").write([])

    monkeypatch.setenv("HTTP_PROXY", f"http://ada:walrus-pw@{NOBODY}")
    with pytest.raises(MemoryFailed, match=r"the proxy http://127\.0\.0\.1:9 in HTTP_PROXY does") as told:
        run(write())
    assert "walrus-pw" not in str(told.value)
    monkeypatch.setenv("HTTP_PROXY", f"socks5://{NOBODY}")
    with pytest.raises(MemoryFailed, match="The variable HTTP_PROXY names a SOCKS proxy"):
        run(write())
