"""Open the Dagster UI."""

import os
import subprocess
import sys
from pathlib import Path

from pipelines.home import home
from pipelines.instance import prepare_dagster_home


def run_ui(host: str, *, port: int) -> None:
    """Run the web server and daemon until interrupted."""
    folder = prepare_dagster_home(home())
    command = [sys.executable, "-m", "dagster", "dev", "--host", host, "--port", str(port)]
    environment = {**os.environ, "DAGSTER_HOME": str(folder), "PYTHONWARNINGS": "ignore"}
    print(f"Dagster opens on http://{host}:{port} in a few seconds (Ctrl-C ends it).", flush=True)
    root = Path(__file__).parent.parent.parent
    try:
        status = subprocess.run(command, cwd=root, env=environment, check=False).returncode  # noqa: S603 (our own words)
    except KeyboardInterrupt:
        status = 0
    sys.exit(status)
