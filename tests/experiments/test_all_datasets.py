"""One table of runs on several datasets: a line for each memory and dataset, with its isolated scores."""

from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.scoring.all_datasets import all_datasets_table, share_fired
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    spec = MemorySpec(name="full-history", kind="full-history")
    return finish(run_of(tmp_path_factory.mktemp("run"), HonestModel(), spec=spec, arms=True, probes="none"))


def on(dataset: str, made: FinishedRun) -> FinishedRun:
    run_id = f"{dataset}-{made.manifest.memory.name}"
    return replace(made, manifest=made.manifest.model_copy(update={"dataset": dataset, "run_id": run_id}))


def test_each_dataset_has_a_line_with_the_scores_of_its_conditions(made: FinishedRun) -> None:
    table = all_datasets_table([[on("dr-demo 0.1.0", made)], [on("code-demo 0.1.0", made)]])
    scores = made.results.isolated
    assert scores is not None
    lines = [line for line in table.splitlines() if "full-history" in line]
    assert [line.split(" | ")[0] for line in lines] == ["| code-demo 0.1.0", "| dr-demo 0.1.0"]
    memory, none, facts, everything, placebo, _, fired = lines[0].removesuffix(" |").split(" | ")[2:]
    assert memory.startswith("1.000")
    assert (facts, everything, fired) == ("1.000", "1.000", "100%")
    assert none == f"{scores.none.value:.3f}".removeprefix("0")
    assert placebo == next(f"{arm.right.value:.3f}" for arm in made.results.arms if arm.name == "placebo").removeprefix("0")


def test_one_dataset_alone_has_no_such_table(made: FinishedRun) -> None:
    assert all_datasets_table([[on("dr-demo 0.1.0", made)]]) == ""


def test_a_run_that_failed_verification_is_left_out(made: FinishedRun) -> None:
    spoiled = replace(on("code-demo 0.1.0", made), problems=("its answers were changed",))
    assert all_datasets_table([[on("dr-demo 0.1.0", made)], [spoiled]]) == ""


def test_a_memory_that_gave_nothing_never_fired(made: FinishedRun) -> None:
    silent = replace(made, answers=[row.model_copy(update={"memories": ()}) for row in made.answers])
    assert (share_fired(made), share_fired(silent)) == (1.0, 0.0)


def test_memories_are_ranked_within_their_dataset(made: FinishedRun, tmp_path: Path) -> None:
    forgetful = finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name="none", kind="none"), arms=True, probes="none"))
    table = all_datasets_table([[on("a 0.1.0", forgetful), on("a 0.1.0", made)], [on("b 0.1.0", made)]])
    assert [line.split(" | ")[1] for line in table.splitlines()[2:5]] == ["full-history", "none", "full-history"]
