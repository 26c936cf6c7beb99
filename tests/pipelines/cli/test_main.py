"""The list of commands: each is loaded when it is called, and its process ends at once when all is done."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import COMMANDS, app, load_command

ROOT = Path(__file__).parents[3]
ENDING = """
import sys, time
from tempfile import TemporaryDirectory
from threading import Thread
import typer
from pipelines.cli.main import app, main

class Module:
    def __del__(self):
        print("taken apart")

def probe():
    global held, folder
    held, folder = Module(), TemporaryDirectory(dir=sys.argv[2])
    Thread(target=lambda: (time.sleep(0.2), print("the thread is done"))).start()
    print("to a buffer")
    {end}

app.command("probe", context_settings={{"allow_extra_args": True}})(probe)
sys.argv.insert(1, "probe")
main()
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_of_each_command_what_its_own_help_begins_with(name: str) -> None:
    sentence = COMMANDS[name][1]
    assert " ".join((load_command(name).help or "").split()).startswith(sentence)
    assert name in CliRunner().invoke(app, ["--help"]).output


def test_help_imports_no_command() -> None:
    code = "import sys, pipelines.cli.main as m; m.app(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    assert "pipelines.cli.main" in imported
    assert not imported & {"dagster", "pydantic", "pipelines.cli.generate", "pipelines.home"}


@pytest.mark.parametrize(("end", "status"), [("", 0), ("raise typer.Exit(3)", 3), ("raise KeyboardInterrupt", 130)])
def test_threads_end_temporary_folders_go_and_what_was_printed_arrives_before_the_process_ends_at_once(
    end: str, status: int, tmp_path: Path
) -> None:
    process = ended(end, tmp_path)
    assert process.returncode == status, process.stderr
    assert process.stdout == "to a buffer\nthe thread is done\n"
    assert not list(tmp_path.iterdir())


def test_an_error_that_nobody_foresaw_shows_its_traceback_and_ends_with_status_1(tmp_path: Path) -> None:
    process = ended("raise RuntimeError('unforeseen')", tmp_path)
    assert process.returncode == 1
    assert process.stderr.startswith("Traceback")
    assert process.stderr.endswith("RuntimeError: unforeseen\n")


def ended(end: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The process of a command that leaves a thread and a temporary folder behind and ends like this."""
    line = [sys.executable, "-c", ENDING.format(end=end), str(folder)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
