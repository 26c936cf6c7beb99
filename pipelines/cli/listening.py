"""A socket to serve on, bound before anything is said of it."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

from pipelines.cli.problems import Problem


@contextmanager
def listening_at(host: str, port: int) -> Generator[socket.socket, None, None]:
    """Yield the socket; port 0 takes a free one. Raises Problem when the port is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
        except OSError as error:
            raise Problem(f"Port {port} on {host} cannot be used ({error.strerror}); choose another with --port.") from error
        yield bound
