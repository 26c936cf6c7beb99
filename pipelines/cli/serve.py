"""Serve the embedded model."""

import socket

import uvicorn

from pipelines.cli.problems import Problem
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name


def serve_model(host: str, *, port: int, api_key: str) -> None:
    """Run until interrupted. Raises Problem when the port is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Problem(f"Port {port} on {host} cannot be used ({error.strerror}); choose another with --port.") from error
    print(f"{model_name()} answers on http://{host}:{port}/v1 (Ctrl-C ends it). In another terminal:", flush=True)
    print(f"  AMEMGYM_BASE_URL=http://{host}:{port}/v1 AMEMGYM_API_KEY=any amemgym generate demo", flush=True)
    uvicorn.run(create_app(api_key=api_key or None), host=host, port=port, log_level="warning", access_log=False)
