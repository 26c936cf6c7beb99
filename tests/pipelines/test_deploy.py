"""The files to deploy with say what Dagster, the code and each other expect."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef
from dagster._core.run_coordinator import QueuedRunCoordinator
from dagster._utils.tags import TagConcurrencyLimitsCounter

from assets.recipe.partitions import PARTITION_TAG
from pipelines.errors import Problem
from pipelines.home import Home, prepare_dagster_home
from pipelines.ui.server import serve_alone
from tests.support.commands import free_port
from tests.support.waiting import LONG

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "pipelines" / "deploy"
SETTINGS = sorted((ROOT / "pipelines").rglob("dagster*.yaml"))
SHARED = [path for path in SETTINGS if path.name != "dagster.sqlite.yaml"]
PACKAGES = ("prompts", "assets", "validation", "dataset_card", "pipelines")
# Variables of the environment; two constants of the code begin like them.
OURS = re.compile(r"\bAMEMGYM_(?!VALIDATION\b|RELEASE\b)[A-Z_]+\b")
STORAGE = {
    "dagster.sqlite.yaml": "DagsterSqliteStorage",
    "dagster.postgres.yaml": "DagsterPostgresStorage",
    "dagster.yaml": "DagsterPostgresStorage",
}


def read(name: str) -> dict[str, Any]:
    return cast(dict[str, Any], yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: str(path.relative_to(ROOT / "pipelines")))
def test_dagster_accepts_its_settings_which_send_nothing_anywhere(path: Path) -> None:
    ref = InstanceRef.from_dir(str(path.parent), config_filename=path.name)
    settings = cast(dict[str, dict[str, Any]], ref.settings)
    assert ref.storage_data is not None
    assert ref.storage_data.class_name == STORAGE[path.name]
    assert settings["telemetry"] == settings["nux"] == {"enabled": False}
    assert (settings["run_retries"]["enabled"], settings["run_retries"]["retry_on_asset_or_op_failure"]) == (True, False)
    assert settings["run_monitoring"]["enabled"]


@pytest.mark.parametrize("path", SHARED, ids=lambda path: str(path.relative_to(ROOT / "pipelines")))
def test_two_runs_of_one_partition_take_turns_where_no_pool_makes_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_RUNS_AT_ONCE", "8")
    ref = InstanceRef.from_dir(str(path.parent), config_filename=path.name)
    assert isinstance(ref.run_coordinator, QueuedRunCoordinator)
    concurrency = cast(dict[str, dict[str, Any]], ref.settings).get("concurrency", {})
    limits = ref.run_coordinator.get_run_queue_config().with_concurrency_settings(concurrency).tag_concurrency_limits
    old, new, other = (dg.DagsterRun("generate_unit", tags={PARTITION_TAG: unit}) for unit in ("crowd-0", "crowd-0", "crowd-1"))
    under_way = TagConcurrencyLimitsCounter(limits, [old])
    assert under_way.is_blocked(new)
    assert not under_way.is_blocked(other)


@pytest.mark.parametrize("number", ["0", "-1", "many", "2.5", ""])
def test_a_web_server_of_a_cluster_refuses_to_run_nothing_or_anything_at_once(
    number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_RUNS_AT_ONCE", number)
    with pytest.raises(Problem) as refused:
        serve_alone(Path("pipelines/cluster/workspace.yaml"), host="127.0.0.1", port=free_port())
    assert str(refused.value).startswith(f"AMEMGYM_RUNS_AT_ONCE is {number!r}; give")


def test_a_web_server_of_a_cluster_ends_with_the_sentence_of_its_refusal() -> None:
    around = {**os.environ, "AMEMGYM_RUNS_AT_ONCE": "many"}
    command = [sys.executable, "-m", "pipelines.ui.server", "pipelines/cluster/workspace.yaml", "127.0.0.1", str(free_port())]
    ended = subprocess.run(command, env=around, cwd=ROOT, capture_output=True, text=True, check=False, timeout=5 * LONG)
    assert ended.returncode == 1
    [sentence] = ended.stderr.splitlines()
    assert sentence.startswith("AMEMGYM_RUNS_AT_ONCE is 'many'; give")


def test_a_new_installation_runs_on_sqlite_and_lets_runs_that_ask_a_model_take_turns(tmp_path: Path) -> None:
    home = Home(tmp_path)
    folder = prepare_dagster_home(home)
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert not instance.telemetry_enabled
        assert instance.get_concurrency_config().pool_config.default_pool_limit == 1
        assert str(instance.get_concurrency_config().pool_config.pool_granularity) == "PoolGranularity.RUN"


@pytest.mark.parametrize("name", ["proj_feature%2Fmem", "a%20b", "what?"])
def test_dagsters_databases_lie_in_the_folder_whatever_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "a b").mkdir()
    with dg.DagsterInstance.from_config(str(prepare_dagster_home(Home(tmp_path / name)))) as instance:
        instance.get_runs(limit=1)
    assert list((tmp_path / name / "dagster").rglob("runs.db"))
    assert not list((tmp_path / "a b").iterdir())


def test_settings_that_somebody_edited_are_left_alone(tmp_path: Path) -> None:
    settings = prepare_dagster_home(Home(tmp_path)) / "dagster.yaml"
    settings.write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    prepare_dagster_home(Home(tmp_path))
    assert settings.read_text(encoding="utf-8") == "telemetry: {enabled: false}\n"


def test_whatever_asks_a_model_is_in_the_pool() -> None:
    from assets.recipe.partitions import MODEL_POOL
    from pipelines.benchmarks import BENCHMARKS
    from pipelines.definitions import defs

    graph = defs.get_repository_def().asset_graph
    pooled = {key.to_user_string() for key in graph.materializable_asset_keys if MODEL_POOL in (graph.get(key).pools or ())}
    wanted: set[str] = set()
    for entry in BENCHMARKS.values():
        names = (*entry.benchmark.asking_stages, "evaluation")
        wanted.update(map(entry.benchmark.asset_path, names))
    assert pooled == wanted


def test_the_services_fit_together() -> None:
    services, workspace = read("compose.yaml")["services"], read("workspace.yaml")
    (server,) = (one["grpc_server"] for one in workspace["load_from"])
    command: list[str] = services[server["host"]]["command"]
    assert command[command.index("--port") + 1] == str(server["port"]) in services[server["host"]]["healthcheck"]["test"]
    assert command[command.index("--module-name") + 1] == "pipelines.definitions"
    assert set(services) == {"postgres", "code", "webserver", "daemon"}
    for service in services.values():
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service["volumes"]:
            source = volume.partition(":")[0]
            assert source in read("compose.yaml")["volumes"] or (DEPLOY / source).exists()


def test_the_page_without_a_login_is_reached_from_its_own_machine_only() -> None:
    for service in read("compose.yaml")["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


def test_the_image_copies_what_there_is_and_takes_the_storage_that_fits_dagster() -> None:
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in text.splitlines() if line.startswith("COPY")]
    names = {Path(name).name for group in copied for name in group}
    assert all((ROOT / name).exists() for name in names)
    assert names >= {"requirements.lock", *PACKAGES}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in names} <= set(ignored)
    _, minor, patch = importlib.metadata.version("dagster").split(".")
    assert f"dagster-postgres==0.{int(minor) + 16}.{patch} " in text


def test_every_variable_that_the_code_reads_stands_in_the_table_of_settings() -> None:
    files = [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.suffix in (".py", ".yaml", "")]
    read_by_code = {name for path in files if path.is_file() for name in OURS.findall(path.read_text(encoding="utf-8"))}
    page = (ROOT / "pipelines" / "guide" / "reference" / "settings.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if re.match(r"\| `[A-Z_]+`", line)]
    assert read_by_code == set(OURS.findall("\n".join(line.split("|")[1] for line in table)))
