"""What the resources show of their settings, and how a run uses them: store, endpoint and limits, never a key."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from assets.engine.ports import RunContext
from pipelines.opening.dagster_resources import configured_resources
from tests.pipelines.llm.batched import a_line
from tests.pipelines.llm.scripted_server import KEY, ScriptedServer, on_a_port
from tests.support.commands import own_surroundings
from tests.support.small import small_recipe

OTHER = "http://127.0.0.1:9/v1"


def shown(tmp_path: Path, **environment: str) -> dict[str, dict[str, Any]]:
    """The settings of each resource as Dagster's page has them, by resource."""
    with own_surroundings(tmp_path, **environment):
        definitions = dg.Definitions(resources=configured_resources())
        snapshots = definitions.get_repository_def().get_top_level_resources()
        return {name: dict(definition.config_schema.default_value or {}) for name, definition in snapshots.items()}


@dataclass
class Guarded:
    """An app that notes with which key it is asked."""

    app: ScriptedServer = field(default_factory=ScriptedServer)
    keys: list[str | None] = field(default_factory=list[str | None])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.keys.append(Headers(scope=scope).get("authorization"))
        await self.app(scope, receive, send)


def asked(text: str = "Who?", **config: Any) -> RunContext:
    """Ask the model of the resource this question within a run."""
    contexts: list[RunContext] = []

    @dg.asset(required_resource_keys={"run_context"})
    async def question(context: dg.AssetExecutionContext) -> None:
        opened: RunContext = context.resources.run_context
        await opened.for_unit("unit", recipe=small_recipe()).model.complete(a_line(text))
        contexts.append(opened)

    run_config = {"resources": {"run_context": {"config": config}}}
    assert dg.materialize([question], resources=configured_resources(), run_config=run_config).success
    return contexts[0]


def test_settings_of_the_environment_are_shown_without_its_keys(tmp_path: Path) -> None:
    limits = {
        "AMEMGYM_MAX_IN_FLIGHT": "7",
        "AMEMGYM_REQUESTS_PER_MINUTE": "90",
        "HF_TOKEN": "hf_secret",
    }
    settings = shown(tmp_path, AMEMGYM_BASE_URL=OTHER, AMEMGYM_API_KEY=KEY, AMEMGYM_STORE="s3://bucket/folder", **limits)
    assert settings["installation"] == {"data_folder": str(tmp_path), "store": "s3://bucket/folder"}
    assert settings["run_context"]["endpoint"] == OTHER
    assert (settings["run_context"]["max_in_flight"], settings["run_context"]["requests_per_minute"]) == (7, 90)
    assert KEY not in str(settings)
    assert "hf_secret" not in str(settings)


def test_an_address_that_holds_a_login_or_key_is_shown_as_its_variable(tmp_path: Path) -> None:
    settings = shown(tmp_path, AMEMGYM_BASE_URL="http://me:secret@host/v1", AMEMGYM_STORE="s3://bucket?secret_key=secret")
    assert settings["run_context"]["endpoint"] == {"env": "AMEMGYM_BASE_URL"}
    assert settings["installation"]["store"] == {"env": "AMEMGYM_STORE"}
    assert "secret@" not in str(settings)


def test_without_an_endpoint_the_embedded_model_is_shown_and_used(tmp_path: Path) -> None:
    assert shown(tmp_path)["run_context"]["endpoint"] == "embedded"
    with own_surroundings(tmp_path):
        assert asked().embedded_model


def test_a_run_takes_the_endpoint_of_its_config_and_sends_the_key_to_its_own_address_only(tmp_path: Path) -> None:
    own, other = Guarded(), Guarded()
    with (
        on_a_port(own) as address,
        on_a_port(other) as elsewhere,
        own_surroundings(tmp_path, AMEMGYM_BASE_URL=address, AMEMGYM_API_KEY=KEY),
    ):
        asked("Who?")
        asked("When?", max_in_flight=2)  # and nothing else changes
        asked("Where?", endpoint=elsewhere)
    assert set(own.keys) == {f"Bearer {KEY}"}
    assert len(own.app.asked) == 2
    assert other.app.asked
    assert KEY not in str(other.keys)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"endpoint": "http://user:wombat@host/v1"}, "cannot hold a login or a query, because Dagster stores"),
        ({"endpoint": "here"}, "run_context cannot be used: endpoint must be an address such as https://host/v1."),
        ({"timeout_seconds": 0.0}, "run_context cannot be used: timeout_seconds has to be more than 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, config: dict[str, Any], sentence: str) -> None:
    with own_surroundings(tmp_path), pytest.raises(dg.DagsterResourceFunctionError) as error:
        asked(**{"endpoint": OTHER, **config})
    assert sentence in str(error.value.__cause__)
