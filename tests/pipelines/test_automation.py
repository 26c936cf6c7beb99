"""What Dagster may do by itself is off as it comes, releases only what passed, and tells failures without secrets."""

import json
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import dagster as dg
import pytest

from pipelines.automation import ALERT_VARIABLE, alert_on_failure, release_when_the_report_passes

VARIANTS = dg.StaticPartitionsDefinition(["demo", "gone"])
SECRET = "T0123-secret-of-the-hook"


def finished(
    variant: str = "demo", *, passed: bool = True, assets: tuple[str, ...] = ("quality_report",), checked: bool = True
) -> dict[str, Any]:
    """A run over stand-ins for these assets, as arguments of a sensor's context."""
    defs = [_asset(name) for name in assets]
    checks = [_check(passed=passed)] if checked and "quality_report" in assets else []
    made = dg.define_asset_job("made", partitions_def=VARIANTS)  # pyright: ignore[reportUnknownMemberType]
    job = dg.Definitions(defs, asset_checks=checks, jobs=[made]).resolve_job_def("made")
    instance = dg.DagsterInstance.ephemeral()  # pyright: ignore[reportUnknownMemberType]
    result = job.execute_in_process(instance=instance, partition_key=variant, raise_on_error=False)
    kind = dg.DagsterEventType.RUN_SUCCESS if result.success else dg.DagsterEventType.RUN_FAILURE
    (event,) = (one for one in result.all_events if one.event_type is kind)
    return {"dagster_instance": instance, "dagster_run": result.dagster_run, "dagster_event": event}


def _asset(name: str) -> dg.AssetsDefinition:
    @dg.asset(name=name, partitions_def=VARIANTS)
    def made() -> None:
        if name == "broken":
            raise dg.Failure("The endpoint does not accept the API key; set OPENAI_API_KEY.")

    return made


def _check(*, passed: bool) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset="quality_report", name="users_are_complete", blocking=True, partitions_def=VARIANTS)
    def complete() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=passed)

    return complete


def asked(run: dict[str, Any]) -> dg.RunRequest | dg.SkipReason:
    context = dg.build_run_status_sensor_context(sensor_name="release_when_the_report_passes", **run)
    return release_when_the_report_passes(context)  # pyright: ignore[reportReturnType]


def test_nothing_runs_by_itself_as_it_comes() -> None:
    from pipelines.definitions import defs

    repository = defs.get_repository_def()
    assert {sensor.name: sensor.default_status for sensor in repository.sensor_defs} == {
        "release_when_the_report_passes": dg.DefaultSensorStatus.STOPPED,
        "alert_on_failure": dg.DefaultSensorStatus.STOPPED,
    }
    assert [schedule.default_status for schedule in repository.schedule_defs] == [dg.DefaultScheduleStatus.STOPPED]


def test_the_schedules_job_and_partition_are_there() -> None:
    from pipelines.definitions import defs

    repository = defs.get_repository_def()
    (schedule,) = repository.schedule_defs
    (request,) = schedule.evaluate_tick(dg.build_schedule_context(repository_def=repository)).run_requests or []
    assert request.partition_key == "demo"
    assert defs.resolve_job_def(schedule.job_name).name == "generate_and_release"


def test_a_report_that_passed_asks_for_its_variants_release() -> None:
    request = asked(finished())
    assert isinstance(request, dg.RunRequest)
    assert request.partition_key == "demo"


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"assets": ("episodes",)}, "made no quality report"),
        ({"checked": False}, "left out the checks"),
        ({"assets": ("quality_report", "release")}, "wrote the release itself"),
        ({"variant": "gone"}, "is no longer there"),
    ],
    ids=["no report", "no checks", "released already", "no recipe"],
)
def test_other_runs_ask_for_nothing(run: dict[str, Any], why: str) -> None:
    reason = asked(finished(**run))
    assert isinstance(reason, dg.SkipReason)
    assert why in str(reason.skip_message)


def test_a_report_that_is_blocked_ends_its_run_as_failed_so_that_nothing_asks_for_a_release() -> None:
    assert finished(passed=False)["dagster_event"].event_type is dg.DagsterEventType.RUN_FAILURE


@dataclass
class Hook:
    """A webhook on loopback."""

    url: str = ""
    status: int = 200
    posted: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@contextmanager
def hook(status: int = 200) -> Generator[Hook, None, None]:
    webhook = Hook(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            webhook.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(webhook.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    webhook.url = f"http://127.0.0.1:{server.server_address[1]}/services/{SECRET}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def alerted(run: dict[str, Any]) -> Any:
    context = dg.build_run_status_sensor_context(sensor_name="alert_on_failure", **run).for_run_failure()
    return alert_on_failure(context)


def test_a_failed_run_is_told_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished(assets=("broken",))
    with hook() as webhook:
        monkeypatch.setenv(ALERT_VARIABLE, webhook.url)
        assert alerted(run) is None
    (posted,) = webhook.posted
    assert posted == {
        "text": f"Run {run['dagster_run'].run_id[:8]} (made of demo) failed: broken: "
        "The endpoint does not accept the API key; set OPENAI_API_KEY."
    }


def test_an_alert_that_does_not_arrive_is_logged_without_its_address(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    run = finished(assets=("broken",))
    caplog.set_level(logging.INFO)  # as where the code location runs
    capfd.readouterr()
    with hook(status=404) as webhook:
        monkeypatch.setenv(ALERT_VARIABLE, webhook.url)
        assert alerted(run) is None
    monkeypatch.setenv(ALERT_VARIABLE, f"http://127.0.0.1:9/{SECRET}")
    assert alerted(run) is None
    monkeypatch.setenv(ALERT_VARIABLE, f"nowhere/{SECRET}")
    assert alerted(run) is None
    output = "".join(capfd.readouterr())
    assert output.count("could not be delivered") == 3
    assert SECRET not in f"{output} {caplog.text}"


def test_a_run_that_is_started_again_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished(assets=("broken",))
    with hook() as webhook:
        monkeypatch.setenv(ALERT_VARIABLE, webhook.url)
        reason = alerted({**run, "dagster_run": run["dagster_run"].with_tags({"dagster/will_retry": "true"})})
    assert isinstance(reason, dg.SkipReason)
    assert webhook.posted == []


def test_without_an_address_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALERT_VARIABLE, raising=False)
    reason = alerted(finished(assets=("broken",)))
    assert isinstance(reason, dg.SkipReason)
    assert ALERT_VARIABLE in str(reason.skip_message)
