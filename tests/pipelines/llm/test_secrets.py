"""No key and no password gets into a sentence, an address that is shown, or a file, whatever a server makes of it."""

import asyncio
import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.llm.ports import EndpointError
from pipelines.redaction import MAX_LENGTH, Redactor, public_address, secrets_of, shareable
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.scripted_server import a_request, completion
from tests.support.echo_server import echo_server

SECRET = "w1mbat/Käng+7%roo&9"  # a / and a %, which addresses escape, and an umlaut, which JSON does
KEY = "w1mbat/K4ng+7%roo&9"  # the same as a header can hold it


def in_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent-encoded": lambda text: quote(text, safe=""),
    "percent-encoded in small letters": lambda text: quote(text, safe="").replace("%2F", "%2f").replace("%C3", "%c3"),
    "as a form": quote_plus,
    "as JSON": json.dumps,
    "as JSON within JSON": lambda text: json.dumps(json.dumps(text)),
    "as HTML": html.escape,
    "base64": in_base64,
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 of user and password": lambda text: in_base64(f"user:{text}"),
    "base64 that is cut off": lambda text: in_base64(f"user:{text}")[:30],
    "base64, percent-encoded": lambda text: quote(in_base64(f"u:{text}"), safe=""),
    "base64 after other letters": lambda text: f"Basic+{in_base64(f'u:{text}')}",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_hidden_in_every_form(form: str) -> None:
    written = FORMS[form](SECRET)
    for around in ("{}", "authorization: Basic {}.", '{{"Authorization":"Basic {}","x":1}}', "{}\nand a line"):
        text = around.format(written)
        for told in (Redactor(SECRET).clean(text), Redactor(SECRET).hide(text)):
            assert written not in told
            assert SECRET not in told
            assert "[hidden]" in told


def test_a_login_in_base64_is_hidden_though_it_is_cut_off_and_short() -> None:
    assert Redactor("hunter2").clean(f"Basic {in_base64('user:hunter2')[:12]}...") == "Basic [hidden]"
    assert Redactor().clean(f"Basic {in_base64('somebody:else')}") == "Basic [hidden]"
    assert Redactor("hunter2").clean("a basic understanding of authorization") == "a basic understanding of authorization"


def test_ordinary_words_and_lines_stay() -> None:
    text = 'The model "llama-3.1" is unknown.\n  Look at https://host/v1/models?limit=3, 100 % of aGVsbG8gd29ybGQ= is there.'
    assert Redactor(SECRET).hide(text) == text
    assert Redactor().hide(text) == text


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_around_it_lets_a_password_through(before: str, after: str) -> None:
    login = in_base64(f"user:{KEY}")
    told = Redactor(KEY).clean(f"{before} {login} {after}")
    assert len(told) <= MAX_LENGTH
    assert login not in told


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://user:pass@host:8000/v1", "http://host:8000/v1"),
        ("https://token@host/v1/", "https://host/v1/"),
        ("https://host/v1?key=secret&api_key=other#part", "https://host/v1"),
        ("https://user:p%40ss@[::1]:80/v1", "https://[::1]:80/v1"),
        ("https://user:pa/ss@host/v1", "https://[hidden]"),
        ("https://user:12/34@host/v1", "https://[hidden]"),
        ("https://user:pa?ss@host/v1", "https://[hidden]"),
    ],
)
def test_an_address_is_shown_without_what_is_secret_in_it(address: str, shown: str) -> None:
    assert public_address(address) == shown


def test_calls_and_runs_of_an_address_are_the_same_with_and_without_what_is_secret_in_it() -> None:
    written = ("http://host:1/v1", "http://otter:narwhal@host:1/v1", "http://host:1/v1?key=walrus", "http://HOST:1/v1")
    assert {settings_of(AMEMGYM_BASE_URL=address).address for address in written} == {"http://host:1/v1"}
    assert "narwhal" not in repr(settings_of(AMEMGYM_BASE_URL=written[1]))


def test_what_is_secret_in_an_address_is_known() -> None:
    assert secrets_of("http://user:p%40ss@host/v1?key=abc&api-version=2024-10-21-preview") == ("p@ss", "abc")
    assert secrets_of("http://token@host") == ("token",)
    assert secrets_of("http://host/v1") == ()


def told_by(settings: EndpointSettings) -> str:
    with pytest.raises(EndpointError) as caught:
        asyncio.run(ModelClient(settings).complete(a_request()))
    return str(caught.value)


def settings_of(**environ: str) -> EndpointSettings:
    settings = EndpointSettings.from_environment({**environ, "AMEMGYM_TIMEOUT": "20"})
    assert settings is not None
    return settings


def leaked(told: str, secret: str) -> list[str]:
    """The forms of the secret that stand in the text."""
    return [form for form, escape in FORMS.items() if escape(secret) in told]


@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_repeats_the_headers_tells_no_key_in_any_form(form: str) -> None:
    with echo_server(escape=FORMS[form]) as server:
        told = told_by(settings_of(AMEMGYM_BASE_URL=f"{server.url}/v1", AMEMGYM_API_KEY=KEY))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert "(400: " in told
    assert leaked(told, KEY) == []


def test_a_server_that_repeats_the_headers_tells_no_password_of_the_address() -> None:
    with echo_server() as server:
        address = server.url.replace("://", f"://otter:{quote(KEY, safe='')}@")
        told = told_by(settings_of(AMEMGYM_BASE_URL=f"{address}/v1"))
    login = in_base64(f"otter:{KEY}")
    assert server.headers[0]["authorization"] == f"Basic {login}"
    assert leaked(told, KEY) == []
    assert login not in told


def served(path: str) -> tuple[int, object]:
    return 200, completion().body


def test_a_key_in_the_address_query_goes_with_every_request_and_into_no_sentence() -> None:
    with echo_server() as server:
        address = f"{server.url}/v1?key={quote(KEY, safe='')}&api-version=2"
        settings = settings_of(AMEMGYM_BASE_URL=address)
        told = told_by(settings)
        server.answer = served
        assert asyncio.run(ModelClient(settings).complete(a_request())).finish == "stop"
    assert {path.partition("?")[0] for path in server.paths} == {"/v1/chat/completions"}
    assert f"key={quote(KEY, safe='')}" in server.paths[-1]
    assert settings.address == f"{server.url}/v1"
    assert leaked(told, KEY) == []


def test_an_address_with_a_login_does_not_silently_replace_the_key() -> None:
    both = {"AMEMGYM_BASE_URL": "http://user:wombat@host/v1", "AMEMGYM_API_KEY": "sk-1"}
    with pytest.raises(EndpointError) as caught:
        EndpointSettings.from_environment(both)
    assert "AMEMGYM_BASE_URL holds a user or password and AMEMGYM_API_KEY a key" in str(caught.value)
    assert "wombat" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_address_whose_password_hides_its_host_is_refused_without_being_repeated() -> None:
    with pytest.raises(EndpointError, match="write %40 for @ and %2F for /") as caught:
        EndpointSettings.from_environment({"AMEMGYM_BASE_URL": "http://user:12/wombat@host/v1"})
    assert "wombat" not in str(caught.value)


def test_a_traceback_is_shared_without_folders_and_secrets_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WOMBAT_API_KEY", KEY)
    monkeypatch.setenv("WOMBAT_SERVER", "http://otter:narwhal@host/v1")
    text = (
        f'  File "/home/quokka/my memories/mine.py", line 3, in recall\n    raise ValueError({KEY!r})\n'
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/quokka/notes.txt'\n"
        f"narwhal, {in_base64('otter:narwhal')} at http://host/v1/models, and /srv/quokka/x.db: gone"
    )
    assert shareable(text) == (
        '  File "mine.py", line 3, in recall\n'
        "    raise ValueError('[hidden]')\n"
        "FileNotFoundError: [Errno 2] No such file or directory: 'notes.txt'\n"
        "[hidden], [hidden] at http://host/v1/models, and x.db: gone"
    )
