"""Where a project keeps what it makes."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    """The folder of one installation's data; everything below can be moved or backed up as a whole."""

    root: Path

    @property
    def snapshots(self) -> Path:
        """Parquet snapshots of every stage, by content."""
        return self.root / "snapshots"

    @property
    def values(self) -> Path:
        """The latest value of every asset partition."""
        return self.root / "values"

    @property
    def calls(self) -> Path:
        """The call cache: every reply ever paid for."""
        return self.root / "calls.sqlite"

    @property
    def work(self) -> Path:
        """Finished users of stages under way."""
        return self.root / "work.sqlite"

    @property
    def releases(self) -> Path:
        """Released folders, `<variant>/<version>`."""
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
    """The folder named by AMEMGYM_HOME, else `data` beside the code."""
    return Home(Path(os.environ.get("AMEMGYM_HOME") or Path(__file__).parent.parent / "data").absolute())
