"""What is refused before a run asks a model for anything."""

import re
from pathlib import Path

import pytest

from assets.recipe.loading import load_recipe
from dataset_card.release.manifest import ReleaseError
from pipelines import preflight
from pipelines.home import Home
from pipelines.preflight import check_before_run
from pipelines.resources.storage.errors import StoreError
from tests.support.commands import amemgym, finish

DEMO = load_recipe("demo")


def test_a_version_that_the_release_cannot_get_is_refused_before_the_first_call(tmp_path: Path) -> None:
    status, output = finish(amemgym(tmp_path, "generate", "demo", "--version", "1"))
    assert (status, output) == (1, "amemgym: '1' is no version; give three numbers such as 0.1.0, or 'auto'.\n")
    (tmp_path / "releases" / "demo" / "1.2.0").mkdir(parents=True)
    for version in ("auto", "1.2.0", "1.10.0"):
        check_before_run(DEMO, version=version, home=Home(tmp_path))
    with pytest.raises(ReleaseError, match=re.escape("Version 1.1.9 of 'demo' is lower than 1.2.0, which is there")):
        check_before_run(DEMO, version="1.1.9", home=Home(tmp_path))


def test_a_disk_that_is_nearly_full_is_told_before_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "LEAST_FREE", 10**18)
    with pytest.raises(StoreError, match=r"has \d+ MB left, and a run needs"):
        check_before_run(DEMO, version="auto", home=Home(tmp_path))


def test_a_data_folder_that_is_a_file_is_told_as_that(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    status, output = finish(amemgym(taken, "generate", "demo"))
    assert (status, output) == (1, f"amemgym: The data folder {taken} is a file; name a folder in AMEMGYM_HOME.\n")
