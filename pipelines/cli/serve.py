"""Serve the embedded model."""

import contextlib

import uvicorn

from pipelines.cli.listening import listening_at
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name

SECONDS_TO_FINISH = 2  # for requests under way when the server is stopped


def serve_model(host: str, *, port: int, api_key: str, latency: float) -> None:
    """Run until interrupted; port 0 takes a free one. Raises Problem for a taken port."""
    with listening_at(host, port) as listening:
        url = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}/v1"
        print(f"{model_name()} answers on {url} (Ctrl-C ends it). In another terminal:", flush=True)
        print(f"  AMEMGYM_BASE_URL={url} AMEMGYM_API_KEY=any amemgym generate demo --model {model_name()}", flush=True)
        service = create_app(api_key=api_key or None, latency=latency)
        quiet = uvicorn.Config(service, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_FINISH)
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(quiet).run(sockets=[listening])
