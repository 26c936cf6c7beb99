"""The end of a command's process: everything left to be done is done, and no time is spent on taking the program apart."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = """
import sys
from pipelines.cli.ending import Ending
ending = Ending()
from tempfile import TemporaryDirectory
from threading import Thread
import time

class Module:
    def __del__(self):
        print("taken apart")

held, folder = Module(), TemporaryDirectory(dir=sys.argv[1])
Thread(target=lambda: (time.sleep(0.2), print("the thread is done"))).start()
print("to a buffer")
ending.status = {status}
"""


def ended(status: int | None, folder: Path) -> "subprocess.CompletedProcess[str]":
    """What a process printed and said that ended like this."""
    line = [sys.executable, "-c", COMMAND.format(status=status), str(folder)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("status", [0, 3])
def test_threads_end_temporary_folders_go_and_what_was_printed_arrives_before_the_process_ends_at_once(
    status: int, tmp_path: Path
) -> None:
    process = ended(status, tmp_path)
    assert (process.returncode, process.stderr) == (status, "")
    assert process.stdout == "to a buffer\nthe thread is done\n"
    assert not list(tmp_path.iterdir())


def test_a_command_that_ends_in_a_way_nobody_foresaw_is_left_to_python(tmp_path: Path) -> None:
    assert ended(None, tmp_path).stdout.endswith("taken apart\n")
