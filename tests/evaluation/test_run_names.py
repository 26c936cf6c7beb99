"""A run is named by its folder or by the beginning of its id; a variant with a release names its release."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, RESULTS, alone_folder, find_run, run_folder_of
from pipelines.home import Home
from tests.support.commands import amemgym_here

RUN = "demo-0.1.0-bm25-0123456789ab"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    run = tmp_path / "runs" / RUN
    run.mkdir(parents=True)
    (run / RESULTS).touch()
    (run / MANIFEST).touch()
    return Home(root=tmp_path)


@pytest.fixture
def of_two(home: Home) -> Home:
    damaged = home.root / "runs" / "demo-0.1.0-bm25-perturbed-half-388fd6fabb08"
    damaged.mkdir()
    (damaged / RESULTS).touch()
    (damaged / MANIFEST).touch()
    return home


@pytest.mark.parametrize("source", ["demo", "demo-0.1.0-bm25", RUN])
def test_the_beginning_of_an_id_names_the_one_run_that_has_it(home: Home, source: str) -> None:
    found = run_folder_of(source, home=home)
    assert found is not None
    assert found.name == RUN


def test_a_variant_with_a_release_names_its_release_and_no_run(home: Home) -> None:
    (home.releases / "demo" / "0.1.0").mkdir(parents=True)
    assert run_folder_of("demo", home=home) is None
    assert run_folder_of("demo-0.1.0-bm25", home=home) is not None


@pytest.mark.parametrize("name", [RUN, "demo-0.1.0-bm25", "demo-0.1.0-bm25-01"])
def test_a_memory_is_named_without_its_digest_though_another_begins_so(of_two: Home, name: str) -> None:
    assert find_run(name, runs=of_two.root / "runs").name == RUN
    found = run_folder_of(name, home=of_two)
    assert found is not None
    assert found.name == RUN


def test_a_beginning_of_several_ids_names_none(of_two: Home) -> None:
    with pytest.raises(EvaluationError, match=r"'demo' names 2 runs in .*; there are "):
        find_run("demo", runs=of_two.root / "runs")
    assert run_folder_of("demo", home=of_two) is None


def test_an_evaluation_that_failed_or_was_stopped_is_not_offered(home: Home) -> None:
    failed = home.root / "runs" / "demo-0.1.0-none-0123456789ab"
    failed.mkdir()
    (failed / MANIFEST).touch()

    assert find_run("demo", runs=failed.parent).name == RUN
    assert find_run(failed.name, runs=failed.parent) == run_folder_of(failed.name, home=home) == failed
    with pytest.raises(EvaluationError, match=rf"there are {RUN}\."):
        find_run("lost", runs=failed.parent)


@pytest.mark.parametrize("name", ["demo-0.1.0-no-memory", "demo-0.1.0-no-memory-0123456789ab"])
def test_a_run_of_what_is_the_same_for_every_memory_is_found_too(home: Home, name: str) -> None:
    alone = alone_folder(home.root / "runs" / RUN, "demo-0.1.0-no-memory-0123456789ab")
    alone.mkdir(parents=True)
    (alone / MANIFEST).touch()
    assert run_folder_of(name, home=home) == alone


def test_a_name_of_several_runs_is_answered_with_them(of_two: Home) -> None:
    status, output = amemgym_here(of_two.root, "verify", "demo-0.1.0")
    assert (status, "'demo-0.1.0' names 2 runs in" in output) == (1, True), output
