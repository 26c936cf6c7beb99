"""Evaluating on a release that lies on the Hub, by its name there."""

from pathlib import Path

import pytest

from dataset_card.hub.port import Hub
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.errors import EvaluationError
from pipelines.evaluation.amemgym.tasks import open_amemgym
from tests.support.hub_server.releases import a_release, published


@pytest.fixture
def place(hub: Hub, repo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a release on the Hub, for an installation that never saw it."""
    published(hub, a_release(), repo=repo)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    return f"{repo}@demo-v0.1.0"


def test_a_release_on_the_hub_is_the_same_dataset_as_in_its_folder(place: str, tmp_path: Path) -> None:
    found = open_amemgym(place, release_store=FolderReleaseStore(tmp_path))

    assert found == open_amemgym(str(a_release().folder), release_store=FolderReleaseStore(tmp_path))


def test_what_was_fetched_once_is_evaluated_without_the_hub(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = open_amemgym(place, release_store=FolderReleaseStore(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    assert open_amemgym(place, release_store=FolderReleaseStore(tmp_path)) == first
    assert "Reading what was fetched before" in capsys.readouterr().err


def test_a_release_that_is_not_on_the_hub_is_one_sentence(place: str, tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"has no tag 'demo-v9\.9\.9'"):
        open_amemgym(place.replace("0.1.0", "9.9.9"), release_store=FolderReleaseStore(tmp_path))
