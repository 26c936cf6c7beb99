"""A whole run on a disk that has no room, and the same run once there is room."""

import resource
import subprocess
from pathlib import Path

from tests.pipelines.chained import SMALL
from tests.support.commands import AMEMGYM, amemgym_here, clean_environment

FILE_LIMIT = 200_000


def no_large_files() -> None:
    """No file may grow beyond the limit; to the stores it looks like a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))


def test_a_full_disk_ends_the_run_in_one_sentence_and_the_next_run_goes_on_to_the_same_release(
    tmp_path: Path, finished_demo: Path
) -> None:
    line, around = [*AMEMGYM, "generate", "demo", *SMALL], clean_environment(tmp_path)
    stopped = subprocess.run(line, env=around, capture_output=True, text=True, check=False, preexec_fn=no_large_files)
    last = stopped.stderr.strip().splitlines()[-1]
    assert stopped.returncode == 1, stopped.stderr
    assert last.startswith("amemgym: ")
    assert "kept" in last
    status, output = amemgym_here(tmp_path, "generate", "demo", *SMALL)
    assert status == 0, output
    manifests = [next((home / "releases").glob("demo/*/manifest.json")) for home in (tmp_path, finished_demo)]
    assert manifests[0].read_bytes() == manifests[1].read_bytes()
