"""The one assembly point: all benchmarks, sensors and schedules, as Dagster loads them."""

import logging
import os
import sys

import dagster as dg

from pipelines.automation import SCHEDULES, SENSORS
from pipelines.benchmark_definitions import merge_definitions
from pipelines.benchmarks import BENCHMARKS
from pipelines.home import SERVES_PAGES, home

LOG = logging.getLogger(__name__)


def warn_of_plain_server() -> None:
    """Warn whoever starts `dg dev` or `dagster dev`: it serves no pages of ours, and may be without our storage.

    Ours keeps what was run, and limits runs at once.
    """
    # `dg` sets the first variable in each of its commands; only `dg dev` loads this in a server, and so does `dg check`.
    serves = os.environ.get("DAGSTER_IS_DEV_CLI") and {"grpc", "code-server"}.intersection(sys.argv)
    if not serves or os.environ.get("DAGSTER_IS_DEFS_VALIDATION_CLI") or os.environ.get(SERVES_PAGES):
        return
    storage = ""
    if not os.environ.get("DAGSTER_HOME"):
        storage = (
            "DAGSTER_HOME is not set: runs, schedules and sensors of this session are forgotten at its end, and any number "
            f"of runs goes at once. To keep them, set it to the folder that `amemgym ui` makes, {home().dagster}. "
        )
    LOG.warning(
        f"{storage}This server has no page under /pages, where reports, releases and evaluations are shown. "
        "Start `amemgym ui` in its place."
    )


warn_of_plain_server()
defs = dg.Definitions.merge(
    merge_definitions(BENCHMARKS.values()), dg.Definitions(sensors=list(SENSORS), schedules=list(SCHEDULES))
)
