"""What names a run: its id, its id without the digest, or the beginning of it."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import find_run, run_folder_of
from pipelines.home import Home

BM25 = "demo-0.1.0-bm25-5a57de1dc70d"
DAMAGED = "demo-0.1.0-bm25-perturbed-half-388fd6fabb08"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    for name in (BM25, DAMAGED):
        for file in ("manifest.json", "results.json"):
            (tmp_path / "runs" / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / "runs" / name / file).write_text("{}")
    return Home(tmp_path)


@pytest.mark.parametrize("name", [BM25, "demo-0.1.0-bm25", "demo-0.1.0-bm25-5a"])
def test_a_memory_is_named_without_its_digest_though_another_begins_so(home: Home, name: str) -> None:
    assert find_run(name, runs=home.root / "runs").name == BM25
    found = run_folder_of(name, home=home)
    assert found
    assert found.name == BM25


def test_a_beginning_of_several_names_none(home: Home) -> None:
    with pytest.raises(EvaluationError, match=r"'demo' names 2 runs in .*; there are "):
        find_run("demo", runs=home.root / "runs")
    assert run_folder_of("demo", home=home) is None
