"""What a command imports: the stages of its own benchmark, and of a scored memory's surroundings only what scores it."""

import subprocess
import sys
from pathlib import Path

from tests.support.commands import clean_environment

PROGRAM = (
    "import sys; from pipelines.cli.main import run_command; status = run_command(sys.argv[1:]);"
    "print('loaded', *sys.modules, file=sys.stderr); sys.exit(status)"
)
TRACKS = ("code_qa", "deep_research", "tool_dialogue", "user_facts", "memory_items")
LATE = (
    "great_expectations",
    "dataset_card.hub.read",
    "dataset_card.amemgym.reference.imported",
    "assets.text.text_checks",
    "pipelines.experiments.scoring.board_tables",
    "pipelines.resources.llm.batch.queue",
)


def output_of_lean(home: Path, *words: str, unneeded: tuple[str, ...] = ()) -> str:
    """What the command prints, in a process that imports neither these modules nor a stage of another benchmark."""
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, env=clean_environment(home), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stderr.splitlines()[-1].split()
    assert "assets.amemgym.records.episode" in loaded
    of_tracks = [f"{package}.{track}" for package in ("assets", "validation", "dataset_card") for track in TRACKS]
    assert not {*of_tracks, *unneeded} & {*loaded}
    return done.stdout + done.stderr


def test_an_evaluation_imports_what_scores_its_memory_alone(demo_home: Path) -> None:
    output_of_lean(demo_home, "evaluate", "demo", "--memory", "bm25", unneeded=LATE)
