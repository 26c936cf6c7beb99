"""What stands in the README runs, and prints what stands below it."""

import subprocess
from pathlib import Path

from tests.support.guide import ROOT, copy_of_the_repository, environment, fences

# What makes the repository and the environment is there already; the last one runs until it is stopped.
NOT_HERE = ("git clone ", "cd ", "make ", "source ", "amemgym ui")


def test_the_readme_runs_as_it_is_written(tmp_path: Path) -> None:
    parts = list(fences(ROOT / "README.md"))
    try_it = next(part.text for part in parts if part.kind == "sh")
    code, printed = (next(part.text for part in parts if part.kind == kind) for kind in ("python", "text"))
    commands = ["amemgym demo --quiet", *(line for line in try_it.splitlines() if not line.startswith(NOT_HERE))]
    place = copy_of_the_repository(tmp_path / "copy")
    surroundings = environment(place, home=place / "data")

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=place, env=surroundings, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run("bash", "-euo", "pipefail", "-c", "\n".join(commands))
    assert run("python", "-c", code) == printed
