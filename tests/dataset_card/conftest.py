"""Fixtures of this folder."""

from pathlib import Path

import pytest

from dataset_card.release_store.folder import Release, write_release
from tests.support.releases import content


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return write_release(content(), root=tmp_path, version="0.1.0")
