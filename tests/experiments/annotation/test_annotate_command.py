"""`amemgym annotate` from a sample to the next release, on a release of the scenario's users, with problems on the way."""

import csv
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dataset_card.release_store.folder import write_release
from pipelines.cli.main import app
from pipelines.errors import Problem
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.records import ItemAnswer
from tests.support.releases import content

TWO = ("--annotator", "anna", "--annotator", "ben")


@pytest.fixture(scope="module")
def release_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("release")
    write_release(content(), root=root / "releases")
    return root


@pytest.fixture
def home(tmp_path: Path, release_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of its own with a release, and no endpoint."""
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    shutil.copytree(release_root, tmp_path, dirs_exist_ok=True)
    return tmp_path


def annotate(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["annotate", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_from_a_sample_over_disagreement_to_the_next_release(home: Path) -> None:
    message = annotate("sample", "truth", "demo", *TWO, "--annotator", "eva", "--name", "check")
    folder = StudyFolder(home / "studies/check")
    keys = folder.keys()
    for name, label in (("anna", "none"), ("ben", "a")):
        folder.put(folder.sheet(name), {item: ItemAnswer(value=key.expected) for item, key in keys.items()})
        folder.put(folder.sheet(name), {"item-0001": ItemAnswer(value=label)})
    agreement = annotate("agree", "check")
    files = annotate("export", "check")
    given = list(csv.DictReader((folder.path / "export" / "eva.csv").open(encoding="utf-8")))
    (row,) = [row for row in given if row["item"] == "item-0001"]
    with (home / "eva.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, row)
        rows.writeheader()
        rows.writerow({**row, "label": "none"})
    taken_in = annotate("import", "check", home / "eva.csv")
    settled = annotate("settle", "check")
    after = write_release(content(), root=home / "releases")
    card = (after.folder / "README.md").read_text(encoding="utf-8")

    assert "10 of 10 questions are taken" in message
    assert "Gwet's AC1" in agreement
    assert files.count(".csv") == 3
    assert "eva has 1 answer now" in taken_in
    assert "errata.yaml: 1; look" in settled
    assert after.version == "1.0.0"
    assert "## Checked by annotators" in card
    assert f"| question {keys['item-0001'].question_id} |" in card


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sample", "mood", "demo", *TWO), "There is no study 'mood'"),
        (("sample", "truth", "demo", "--annotator", "anna"), "two or more annotators"),
        (("sample", "truth", "demo", *TWO, "--half-width", "0"), "--half-width above 0"),
        (("sample", "truth", "demo", *TWO, "--run", "r"), "leave --run out"),
        (("sample", "integrity", "demo", *TWO), "name its run with --run"),
        (("sample", "integrity", "demo", *TWO, "--run", "none"), "names no run"),
        (("sample", "truth", "demo", *TWO, "--name", "Bad Name"), "cannot name a study"),
        (("sample", "truth", "demo", *TWO, "--name", "First"), "cannot name a study"),
        (("agree", "nothing"), "There is no study 'nothing'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(home: Path, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(Problem, match=message):
        annotate(*arguments)
    assert not (home / "studies").exists()
