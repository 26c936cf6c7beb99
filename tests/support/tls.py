"""A server on loopback that speaks TLS with a certificate of its own, and the certificate as a file."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.types import ASGIApp

from tests.support.waiting import wait_until


def own_certificate(folder: Path, *, host: str = "127.0.0.1", days: int = 2) -> Path:
    """Write a certificate that signs itself, with its key beside it. It ends in so many days, which may have passed."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}-{days}.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    path.with_suffix(".key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    return path


@contextmanager
def on_a_tls_port(app: ASGIApp, certificate: Path) -> Generator[str, None, None]:
    """Serve the app on 127.0.0.1 by TLS; the base URL."""
    key = certificate.with_suffix(".key")
    config = uvicorn.Config(
        app,
        port=0,
        log_level="critical",
        lifespan="off",
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield f"https://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()
