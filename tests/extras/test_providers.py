"""A provider of the Agent Memory Benchmark on a data set of this program, with the embedded model over HTTP.

`memory_bench` is the stand-in of the tests, which says so, unless AMB_CHECKOUT names a clone whose dependencies are installed.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from tests.support.providers import BM25, forget, put_on_path


@pytest.fixture(autouse=True)
def _provider(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    put_on_path(monkeypatch)
    yield
    forget()


def test_its_words_provider_reaches_what_our_memory_of_words_does(data: Path) -> None:
    command = ["evaluate", str(data), "--memory", "bm25", "--memory", BM25, "--conditions", "", "--json"]
    command += ["--model", model_name(), "--set", f"embedding_model={model_name()}"]
    found = CliRunner().invoke(app, command, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    runs = json.loads(found.stdout)["runs"]
    ours, theirs = (run["results"]["metrics"]["overall"]["value"] for run in runs)

    assert theirs >= ours - 0.05, (ours, theirs)
