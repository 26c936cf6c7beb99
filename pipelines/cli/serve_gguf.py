"""Serve the weights of a real model with the OpenAI API, for users without a key (optional extra `local`)."""

import contextlib
import hashlib
import importlib
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.cli.problems import Problem

MAGIC = b"GGUF"


@dataclass(frozen=True)
class LocalModel:
    """A GGUF file and how it is served. `context`: tokens of prompt and reply of one slot; `slots`: calls at once."""

    path: Path
    slots: int = 4
    context: int = 8192

    @property
    def name(self) -> str:
        """The file's name and the start of its digest, so that other weights are another model to cache and manifest."""
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{self.path.stem.lower()}@{digest[:8]}"


def serve_gguf(local: LocalModel, *, host: str, port: int, api_key: str, latency: float) -> None:
    """Run until interrupted. Raises Problem where the extra is missing, or the file or the port cannot be used."""
    if latency:
        raise Problem("--latency is for the embedded model only; give --gguf without it.")
    _check(local.path)
    xllamacpp = _engine()
    params = xllamacpp.CommonParams()
    params.model.path = str(local.path)
    params.model_alias = {local.name}
    params.hostnames, params.port = [host], port
    params.n_parallel, params.n_ctx = local.slots, local.slots * local.context
    params.api_keys = [api_key] if api_key else []
    params.ui, params.verbosity = False, 0
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        reason = str(error).rstrip(". ")
        raise Problem(
            f"{local.path} cannot be served on {host}:{port}: {reason}. Is the port taken? Give another --port."
        ) from error
    print(f"{local.name} answers on {server.listening_address}/v1 (Ctrl-C ends it). In another terminal:", flush=True)
    print(
        f"  AMEMGYM_BASE_URL={server.listening_address}/v1 AMEMGYM_API_KEY={'...' if api_key else 'any'} "
        f"AMEMGYM_MAX_IN_FLIGHT={local.slots} AMEMGYM_TIMEOUT=1800 amemgym generate demo --model {local.name}",
        flush=True,
    )
    with contextlib.suppress(KeyboardInterrupt):
        signal.pause()


def _engine() -> Any:
    try:
        return importlib.import_module("xllamacpp")
    except ImportError:
        raise Problem("Serving a GGUF file needs the extra `local`: install it with pip install -e '.[local]'.") from None


def _check(path: Path) -> None:
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        raise Problem(f"The weights {path} cannot be read: {error.strerror}.") from error
    if magic != MAGIC:
        raise Problem(f"{path} is no GGUF file; give --gguf the weights of a model in that format.")
