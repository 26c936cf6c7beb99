"""Dagster's web server with our pages in front of it.

`python -m pipelines.ui.server FD` is what `amemgym ui` starts, on a socket that is bound already. What `dagster dev` starts
is started here, but for the web server, which this process is: it can take the starter's socket, and have routes of its own.
`python -m pipelines.ui.server WORKSPACE HOST PORT` is the web server alone, of a cluster or a container, in place of
`dagster-webserver`; the workspace's location has to be called LOCATION.
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
from dagster._cli.proxy_server_manager import ProxyServerManager
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import ModuleTarget, WorkspaceFileTarget
from dagster_webserver.webserver import DagsterWebserver
from starlette.routing import Mount

from assets.reporting.page_style import PREFIX
from pipelines.cli.errors import Problem, report_crash
from pipelines.cluster.layout import check_runs_at_once
from pipelines.home import home
from pipelines.ui.pages import pages_app
from pipelines.ui.processes import ROOT, end_with_starter

LOCATION = "amemgym"
MILLISECONDS_BETWEEN_LOOKS = 2000  # at the state of assets, as in `dagster dev`
SECONDS_TO_FINISH = 2  # for requests under way
# Of a shared database, as `dagster-webserver` has them, but that no connection is used a second time: one from before a restart
# of the database would fail a launch, and a launch is not sent again.
STATEMENT_MILLISECONDS, SECONDS_OF_A_CONNECTION, FURTHER_CONNECTIONS = 15000, 0, 20
DEFINITIONS = ModuleTarget("pipelines.definitions", None, str(ROOT), LOCATION)


def serve(listening: socket.socket) -> None:
    """Serve until SIGINT, or until the starter is gone; then nothing that was started is left.

    What ends it before that is told in one sentence.
    """
    # A shell's background job has SIGINT ignored, and so would all that is started here, which is ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.excepthook = _tell_crash
    told, others = end_with_starter()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _serve(listening)
    finally:
        if told.is_set():
            # From here on the starter waits for the others alone.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            others.join()


def _tell_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    print(f"amemgym: {report_crash(error)}", flush=True)
    os._exit(1)  # libraries complain of an end that comes while they are at work


def _serve(listening: socket.socket) -> None:
    os.environ["DAGSTER_IS_DEV_CLI"] = "1"  # as `dagster dev` tells its code server
    with dg.DagsterInstance.get() as instance, _code_server(instance) as workspace, _daemon(workspace):
        _serve_workspace(instance, workspace, sockets=[listening])


def serve_alone(workspace: Path, *, host: str, port: int) -> None:
    """Serve the locations of a workspace file until SIGINT or SIGTERM; whoever starts daemon and code servers, ends them.

    Raises Problem for a cluster's variable that is set wrong.
    """
    check_runs_at_once()
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(STATEMENT_MILLISECONDS, SECONDS_OF_A_CONNECTION, FURTHER_CONNECTIONS)
        _serve_workspace(instance, workspace, host=host, port=port)


def _serve_workspace(
    instance: dg.DagsterInstance, workspace: Path, *, sockets: list[socket.socket] | None = None, **at: Any
) -> None:
    target = WorkspaceFileTarget([str(workspace)])
    with WorkspaceProcessContext(instance, workspace_load_target=target, version=dg.__version__) as context:
        server = cast(Any, DagsterWebserver)(context, live_data_poll_rate=MILLISECONDS_BETWEEN_LOOKS)
        app = server.create_asgi_app()
        pages = pages_app(home(), reload=lambda: context.reload_code_location(LOCATION))
        app.router.routes.insert(0, Mount(PREFIX, pages))
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=SECONDS_TO_FINISH, **at)
        uvicorn.Server(config).run(sockets=sockets)


@contextlib.contextmanager
def _code_server(instance: dg.DagsterInstance) -> Generator[Path, None, None]:
    """The process that loads our code, and the workspace file that says where it is."""
    with (
        ProxyServerManager(instance, DEFINITIONS, code_server_log_level="warning") as manager,
        tempfile.TemporaryDirectory() as folder,
    ):
        workspace = Path(folder) / "workspace.yaml"
        workspace.write_text(yaml.safe_dump({"load_from": list(manager.get_code_server_specs())}), encoding="utf-8")
        yield workspace


@contextlib.contextmanager
def _daemon(workspace: Path) -> Generator[None, None, None]:
    """The process that looks after sensors, schedules, backfills and the queue of runs."""
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
        case [descriptor]:
            serve(socket.socket(fileno=int(descriptor)))
        case _:
            sys.exit(
                "Give WORKSPACE HOST PORT, as in: python -m pipelines.ui.server pipelines/cluster/workspace.yaml 127.0.0.1 3000"
            )
