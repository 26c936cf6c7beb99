"""Serve the embedded model, in any weather."""

import contextlib
import socket

import uvicorn

from pipelines.cli.problems import Problem
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.embedded.provider import simulate
from pipelines.embedded.provider_weather import Weather

SECONDS_TO_FINISH = 2  # for requests under way when the server is stopped; those that hang would never be


def serve_model(host: str, *, port: int, api_key: str, weather: Weather) -> None:
    """Run until interrupted, then tell what the weather brought. Raises Problem when the port is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Problem(f"Port {port} on {host} cannot be used ({error.strerror}); choose another with --port.") from error
    print(f"{model_name()} answers on http://{host}:{port}/v1 (Ctrl-C ends it). In another terminal:", flush=True)
    print(
        f"  AMEMGYM_BASE_URL=http://{host}:{port}/v1 AMEMGYM_API_KEY=any amemgym generate demo --model {model_name()}",
        flush=True,
    )
    provider = simulate(create_app(api_key=api_key or None), weather)
    quiet = uvicorn.Config(
        provider, host=host, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_FINISH
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(quiet).run()
    told = [f"{count} {name.replace('_', ' ')}" for name, count in sorted(provider.log.counts.items())]
    print(f"Served: {', '.join(told) or 'nothing'}.", flush=True)
