"""Dagster's own storage: a folder with a dagster.yaml that sends nothing anywhere."""

from pathlib import Path

from pipelines.home import Home

SETTINGS = """# Made once; edit it freely. No telemetry, no invitation, runs of one machine in SQLite.
telemetry:
  enabled: false
nux:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 2
# Look for queued runs every second, so that a run starts soon after the click.
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
  config:
    dequeue_interval_seconds: 1
"""


def prepare_dagster_home(home: Home) -> Path:
    """Make the folder and its settings unless they are there."""
    folder = home.dagster
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        settings.write_text(SETTINGS, encoding="utf-8")
    return folder
