"""What a memory's service asks of its clients goes to it, and into no sentence, id or file."""

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.check import check_memory
from pipelines.memories.contract import MemorySpec
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.echo_server import EchoServer, echo_server

PASSWORD = "n4rwhal/p+ss"
KEY = "w4lrus-k3y-0123456789"
LOGIN = base64.b64encode(f"otter:{PASSWORD}".encode()).decode()


def a_memory(path: str) -> tuple[int, object] | None:
    """The routes of a service that remembers nothing and cannot copy a session."""
    route = path.partition("?")[0]
    if route.endswith("/recall"):
        return 200, {"texts": ["nothing"]}
    return (200, {}) if route.endswith("/write") else (404, {})


def secret_address(server: EchoServer) -> str:
    """Its address with a login, and a key in its query."""
    login = f"otter:{quote(PASSWORD, safe='')}"
    return server.url.replace("://", f"://{login}@") + f"/base?api_key={KEY}"


def test_login_and_key_of_an_address_are_sent_and_are_in_no_file_name_or_id(tmp_path: Path) -> None:
    with echo_server(answer=a_memory) as server:
        spec = find_memory(secret_address(server))
        work = run_of(tmp_path / "runs", HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
        finished = finish(work)
    assert finished.results.errors == ()
    assert {headers["authorization"] for headers in server.headers} == {f"Basic {LOGIN}"}
    assert {path for path in server.paths if "/write" in path} == {f"/base/write?api_key={KEY}"}
    assert spec.settings == {"address": f"{server.url}/base"}
    assert spec.name == server.url.removeprefix("http://")
    written = b"".join(str(path).encode() + path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    for secret in ("otter", PASSWORD, quote(PASSWORD, safe=""), KEY, LOGIN):
        assert secret.encode() not in written
        assert secret not in repr(work)


def test_a_run_of_an_address_has_the_same_id_with_and_without_what_is_secret(tmp_path: Path) -> None:
    sources = (
        "http://host:1/base",
        "http://otter:narwhal@host:1/base",
        "http://host:1/base/?key=walrus",
        "http://x@host:1/base",
    )
    works = [run_of(tmp_path, HonestModel(), spec=find_memory(source)) for source in sources]
    assert len({work.manifest.run_id for work in works}) == 1


def test_a_run_of_a_file_has_the_same_id_in_every_folder(tmp_path: Path) -> None:
    ids = set[str]()
    for folder in ("quokka", "wombat"):
        path = tmp_path / folder / "mine.py"
        path.parent.mkdir()
        path.write_text("class Mine:\n    def write(self, events): ...\n    def recall(self, query, *, tokens): return []\n")
        work = run_of(tmp_path, HonestModel(), spec=find_memory(f"{path}:Mine"))
        assert work.manifest.memory.kind == "mine.py:Mine"
        assert folder not in work.manifest.model_dump_json()
        ids.add(work.manifest.run_id)
    assert len(ids) == 1


def test_headers_come_from_variables_and_their_values_are_in_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALRUS_KEY", KEY)
    monkeypatch.setenv("TENANT", "narwhals-inc")
    path = tmp_path / "walrus.yaml"
    with echo_server(answer=a_memory) as server:
        path.write_text(
            f"kind: http\nsettings:\n  address: {server.url}\n"
            "  headers: |\n    Authorization: Token $WALRUS_KEY\n    X-Tenant: ${TENANT}\n"
        )
        for source in (f"{server.url}#Authorization=Token $WALRUS_KEY&X-Tenant=${{TENANT}}", str(path)):
            spec = find_memory(source)
            finish(run_of(tmp_path / "runs", HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False))
            assert server.headers[-1]["authorization"] == f"Token {KEY}"
            assert server.headers[-1]["x-tenant"] == "narwhals-inc"
            assert str(spec.settings["headers"]).splitlines() == ["Authorization: Token $WALRUS_KEY", "X-Tenant: ${TENANT}"]
    written = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert KEY.encode() not in written
    assert b"$WALRUS_KEY" in written


def test_a_service_that_repeats_what_it_was_sent_tells_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALRUS_KEY", KEY)
    with echo_server() as server:
        for source in (secret_address(server), f"{server.url}#X-Key=$WALRUS_KEY"):
            [verdict] = run(check_memory(find_memory(source), tools(HonestModel())))
            assert f"The memory service answered 400 at {server.url}" in verdict.sentence
            for secret in (PASSWORD, quote(PASSWORD, safe=""), KEY, LOGIN):
                assert secret not in verdict.sentence


def made(spec: MemorySpec) -> str:
    """Why the memory cannot be made."""

    async def make() -> None:
        await host_memory(spec, tools(HonestModel())).new_memory()

    with pytest.raises(MemoryFailed) as caught:
        run(make())
    return str(caught.value)


def test_a_variable_that_is_not_set_and_two_logins_are_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALRUS_KEY", KEY)
    missing = made(find_memory("http://host#Authorization=Bearer $NOT_THERE"))
    assert missing == "The header Authorization of the memory needs the environment variable NOT_THERE, which is not set."
    both = made(find_memory("http://otter:narwhal@host#Authorization=Bearer $WALRUS_KEY"))
    assert both.startswith("The address http://host holds a user or password, and its headers hold Authorization")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("http://host#Authorization=Bearer w4lrus", "One of the memory's headers cannot be used; give each as"),
        ("http://host#w4lrus", "holds no headers"),
        ("http://otter:12/w4lrus@host/x", "write %40 for @ and %2F for /"),
        ("ftp://otter:w4lrus@host", "There is no memory 'ftp://host'"),
    ],
)
def test_a_secret_that_would_stand_in_files_is_refused_and_not_repeated(source: str, words: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        find_memory(source)
    assert words in str(caught.value)
    assert "w4lrus" not in str(caught.value)


def test_an_address_that_is_secret_itself_is_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "walrus.yaml"
    path.write_text("kind: http\nsettings: {address: $WALRUS_URL}\n")
    with echo_server() as server:
        monkeypatch.setenv("WALRUS_URL", f"{server.url}/s/{KEY}")
        spec = find_memory(str(path))
        [verdict] = run(check_memory(spec, tools(HonestModel())))
    assert server.paths[0] == f"/s/{KEY}/write"
    assert "answered 400 at $WALRUS_URL/write" in verdict.sentence
    assert KEY not in verdict.sentence
    assert spec.settings == {"address": "$WALRUS_URL"}


MINE = """
class Mine:
    def __init__(self, api_key):
        self.key = api_key

    def write(self, events):
        raise ValueError(f"{self.key} is not accepted, see {__file__}")

    def recall(self, query, *, tokens):
        return []
"""


@pytest.mark.parametrize(
    "secret",
    [
        "http://otter:n4rwhal@host/x",
        "http://n4rwhal@host/x",
        "https://host/x?key=n4rwhal",
        "https://host/x?mode=a&api_key=n4rwhal",
        "http://otter:n4rw/hal@host/x",
        "sk-proj-n4rwhal-n4rwhal",
        "Bearer n4rwhal",
        "npx server --api-key n4rwhal",
    ],
)
def test_a_secret_in_any_setting_of_ones_own_code_is_refused_and_not_repeated(secret: str, tmp_path: Path) -> None:
    (tmp_path / "quokka.py").write_text(MINE)
    path = tmp_path / "walrus.yaml"
    path.write_text(f"kind: {tmp_path}/quokka.py:Mine\nsettings: {{url: '{secret}'}}\n")
    for source in (str(path), f"{tmp_path}/quokka.py:Mine?url={quote(secret, safe='')}"):
        with pytest.raises(EvaluationError, match="holds the value of 'url', which would be written") as caught:
            find_memory(source)
        assert "n4rw" not in str(caught.value)


@pytest.mark.parametrize("plain", ["http://host:1/x?mode=fast", "$MY_URL", "a:b@c", "npx server --max-tokens 5 --key $KEY"])
def test_settings_that_only_look_like_secrets_are_taken(plain: str, tmp_path: Path) -> None:
    (tmp_path / "quokka.py").write_text(MINE)
    assert find_memory(f"{tmp_path}/quokka.py:Mine?url={quote(plain, safe='')}").settings == {"url": plain}


def test_a_key_of_a_class_of_ones_own_comes_from_a_variable_and_stays_out_of_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WALRUS_KEY", KEY)
    (tmp_path / "quokka.py").write_text(MINE)
    path = tmp_path / "walrus.yaml"
    path.write_text(f"kind: {tmp_path}/quokka.py:Mine\nsettings: {{api_key: {KEY}}}\n")
    with pytest.raises(EvaluationError, match=r"give the variable's name, as in api_key: \$MY_KEY") as caught:
        find_memory(str(path))
    assert KEY not in str(caught.value)

    path.write_text(f"kind: {tmp_path}/quokka.py:Mine\nsettings: {{api_key: $WALRUS_KEY}}\n")
    work = run_of(tmp_path / "runs", HonestModel(), data=tasks("ada"), spec=find_memory(str(path)), conditions=())
    [error] = finish(work).results.errors
    assert "ValueError: [hidden] is not accepted, see quokka.py" in error.sentence
    trace = next(work.folder.path.glob("error-*.txt")).read_text()
    assert 'File "quokka.py", line 7, in write' in trace
    assert KEY not in trace
    assert str(tmp_path) not in trace
