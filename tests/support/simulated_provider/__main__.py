"""Serve the simulated provider on a port until interrupted: python -m tests.support.simulated_provider --errors 0.02"""

import argparse
import contextlib
from dataclasses import fields
from typing import get_type_hints

import uvicorn

from pipelines.embedded.app import embedded_app
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider

SECONDS_TO_FINISH = 2  # for requests under way when the server is stopped; those that hang would never be


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    types = get_type_hints(FaultProfile)
    for option in fields(FaultProfile):
        flag = f"--{option.name.replace('_', '-')}"
        parser.add_argument(flag, type=types[option.name], default=option.default, help=option.metadata["about"])
    given = vars(parser.parse_args())
    port = given.pop("port")
    provider = Provider(embedded_app(), FaultProfile(**given))
    config = uvicorn.Config(
        provider, port=port, log_level="warning", access_log=False, timeout_graceful_shutdown=SECONDS_TO_FINISH
    )
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()
    counts = [f"{count} {name.replace('_', ' ')}" for name, count in sorted(provider.log.counts.items())]
    print(f"Served: {', '.join(counts) or 'nothing'}.", flush=True)


if __name__ == "__main__":
    main()
