"""A whole run on a disk that has no room, and the same run once there is room."""

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.support.commands import AMEMGYM, clean_environment

FILE_LIMIT = 200_000


def generate_demo(home: Path, *, prepare: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    line, around = [*AMEMGYM, "generate", "demo", "--set", "num_users=1"], clean_environment(home)
    return subprocess.run(line, env=around, capture_output=True, text=True, check=False, preexec_fn=prepare)


def no_large_files() -> None:
    """No file may grow beyond the limit; to the stores it looks like a disk that is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))


def test_a_full_disk_ends_the_run_in_one_sentence_and_the_next_run_goes_on_to_the_same_release(tmp_path: Path) -> None:
    stopped = generate_demo(tmp_path / "small", prepare=no_large_files)
    last = stopped.stderr.strip().splitlines()[-1]
    assert stopped.returncode == 1, stopped.stderr
    assert last.startswith("amemgym: ")
    assert "kept" in last
    resumed = generate_demo(tmp_path / "small")
    assert resumed.returncode == 0, resumed.stderr
    fair = generate_demo(tmp_path / "roomy")
    assert fair.returncode == 0, fair.stderr
    manifests = [next((tmp_path / name / "releases").glob("demo/*/manifest.json")) for name in ("small", "roomy")]
    assert manifests[0].read_bytes() == manifests[1].read_bytes()
