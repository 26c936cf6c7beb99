"""Fixtures of this folder."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from dataset_card.release_store.folder import Release, write_release
from tests.support.releases import content


@pytest.fixture(scope="session")
def made_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """A small release, made once, for reading."""
    return write_release(content(), root=tmp_path_factory.mktemp("releases"), version="0.1.0")


@pytest.fixture
def release(made_release: Release, tmp_path: Path) -> Release:
    """A copy of it, in `tmp_path`."""
    folder = tmp_path / made_release.folder.relative_to(made_release.folder.parents[1])
    return replace(made_release, folder=shutil.copytree(made_release.folder, folder))
