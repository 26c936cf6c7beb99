"""Dagster's web server with our pages in front of it.

`amemgym ui` starts `python -m pipelines.ui.server FD HOST` on a socket that is already bound. This process starts a code server
and a daemon, as `dagster dev` does. It is the web server itself, so that it can use the given socket and add our own routes.

A cluster or a container starts `python -m pipelines.ui.server WORKSPACE HOST PORT` instead of `dagster-webserver`. That is the
web server alone; the workspace's location must be called CODE_LOCATION.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import dagster as dg
import uvicorn
import yaml

# A private import: `dagster-webserver` is a command only, and accepts neither a bound socket nor routes or checks of ours.
from dagster._cli.workspace.cli_target import get_workspace_from_cli_opts
from dagster_shared.cli import WorkspaceOpts
from dagster_webserver.webserver import DagsterWebserver
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount

from assets.reporting.page_style import PREFIX, page_address
from pipelines.crash_report import report_crash
from pipelines.errors import Problem
from pipelines.home import SERVES_PAGES, home
from pipelines.opening.dagster_files import CODE_LOCATION
from pipelines.opening.doctor import sound_dagster_storage
from pipelines.opening.run_checks import impossible_values
from pipelines.resources.llm.settings import runs_at_once
from pipelines.ui.first_page import NEW_VARIANT
from pipelines.ui.pages import pages_app
from pipelines.ui.processes import ROOT, end_with_starter
from pipelines.ui.request_guard import RequestGuard

MILLISECONDS_BETWEEN_LOOKS = 2000  # how often pages ask for the assets' state, as in `dagster dev`
SECONDS_TO_FINISH = 2  # for open requests
# Settings for a shared database, the same as in `dagster-webserver` but for one: no connection is used twice. A connection
# from before a restart of the database would make a launch fail, and a launch is not retried.
STATEMENT_MILLISECONDS = 15000
SECONDS_OF_A_CONNECTION = 0
FURTHER_CONNECTIONS = 20
CODE_SERVER = (
    *("code-server", "start", "--module-name", "pipelines.definitions", "--working-directory", str(ROOT)),
    *("--location-name", CODE_LOCATION, "--log-level", "warning", "--use-python-environment-entry-point", "--socket"),
)
DAEMON = ("run", "--log-level", "warning", "--workspace")  # which handles sensors, schedules, backfills and the run queue
QUESTION = "isPipelineConfigValid"  # what the launchpad asks after each change of the config
VALID = "PipelineConfigValidationValid"
INVALID = "RunConfigValidationInvalid"
SECONDS_BETWEEN_TRIES = 0.1  # to reach the code server, which takes seconds to load our code


class _MarkingWebserver(DagsterWebserver[Any, Any]):
    """Dagster's web server. What it says of a run's config has a sentence for each value out of its range as well."""

    def graphql_execution_thread(
        self, request: Request, query: str, variables: dict[str, Any] | None, operation_name: str | None
    ) -> JSONResponse:
        answer = super().graphql_execution_thread(request, query, variables, operation_name)
        if QUESTION not in query:
            return answer
        content = json.loads(bytes(answer.body))
        _mark_values(content, (variables or {}).get("runConfigData"))
        return JSONResponse(content, status_code=answer.status_code)


def _mark_values(answer: Mapping[str, Any], run_config: object) -> None:
    """Add an error to Dagster's answer for each value that no recipe could have. Other answers stay as they are."""
    data: dict[str, Any] = answer.get("data") or {}
    found: dict[str, Any] = data.get(QUESTION) or {}
    if found.get("__typename") != VALID:
        return  # Dagster's own errors come first
    config: object = yaml.safe_load(run_config) if isinstance(run_config, str) else run_config
    errors: list[dict[str, Any]] = []
    for path, sentence in impossible_values(cast(Mapping[str, Any], config or {})):
        entries = [{"__typename": "EvaluationStackPathEntry", "fieldName": name} for name in path]
        errors.append(
            {
                "__typename": "RuntimeMismatchConfigError",
                "reason": "RUNTIME_TYPE_MISMATCH",
                "message": sentence,
                "stack": {"__typename": "EvaluationStack", "entries": entries},
            }
        )
    if errors:
        found.update(__typename=INVALID, errors=errors)


def serve_installation(listening: socket.socket, *, host: str) -> None:
    """Serve until SIGINT, or until the process that started this one is gone; then end everything that was started here.

    An unexpected error is printed as one sentence, with exit status 1.
    """
    # In a shell's background job SIGINT is ignored. The processes started here would inherit that, but SIGINT has to end them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.excepthook = _report_crash
    ending, others = end_with_starter()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _serve(listening, host=host)
    finally:
        if ending.is_set():
            # Release the output pipe: from now on the starter waits only for the other processes that hold it.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            others.join()


def _report_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    print(f"amemgym: {report_crash(error)}", flush=True)
    os._exit(1)  # not sys.exit: libraries would print errors about being interrupted


def _serve(listening: socket.socket, *, host: str) -> None:
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # as `dagster dev` does for its code server
    os.environ[SERVES_PAGES] = "1"
    with sound_dagster_storage(home()):
        opened = dg.DagsterInstance.get()
    with opened as instance, _code_server() as workspace, _dagster_process("dagster._daemon", *DAEMON, str(workspace)):
        _serve_workspace(instance, workspace, host=host, sockets=[listening])


def serve_alone(workspace: Path, *, host: str, port: int) -> None:
    """Serve the locations of a workspace file until SIGINT or SIGTERM. Daemon and code servers are started elsewhere.

    Raises Problem if an environment variable of the cluster has a wrong value.
    """
    runs_at_once()
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(STATEMENT_MILLISECONDS, SECONDS_OF_A_CONNECTION, FURTHER_CONNECTIONS)
        _serve_workspace(instance, workspace, host=host, port=port)


def _serve_workspace(
    instance: dg.DagsterInstance, workspace: Path, *, host: str, port: int = 0, sockets: list[socket.socket] | None = None
) -> None:
    """Serve on the sockets, or on the port if there are none."""
    options = WorkspaceOpts(workspace=[str(workspace)])
    with get_workspace_from_cli_opts(instance, dg.__version__, options) as request:
        context = cast(Any, request).process_context
        server = cast(Any, _MarkingWebserver)(context, live_data_poll_rate=MILLISECONDS_BETWEEN_LOOKS)
        app = server.create_asgi_app()
        pages = pages_app(home(), reload=partial(context.reload_code_location, CODE_LOCATION))
        app.router.routes.insert(0, Mount(PREFIX, pages))
        guarded = RequestGuard(app, host=host, forms=[page_address(NEW_VARIANT)])
        config = uvicorn.Config(guarded, host=host, port=port, log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH)
        uvicorn.Server(config).run(sockets=sockets)


@contextlib.contextmanager
def _code_server() -> Generator[Path, None, None]:
    """Run the process that loads our code, and yield the workspace file that points to it. Raises Problem if it ends."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "code.sock")
        with _dagster_process("dagster", *CODE_SERVER, address) as process:
            while not _listens(address):
                if process.poll() is not None:
                    raise Problem("Dagster's code server has ended; its words above say why.")
                time.sleep(SECONDS_BETWEEN_TRIES)
            workspace = Path(folder) / "workspace.yaml"
            server = {"socket": address, "location_name": CODE_LOCATION}
            workspace.write_text(yaml.safe_dump({"load_from": [{"grpc_server": server}]}), encoding="utf-8")
            yield workspace


def _listens(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as trial:
        try:
            trial.connect(address)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def _dagster_process(module: str, *words: str) -> Generator["subprocess.Popen[bytes]", None, None]:
    """Run one of Dagster's commands as long as the block runs."""
    command = [sys.executable, "-m", module, *words]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)  # noqa: S603 (fixed commands)
    try:
        yield process
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_FINISH)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [workspace, host, port]:
            try:
                serve_alone(Path(workspace), host=host, port=int(port))
            except Problem as problem:
                sys.exit(str(problem))
        case [descriptor, host]:
            serve_installation(socket.socket(fileno=int(descriptor)), host=host)
        case _:
            sys.exit(
                "Give WORKSPACE HOST PORT, as in: python -m pipelines.ui.server pipelines/cluster/workspace.yaml 127.0.0.1 3000"
            )
