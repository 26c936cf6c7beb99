"""Ctrl-C in a real terminal: one sentence, whatever the command was about to do. `make test-endurance` tries more moments."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from assets.stop_signals import INTERRUPTED
from pipelines.cli import STOPPED
from tests.pipelines.chained import SERVED, SMALL, endpoint
from tests.support.cells import cells
from tests.support.commands import amemgym, clean_environment, finish, free_port, interrupted

CLOSING = """
import logging, sys, typer
from pipelines.cli.main import app, main

def probe():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        logging.getLogger("a library").error("Exception closing connection", exc_info=True)
    logging.getLogger("a library").error("something else")

app.command("probe")(probe)
sys.argv.append("probe")
main()
"""

STARTING = """
import os, signal, socket, sys
from pipelines.ui.processes import run_until_ended

def press_ctrl_c(event, arguments):
    if event == "subprocess.Popen":
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(press_ctrl_c)
with socket.create_server(("127.0.0.1", 0)) as listening:
    sys.exit(run_until_ended(listening, os.environ, host="127.0.0.1"))
"""


@pytest.mark.parametrize("module", ["pipelines.cli.main", "pydantic", "dagster"])
def test_ctrl_c_during_the_first_imports_is_one_sentence(tmp_path: Path, module: str) -> None:
    status, output = interrupted(tmp_path, "generate", "demo", importing=module)

    assert output.replace("^C", "").split() == ["begun", *STOPPED.split()]
    assert status == INTERRUPTED


def test_ctrl_c_while_a_stage_is_made_has_the_status_of_any_other(tmp_path: Path) -> None:
    with endpoint() as there:
        there.app.enough = lambda: there.app.answered.total() >= 40
        words = ("generate", "demo", *SMALL, *SERVED)
        status, output = interrupted(tmp_path, *words, until="demo: questions", surroundings=there.surroundings)

    assert "Traceback" not in output
    # A terminal shows the sentence in lines.
    assert " ".join(output.split()).endswith(STOPPED)
    assert status == INTERRUPTED


def test_a_library_that_meets_ctrl_c_while_it_cleans_up_prints_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLOSING], capture_output=True, text=True, check=True, env=clean_environment(tmp_path)
    )
    assert done.stderr == "something else\n"


@pytest.mark.parametrize("seconds", cells([0.5], [0.5, 2.0, 4.0]))
def test_ctrl_c_while_dagster_loads_prints_none_of_its_tracebacks(tmp_path: Path, seconds: float) -> None:
    status, output = interrupted(tmp_path, "ui", "--port", str(free_port()), until="Ctrl-C ends it", after=seconds)

    assert "Traceback" not in output
    assert output.rstrip().endswith("Dagster is ending.")
    assert status == 0


def test_ctrl_c_while_dagsters_process_is_started_ends_like_any_other(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STARTING], capture_output=True, text=True, check=False, env=clean_environment(tmp_path)
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Dagster is ending.\n", "")


def test_a_page_that_dagster_cannot_serve_ends_with_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text("run_storage: {module: of, class: none, config: {}}\n", encoding="utf-8")

    status, output = finish(amemgym(tmp_path, "ui", "--port", "0"))

    assert (status, "Traceback" in output) == (1, False), output
    assert re.search(r"^amemgym: .*The report is in .*crashes", output.splitlines()[-1]), output
