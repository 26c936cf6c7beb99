"""Each file of a data folder deleted, cut short or edited: what the doctor says, and what the next run makes of it."""

import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.home import Home
from pipelines.opening.doctor import examine
from tests.faults.runs import Row, digest, end
from tests.support.commands import amemgym

SAMPLE = 6  # files of each kind of damage after which the demo is made again
AS_BEFORE, REFUSED = "made, same data", "the release refused, and the file named"


def delete(path: Path) -> None:
    path.unlink()


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = b"\0damage\0"
    path.write_bytes(content)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder in which the demo was made."""
    home = tmp_path_factory.mktemp("whole")
    assert end(amemgym(home, "generate", "demo", "--quiet")).status == 0
    return home


def files_of(home: Path) -> list[Path]:
    """All files with anything in them; Dagster's own storage is Dagster's."""
    found = (path for path in sorted(home.rglob("*")) if path.is_file() and path.stat().st_size)
    return [path.relative_to(home) for path in found if path.relative_to(home).parts[0] != "dagster"]


@pytest.mark.parametrize("damage", [delete, cut_short, edit])
def test_damaged_file(tmp_path: Path, note: Callable[[Row], None], whole: Path, damage: Callable[[Path], None]) -> None:
    files = files_of(whole)
    told: list[Path] = []
    for number, file in enumerate(files):
        home = tmp_path / str(number)
        shutil.copytree(whole, home, ignore=shutil.ignore_patterns("dagster"))
        damage(home / file)
        if examine(Home(home)):
            told.append(file)
        shutil.rmtree(home)
    again: dict[Path, str] = {}
    for file in random.Random(19).sample(files, SAMPLE):
        home = tmp_path / "again"
        shutil.copytree(whole, home)
        damage(home / file)
        end(amemgym(home, "doctor", "--repair"))
        ended = end(amemgym(home, "generate", "demo", "--quiet"))
        again[file] = ended.ending if ended.status else f"made, {'same' if digest(home) == digest(whole) else 'other'} data"
        if file.parts[0] == "releases" and ended.status and file.name in ended.output:
            again[file] = REFUSED  # it is what was published: the doctor tells of it, and nobody makes it anew under its number
        shutil.rmtree(home)
    silent = sorted({file.parts[0] for file in files if file not in told})
    worse = "; ".join(f"{file}: {what}" for file, what in again.items() if what not in (AS_BEFORE, REFUSED))
    cell = f"{damage.__name__}: the doctor tells of {len(told)} of {len(files)} files, not of those in {', '.join(silent)}"
    ends = "; ".join(f"{count} {what}" for what, count in Counter(again.values()).items())
    note(Row(cell, struck=len(files), ending=ends))
    assert not worse
