"""A run is named by its folder or by the beginning of its id; a variant with a release names its release."""

from pathlib import Path

import pytest

from pipelines.evaluation.folder import RESULTS, run_folder_of
from pipelines.home import Home

RUN = "demo-0.1.0-bm25-0123456789ab"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    run = tmp_path / "runs" / RUN
    run.mkdir(parents=True)
    (run / RESULTS).touch()
    return Home(root=tmp_path)


@pytest.mark.parametrize("source", ["demo", "demo-0.1.0-bm25", RUN])
def test_the_beginning_of_an_id_names_the_one_run_that_has_it(home: Home, source: str) -> None:
    found = run_folder_of(source, home=home)
    assert found is not None
    assert found.name == RUN


def test_a_variant_with_a_release_names_its_release_and_no_run(home: Home) -> None:
    (home.releases / "demo" / "0.1.0").mkdir(parents=True)
    assert run_folder_of("demo", home=home) is None
    assert run_folder_of("demo-0.1.0-bm25", home=home) is not None
