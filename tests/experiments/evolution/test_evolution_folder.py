"""A finished evolution is read as it was written, and a damaged one told."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.experiments.evolution.results import read_evolution
from tests.experiments.evolution.scripted_evolution import evolution_of, evolved, learner

pytestmark = pytest.mark.slow  # an evolution is many evaluations


def test_a_finished_evolution_is_read_as_it_was_written(tmp_path: Path) -> None:
    work = evolution_of(tmp_path, learner())
    done = evolved(work)

    assert read_evolution(work.run.folder.path) == done
    assert work.run.folder.finished
    assert not list(work.run.folder.path.glob("steps.sqlite*"))


def test_a_damaged_table_of_an_evolution_is_one_sentence(tmp_path: Path) -> None:
    work = evolution_of(tmp_path, learner(), users=("ada",), protocols=("paper",), feedbacks=("none",))
    evolved(work)
    (work.run.folder.path / "facts.parquet").write_bytes(b"PAR1 was a table PAR1")
    with pytest.raises(EvaluationError, match=r"facts\.parquet cannot be read"):
        read_evolution(work.run.folder.path)
