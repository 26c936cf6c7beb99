"""`amemgym model serve` and `ui`: commands that run until they are interrupted."""

import contextlib
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer
import uvicorn
from filelock import FileLock, Timeout
from starlette.types import ASGIApp

from assets.recipe.loading import check_variant, variants
from assets.reporting.page_style import page_address
from pipelines.cli.options import command_group
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from pipelines.errors import Problem
from pipelines.home import find_unwritable, home
from pipelines.ui.processes import run_until_ended
from pipelines.ui.request_guard import RequestGuard, listed_hosts

SECONDS_TO_FINISH = 2  # for open requests when the server is stopped

model_app = command_group("The embedded model.")


@model_app.command("serve")
def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the API; 0 means any free one.")] = 8321,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    api_key: Annotated[str, typer.Option(envvar="AMEMGYM_SERVE_KEY", help="Require this key from clients.")] = "",
    latency: Annotated[float, typer.Option(min=0, help="Delay of each reply in seconds.")] = 0.0,
) -> None:
    """Serve the embedded model with the OpenAI API on a port."""
    serve_model(host, port=port, api_key=api_key, latency=latency)


def ui(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 means any free one.")] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    variant: Annotated[str, typer.Option(help="The variant whose launchpad opens; without it `demo`, or else the first.")] = "",
    browser: Annotated[Optional[bool], typer.Option("--open/--no-open", help="Open the browser (if there is one).")] = None,
) -> None:
    """Open the Dagster UI of this project, and the pages with its reports and evaluations."""
    variant = variant or next(iter(variants()), "demo")
    check_variant(variant)
    for sentence in find_unwritable(home()):
        raise Problem(sentence)
    listed_hosts()  # to report a bad value here; the server's process reads it again
    from pipelines.opening.doctor import sound_dagster_storage  # late: `model serve` needs no Dagster

    with sound_dagster_storage(home()) as folder:
        environment = {**os.environ, "DAGSTER_HOME": str(folder), "PYTHONWARNINGS": "ignore"}
    with _only_ui_of(folder), bound_socket(host, port) as listening:
        # Listen now, so that requests before Dagster is up wait for it instead of failing.
        listening.listen()
        url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        print(f"Dagster opens on {url} in a few seconds (Ctrl-C ends it).", flush=True)
        print(f"Reports, evaluations, a variant of your own: {url}{page_address('')}", flush=True)
        if _has_browser() if browser is None else browser:
            typer.launch(f"{url}{page_address('launchpad', variant)}")
        sys.exit(run_until_ended(listening, environment, host=host))


@contextmanager
def _only_ui_of(folder: Path) -> Generator[None, None, None]:
    """Keep a second UI off the folder: two daemons would launch every queued run twice. Raises Problem."""
    try:
        with FileLock(folder / "ui.lock", timeout=0, fallback_to_soft=False):
            yield
    except Timeout as error:
        raise Problem(
            f"The UI of {home().root} runs already; use its page, or end it first. Another data folder (AMEMGYM_HOME) may have "
            "a UI of its own on another --port."
        ) from error


def _has_browser() -> bool:
    """Return whether the user has a screen on this machine."""
    return sys.stdout.isatty() and (sys.platform == "darwin" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()))


@contextmanager
def bound_socket(host: str, port: int) -> Generator[socket.socket, None, None]:
    """Yield a bound socket; port 0 means any free one. Raises Problem if the port is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # allows a port that was used a moment ago
        try:
            bound.bind((host, port))
        except socket.gaierror as error:
            raise Problem(f"The host {host} has no address ({error.strerror}); choose another with --host.") from error
        except OSError as error:
            raise Problem(f"Port {port} on {host} cannot be used ({error.strerror}); choose another with --port.") from error
        yield bound


def run_server(app: ASGIApp, listening: socket.socket) -> None:
    """Serve an ASGI application on the socket until Ctrl-C. The caller adds the RequestGuard."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_FINISH)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])


def serve_model(host: str, *, port: int, api_key: str, latency: float) -> None:
    """Serve the embedded model until interrupted; port 0 means any free one. Raises Problem if the port is taken."""
    # No token: API requests change nothing, and API clients send no cookies.
    app = RequestGuard(embedded_app(api_key=api_key or None, latency=latency), host=host, with_token=False)
    with bound_socket(host, port) as listening:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/v1"
        print(f"{model_name()} answers on {url} (Ctrl-C ends it). In another terminal:", flush=True)
        print(f"  AMEMGYM_BASE_URL={url} AMEMGYM_API_KEY=any amemgym generate demo --model {model_name()}", flush=True)
        run_server(app, listening)
