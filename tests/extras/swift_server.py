"""A real object store on loopback: OpenStack Swift with its S3 API, which checks every request's signature."""

import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2 as httpx

KEY, SECRET = "test:tester", "only-for-this-test"
STARTED_WITHIN, STOPPED_WITHIN = 60.0, 10.0
KINDS = ("object", "container", "account")
CLUSTER = """[swift-hash]
swift_hash_path_suffix = test
[storage-policy:0]
name = one
default = yes
"""
COMMON = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
workers = 0
fallocate_reserve = 0
log_address = {folder}/no-syslog

"""
STORAGE = "[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n"
PROXY = """[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck listing_formats s3api tempauth copy slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
conn_timeout = 10
node_timeout = 60
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
"""


@dataclass(frozen=True)
class SwiftServer:
    """Where it listens, and how to be let in."""

    endpoint: str

    @property
    def environment(self) -> dict[str, str]:
        """What a client finds in its environment."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }


@contextmanager
def swift_server(folder: Path) -> Generator[SwiftServer, None, None]:
    """Four processes that keep their objects below `folder`, which has to allow extended attributes."""
    ports = _free_ports(len(KINDS) + 1)
    _write_settings(folder, ports)
    with ExitStack() as running:
        for kind in KINDS:
            running.enter_context(_process(folder, kind))
        for port in ports[:-1]:  # the proxy turns away from those that do not answer
            _wait_for_port(port)
        running.enter_context(_process(folder, "proxy"))
        store = SwiftServer(f"http://127.0.0.1:{ports[-1]}")
        _wait_for(f"{store.endpoint}/healthcheck")
        yield store


def _write_settings(folder: Path, ports: list[int]) -> None:
    (folder / "devices" / "d1").mkdir(parents=True)
    (folder / "swift.conf").write_text(CLUSTER)
    for kind, port in zip(KINDS, ports, strict=False):
        _make_ring(folder, kind, port)
        settings = COMMON.format(port=port, folder=folder) + STORAGE.format(kind=kind)
        (folder / f"{kind}.conf").write_text(settings)
    (folder / "proxy.conf").write_text(COMMON.format(port=ports[-1], folder=folder) + PROXY.format(secret=SECRET))


def _make_ring(folder: Path, kind: str, port: int) -> None:
    from swift.common.ring import RingBuilder

    builder: Any = RingBuilder(1, 1, 0)
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "d1", "weight": 1.0})
    builder.rebalance()
    builder.get_ring().save(str(folder / f"{kind}.ring.gz"))


@contextmanager
def _process(folder: Path, kind: str) -> Generator[None, None, None]:
    module = f"swift.{'obj' if kind == 'object' else kind}.server"
    with (folder / f"{kind}.log").open("wb") as log:
        running = subprocess.Popen([sys.executable, "-m", module, folder / f"{kind}.conf"], stdout=log, stderr=log)
        try:
            yield
        finally:
            running.terminate()
            try:
                running.wait(STOPPED_WITHIN)
            except subprocess.TimeoutExpired:
                # It waits for clients that keep their connections, as those of a failed test do.
                running.kill()
                running.wait()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _wait_for_port(port: int) -> None:
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise TimeoutError(f"No server of the object store answers on port {port}.")


def _wait_for(url: str) -> None:
    end = time.monotonic() + STARTED_WITHIN
    while time.monotonic() < end:
        with suppress(httpx.TransportError):
            if httpx.get(url, trust_env=False).status_code == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(f"The object store does not answer at {url}.")
