"""No address that a setting holds is repeated, or used, where a / or @ in its password leaves open what its host is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError
from dataset_card.errors import HubError
from pipelines.errors import Problem, StoreError, sentence_of
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.services.http_service import ServiceConnection, service_spec
from pipelines.network_route import NetworkRoute, NoRoute
from pipelines.opening.dagster_resources import configured_resources
from pipelines.opening.hub import open_hub
from pipelines.resources.hub.settings import HubSettings
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.object_store import open_file_system
from pipelines.ui.request_guard import listed_hosts
from tests.support.commands import amemgym_here

HALVES = ("w1mbat", "n4rwhal")
REFUSALS = (EndpointError, HubError, NoRoute, Problem, StoreError, MemoryFailed)
UNSURE = (
    "https://otter:w1mbat/n4rwhal@host",
    "https://otter:12/w1mbat@host",
    "https://w1mbat@n4rwhal@host/v1",
    "https://otter:w1mbat?n4rwhal@host",
)


def ask_through_proxy() -> object:
    return NetworkRoute.to("https://elsewhere").client_options()


# What reads a setting of the environment, and what reads an address that is typed or stands in a file.
SETTINGS: dict[str, Callable[[], object]] = {
    "AMEMGYM_BASE_URL": EndpointSettings.from_environment,
    "OPENAI_BASE_URL": EndpointSettings.from_environment,
    "HF_ENDPOINT": open_hub,
    "HTTPS_PROXY": ask_through_proxy,
    "ALL_PROXY": ask_through_proxy,
    "HTTP_PROXY": NetworkRoute.check_all,
    "AMEMGYM_HOSTS": listed_hosts,
}
GIVEN: dict[str, Callable[[str], object]] = {
    "--endpoint": lambda address: open_hub(HubSettings(endpoint=address)),
    "a memory's address": lambda address: service_spec("http", address),
    "a memory's address in a file": lambda address: ServiceConnection(address, headers=""),
    "AMEMGYM_STORE": open_file_system,
}


def check_refused(read: Callable[[], object]) -> None:
    with pytest.raises(REFUSALS) as told:
        read()
    assert str(told.value).endswith(".")
    assert [half for half in HALVES if half in str(told.value)] == []


@pytest.mark.parametrize("address", UNSURE)
@pytest.mark.parametrize("variable", SETTINGS)
def test_a_variable_is_refused_without_being_repeated(monkeypatch: pytest.MonkeyPatch, variable: str, address: str) -> None:
    monkeypatch.setenv(variable, address)
    check_refused(SETTINGS[variable])


@pytest.mark.parametrize("address", UNSURE)
@pytest.mark.parametrize("name", GIVEN)
def test_an_address_that_is_given_is_refused_without_being_repeated(name: str, address: str) -> None:
    check_refused(lambda: GIVEN[name](address))


@pytest.mark.parametrize("address", UNSURE)
def test_dagster_shows_the_variable_in_the_place_of_its_address(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for variable in ("HF_ENDPOINT", "AMEMGYM_STORE"):
        monkeypatch.setenv(variable, address)
    shown = repr(configured_resources())
    assert [half for half in HALVES if half in shown] == []


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("http://user:hunter2@host/x is no release.", "http://host/x is no release."),
        ("'s3://key:hunter2' is no repository", "'s3://[hidden]' is no repository"),
        ("http://user:hun/ter2@host/x.", "http://[hidden]."),
        ("http://h/x?token=hunter2 is none", "http://h/x is none"),
        ("http://127.0.0.1:9/v1?page=2 and my.py:Class?topk=5", "http://127.0.0.1:9/v1?page=2 and my.py:Class?topk=5"),
    ],
)
def test_a_sentence_repeats_no_login_of_an_address_that_was_given(words: str, left: str) -> None:
    assert sentence_of(Problem(words)) == left


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "http://user:hunter2@127.0.0.1:9/x", "--memory", "bm25"),
        ("verify", "http://user:hunter2@127.0.0.1:9/demo/0.1.0"),
        ("verify", "s3://key:hunter2@bucket/demo/0.1.0"),
        ("fetch", "http://h/x?token=hunter2"),
        ("show", "1", "--variant", "http://user:hunter2@h/x"),
    ],
    ids=" ".join,
)
def test_a_command_that_refuses_an_address_does_not_repeat_its_login(command: tuple[str, ...], tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, *command)
    assert status == 1
    assert "hunter2" not in output
    assert len(output.strip().splitlines()) == 1


@pytest.mark.parametrize("address", ["x://", "s3:///", "http://host"])
def test_an_address_without_a_variant_is_refused_in_one_sentence(address: str, tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "evaluate", address, "--memory", "bm25")
    assert status == 1
    assert "is not a release; give the address of a folder with a manifest.json" in output
