"""The pages of `pipelines/guide`: what they tell to write and to run, done in a copy of this repository.

A fence after a line that is nothing but a path in backticks and a colon is a file to write, a `diff` fence a change of
files that are there, and an `sh` fence commands to run. Other fences are for reading.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import clean_environment

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"(?:^`(?P<path>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
COPIED = (
    "assets",
    "dataset_card",
    "pipelines",
    "prompts",
    "tests",
    "validation",
    "amemgym.py",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


@dataclass(frozen=True)
class Fence:
    """One fenced part of a page."""

    kind: str
    text: str
    path: str | None


def fences(page: Path) -> Iterator[Fence]:
    for found in FENCE.finditer(page.read_text(encoding="utf-8")):
        yield Fence(found["kind"], found["text"], found["path"])


def pages() -> dict[str, Path]:
    """The pages that tell to run something, by name."""
    every = sorted((ROOT / "pipelines" / "guide").glob("*/*.md"))
    return {page.stem: page for page in every if any(fence.kind == "sh" for fence in fences(page))}


def copy_of_the_repository(place: Path) -> Path:
    """A copy with what Python has compiled already, which is as old as the files: compiling all of it takes seconds."""
    for name in COPIED:
        source, target = ROOT / name, place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            # Python renames such files, perhaps while we copy.
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*"))
        else:
            shutil.copyfile(source, target)
    enter_into_metadata(place)
    return place


def enter_into_metadata(place: Path) -> None:
    """Write the copy's entry points as its metadata, which is found before that of the installation: again after a change."""
    project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    folder = place / f"amemgym_synth-{project['version']}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = ["[console_scripts]", *(f"{name} = {value}" for name, value in project["scripts"].items())]
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (folder / "entry_points.txt").write_text("\n".join([*lines, ""]))


def write(fence: Fence, *, place: Path) -> None:
    """Write a file, or change those that a diff names. Raises CalledProcessError for one that does not fit."""
    if fence.path:
        target = place / fence.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(fence.text, encoding="utf-8")
    elif fence.kind == "diff":
        # Not as part of the repository around: a copy below another checkout would be left as it is.
        outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(place.parent)}
        for change in re.split(r"^(?=--- a/)", fence.text, flags=re.MULTILINE)[1:]:
            command = ["git", "apply", "--recount", "-"]
            subprocess.run(command, cwd=place, env=outside, input=change, text=True, check=True, capture_output=True)
        enter_into_metadata(place)


def environment(place: Path, *, home: Path) -> dict[str, str]:
    """An environment of its own, over this one's packages, in which the copy is what is imported."""
    folder = place.with_name(f"{place.name}-venv")
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*")) / "site-packages"
    # This environment may itself lie over another one.
    beneath = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "beneath.pth").write_text("\n".join([str(place), *beneath, ""]))
    for name, module in (("amemgym", "pipelines"), ("pip", "pip")):
        script = folder / "bin" / name
        script.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m {module} "$@"\n')
        script.chmod(0o755)
    return clean_environment(home, PATH=f"{folder / 'bin'}:{os.environ['PATH']}")


def follow(page: Path, *, place: Path, home: Path) -> str:
    """Do all that a page tells, in its order; return what the commands printed. Raises AssertionError with their words."""
    surroundings, output = environment(place, home=home), ""
    for fence in fences(page):
        if fence.kind == "sh":
            command = ["bash", "-euo", "pipefail", "-c", fence.text]
            done = subprocess.run(command, cwd=place, env=surroundings, capture_output=True, text=True, check=False)
            output += done.stdout + done.stderr
            assert done.returncode == 0, f"{page.name}: {fence.text}\n{done.stdout}\n{done.stderr}"
        else:
            write(fence, place=place)
    return output


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        copy = copy_of_the_repository(Path(scratch) / "copy")
        sys.stdout.write(follow(pages()[sys.argv[1]], place=copy, home=Path(scratch) / "data"))
