"""Dagster's own storage: a folder with a dagster.yaml that sends nothing anywhere."""

import shutil
from pathlib import Path

from pipelines.home import Home

SETTINGS = Path(__file__).parent / "deploy" / "dagster.sqlite.yaml"


def prepare_dagster_home(home: Home) -> Path:
    """Make the folder and its settings unless they are there."""
    folder = home.dagster
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        shutil.copyfile(SETTINGS, settings)
    return folder
