"""Dagster's web server with our pages in front of it.

`python -m pipelines.ui.server FD HOST` is what `amemgym ui` starts, on a socket that is bound already. What `dagster dev`
starts is started here, but for the web server, which this process is: it can take the starter's socket, and have routes of its
own.
`python -m pipelines.ui.server WORKSPACE HOST PORT` is the web server alone, of a cluster or a container, in place of
`dagster-webserver`; the workspace's location has to be called CODE_LOCATION.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import dagster as dg
import uvicorn
import yaml

# Private, as `dagster dev` and `dagster-webserver` are commands alone: neither takes a bound socket, or routes of our own.
from dagster._cli.proxy_server_manager import ProxyServerManager
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget, WorkspaceFileTarget
from dagster_webserver.webserver import DagsterWebserver
from starlette.routing import Mount

from assets.reporting.page_style import PREFIX, page_address
from pipelines.crash_report import report_crash
from pipelines.errors import Problem
from pipelines.home import SERVES_PAGES, home
from pipelines.opening.dagster_files import CODE_LOCATION
from pipelines.opening.doctor import sound_dagster_storage
from pipelines.resources.llm.settings import runs_at_once
from pipelines.ui.pages import NEW_VARIANT, pages_app
from pipelines.ui.processes import ROOT, end_with_starter
from pipelines.ui.request_guard import RequestGuard

MILLISECONDS_BETWEEN_LOOKS = 2000  # at the state of assets, as in `dagster dev`
SECONDS_TO_FINISH = 2  # for requests under way
# Of a shared database, as `dagster-webserver` has them, but that no connection is used a second time: one from before a restart
# of the database would fail a launch, and a launch is not sent again.
STATEMENT_MILLISECONDS = 15000
SECONDS_OF_A_CONNECTION = 0
FURTHER_CONNECTIONS = 20
DEFINITIONS = ModuleTarget("pipelines.definitions", None, str(ROOT), CODE_LOCATION)


def serve_installation(listening: socket.socket, *, host: str) -> None:
    """Serve until SIGINT, or until the starter is gone; then nothing that was started is left.

    An error that ends it before that is one sentence.
    """
    # A shell's background job has SIGINT ignored, and so would all that is started here, which is ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.excepthook = _report_crash
    ending, others = end_with_starter()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _serve(listening, host=host)
    finally:
        if ending.is_set():
            # From here on the starter waits for the others alone.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            others.join()


def _report_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    print(f"amemgym: {report_crash(error)}", flush=True)
    os._exit(1)  # libraries complain of an end that comes while they are at work


def _serve(listening: socket.socket, *, host: str) -> None:
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # as `dagster dev` tells its code server
    os.environ[SERVES_PAGES] = "1"
    with sound_dagster_storage(home()):
        opened = dg.DagsterInstance.get()
    with opened as instance, _code_server(instance) as workspace, _daemon(workspace):
        _serve_workspace(instance, workspace, host=host, sockets=[listening])


def serve_alone(workspace: Path, *, host: str, port: int) -> None:
    """Serve the locations of a workspace file until SIGINT or SIGTERM; whoever starts daemon and code servers, ends them.

    Raises Problem for a cluster's variable that is set wrong.
    """
    runs_at_once()
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(STATEMENT_MILLISECONDS, SECONDS_OF_A_CONNECTION, FURTHER_CONNECTIONS)
        _serve_workspace(instance, workspace, host=host, port=port)


def _serve_workspace(
    instance: dg.DagsterInstance, workspace: Path, *, host: str, port: int = 0, sockets: list[socket.socket] | None = None
) -> None:
    """Serve on the sockets, or else on the port."""
    target = WorkspaceFileTarget([str(workspace)])
    with WorkspaceProcessContext(instance, workspace_load_target=target, version=dg.__version__) as context:
        server = cast(Any, DagsterWebserver)(context, live_data_poll_rate=MILLISECONDS_BETWEEN_LOOKS)
        app = server.create_asgi_app()
        pages = pages_app(home(), reload=lambda: context.reload_code_location(CODE_LOCATION))
        app.router.routes.insert(0, Mount(PREFIX, pages))
        guarded = RequestGuard(app, host=host, forms=[page_address(NEW_VARIANT)])
        config = uvicorn.Config(guarded, host=host, port=port, log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH)
        uvicorn.Server(config).run(sockets=sockets)


@contextlib.contextmanager
def _code_server(instance: dg.DagsterInstance) -> Generator[Path, None, None]:
    """Run the process that loads our code, and yield the workspace file that says where it is."""
    with (
        ProxyServerManager(instance, DEFINITIONS, code_server_log_level="warning") as manager,
        tempfile.TemporaryDirectory() as folder,
    ):
        workspace = Path(folder) / "workspace.yaml"
        workspace.write_text(yaml.safe_dump({"load_from": list(manager.get_code_server_specs())}), encoding="utf-8")
        yield workspace


@contextlib.contextmanager
def _daemon(workspace: Path) -> Generator[None, None, None]:
    """Run the process that looks after sensors, schedules, backfills and the queue of runs."""
    command = [sys.executable, "-m", "dagster._daemon", "run", "--workspace", str(workspace), "--log-level", "warning"]
    daemon = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)  # noqa: S603 (our own words)
    try:
        yield
    finally:
        daemon.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.wait(SECONDS_TO_FINISH)


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
