"""The folder of an installation: its files, and Dagster's own storage in it."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

DAGSTER_SETTINGS = Path(__file__).parent / "deploy" / "dagster.sqlite.yaml"


@dataclass(frozen=True)
class Home:
    """The folder of one installation's data; everything below can be moved or backed up as a whole.

    `store`: the URL of an object store, or a shared folder, for snapshots, values and releases instead
    (pipelines/resources/storage/open_stores.py opens them).
    """

    root: Path
    store: str = ""

    @property
    def calls(self) -> Path:
        """The reply cache: every reply ever paid for."""
        return self.root / "calls.sqlite"

    @property
    def work(self) -> Path:
        """The record cache: finished users of stages under way."""
        return self.root / "work.sqlite"

    @property
    def releases(self) -> Path:
        """The folder of this machine for releases, `<variant>/<version>`, and for what is known beside them."""
        return self.root / "releases"

    @property
    def reports(self) -> Path:
        """Pages of the latest quality reports, `<variant>.html`."""
        return self.root / "reports"

    @property
    def explorer(self) -> Path:
        """A DuckDB file with views over all snapshots."""
        return self.root / "explore.duckdb"

    @property
    def dagster(self) -> Path:
        """Dagster's own storage, unless DAGSTER_HOME says otherwise."""
        return Path(os.environ.get("DAGSTER_HOME") or self.root / "dagster")


def home() -> Home:
    """The folder named by AMEMGYM_HOME, else `data` beside the code, with the store that AMEMGYM_STORE names, if any."""
    root = Path(os.environ.get("AMEMGYM_HOME") or Path(__file__).parent.parent / "data").absolute()
    return Home(root, os.environ.get("AMEMGYM_STORE", "").strip())


def prepare_dagster_home(home: Home) -> Path:
    """Make the folder of Dagster's storage with a dagster.yaml that sends nothing anywhere; an existing one stays."""
    folder = home.dagster
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "dagster.yaml"
    if not settings.exists():
        shutil.copyfile(DAGSTER_SETTINGS, settings)
    return folder
