"""Memories on documents in turns, by the runner of all benchmarks: what is not recalled is not known, and scores say so."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import EndpointError, ModelReply, ModelRequest
from assets.memory_items.tasks import MemoryTask
from assets.recipe.deep_research import DeepResearchRecipe
from assets.recipe.loading import load_recipe
from assets.records.estimate import Estimate
from dataset_card.deep_research import DEEP_RESEARCH_RELEASE
from dataset_card.release.content import ReleaseContent
from dataset_card.release_store.folder import write_release
from pipelines.errors import EvaluationError
from pipelines.evaluation.answered.document_tasks import BUDGET, DocumentItem, DocumentTasks, read_answer
from pipelines.evaluation.answered.releases import read_table_rows
from pipelines.evaluation.folder import FinishedRun, read_run, read_table
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.isolated import CONDITIONS
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.metrics.own import OwnFigures
from pipelines.evaluation.metrics.results import memory_rows
from pipelines.evaluation.options import EvaluationOptions
from pipelines.evaluation.records import EventRow
from pipelines.evaluation.report.formatting import nothing_recalled
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.run import DatasetInfo, Run
from pipelines.evaluation.timeline.steps import Write
from pipelines.evaluation.verifying.verdict import verify_run
from pipelines.experiments.scoring.board_tables import leaderboard_table
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.memories.contract import MemoryEvent, MemorySpec
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.evaluation.test_evaluate_command import output_of
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.research_tasks import made_task, make, small_recipe, worlds

INFO = DatasetInfo(
    benchmark="deep_research",
    name="small 0.1.0",
    digest="d" * 64,
    language="English",
    noun="task",
    users=(worlds(small_recipe())[0].task_id,),
    prompts=("evaluation/remember", "memories/", "memory_items/ask"),
    tokens=6000,
)


class Counting(EmbeddedModel):
    """The embedded model, which counts calls, and is gone after so many."""

    def __init__(self, calls_left: int = 1_000) -> None:
        self.calls_left = calls_left
        self.asked = list[ModelRequest]()

    async def complete(self, request: ModelRequest) -> ModelReply:
        if self.calls_left <= len(self.asked):
            raise EndpointError("The endpoint is gone.")
        self.asked.append(request)
        return await super().complete(request)


def documents(*names: str) -> DocumentTasks:
    """The small task, under each of these names."""
    made = made_task().instance
    tasks = [made.model_copy(update={"task_id": name}) for name in names or (made.task_id,)]
    info = replace(INFO, users=tuple(task.task_id for task in tasks))
    return DocumentTasks(info, tuple(DocumentItem(task, task.lengths[0], "English") for task in tasks))


def evaluated(folder: Path, kind: str, *, data: DocumentTasks | None = None, **options: Any) -> FinishedRun:
    return finish(work(folder, kind, data=data, **options))


def work(
    folder: Path, kind: str, *, data: DocumentTasks | None = None, model: EmbeddedModel | None = None, **options: Any
) -> Run:
    spec = MemorySpec(name=kind.rpartition(":")[2], kind=kind, settings=options.pop("settings", {}))
    return run_of(folder, model or EmbeddedModel(), data=data or documents(), spec=spec, **options)


def rights(finished: FinishedRun) -> Sequence[bool | None]:
    [row] = memory_rows(finished.answers)
    return [row.right(condition) for condition in CONDITIONS]


def test_a_memory_of_everything_answers_and_one_of_nothing_does_not(tmp_path: Path) -> None:
    full, none = (evaluated(tmp_path, kind) for kind in ("full-history", "none"))
    assert rights(full) == [True, False, True, True]
    assert rights(none) == [False, False, True, True]
    assert (full.results.metrics["fact_recall"].value, none.results.metrics["fact_recall"].value) == (1.0, 0.0)
    [answer] = [row for row in full.answers if row.kind == "question"]
    assert (answer.length, answer.required, answer.written_tokens) == (4000, 2, made_task().lengths.lengths[0].tokens)


@pytest.mark.slow  # tasks of the demo are made, and scored on three memories
def test_the_demo_tells_a_memory_that_searches_from_one_that_keeps_what_came_last(tmp_path: Path) -> None:
    recipe = load_recipe("dr-demo", {"lengths": [8000]})
    assert isinstance(recipe, DeepResearchRecipe)
    tasks = [run(make(world, recipe=recipe, model=EmbeddedModel())).instance for world in worlds(recipe)[:4]]
    info = replace(INFO, users=tuple(task.task_id for task in tasks), tokens=BUDGET)
    data = DocumentTasks(info, tuple(DocumentItem(task, task.lengths[0], "English") for task in tasks))
    found = {kind: evaluated(tmp_path, kind, data=data).results.metrics["overall"].value for kind in ("bm25", "window", "none")}
    assert found["none"] == 0
    assert (found["bm25"] or 0) >= (found["window"] or 0) + 0.25


def test_a_stranger_s_question_that_two_tasks_ask_is_each_one_s_own_when_the_run_is_verified(tmp_path: Path) -> None:
    recipe = small_recipe(seed=2)  # its answer is a name, so that neither copy is a stranger to the other
    made = run(make(worlds(recipe)[0], recipe=recipe, model=EmbeddedModel())).instance
    other = made_task().instance
    tasks = [*(made.model_copy(update={"task_id": name}) for name in ("one", "two")), other]
    info = replace(INFO, users=tuple(task.task_id for task in tasks))
    data = DocumentTasks(info, tuple(DocumentItem(task, task.lengths[0], "English") for task in tasks))
    bm25 = work(tmp_path, "bm25", data=data)
    finished = finish(bm25)
    asked = [row.user_id for row in finished.answers if row.kind == "permuted"]
    assert asked.count(other.task_id) == 2
    assert verify_run(finished, bm25.folder.path, data).problems == ()


class Incomparable(DocumentItem):
    """A task that nobody looks for among the others, whose number would be squared."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("tasks were compared")


def test_no_task_is_looked_for_among_all_to_find_its_stranger(tmp_path: Path) -> None:
    data = documents("one", "two", "three")
    items = tuple(Incomparable(item.task, item.sized, item.language) for item in data.documents)
    manifest = work(tmp_path, "bm25", data=data).manifest
    assert len(replace(data, documents=items).timelines(manifest)) == 3


def test_scores_by_length_and_by_facts_stand_in_report_and_board(tmp_path: Path) -> None:
    full, window = evaluated(tmp_path, "full-history"), evaluated(tmp_path, "window", settings={"most_tokens": 500})
    groups = [(group.by, group.value, group.scores.gain.value) for group in window.results.isolated_by]
    assert groups == [("length", 4000, 0.0), ("facts", 2, 0.0)]
    assert all(group.recalled_tokens <= 500 for group in window.results.isolated_by)
    assert "## By length, and by needed facts" in run_report(full)
    assert "not written" not in run_report(full)
    assert "| full-history | document |" in leaderboard_table([window, full])
    assert [row.metric for pair in compare_runs([full, window]).pairs for row in pair.differences] == ["overall"]


def test_seconds_of_a_task_at_six_lengths_have_no_interval_where_its_scores_have_none(tmp_path: Path) -> None:
    task = made_task().instance
    lengths = [task.lengths[0].model_copy(update={"length": 1000 * number}) for number in range(1, 7)]
    data = DocumentTasks(INFO, tuple(DocumentItem(task, length, "English") for length in lengths))
    finished = evaluated(tmp_path, "none", data=data)
    assert finished.latency.timed == 6
    assert finished.latency.mean.value is not None
    assert "There are no intervals: fewer than 6 tasks" in run_report(finished)
    assert (finished.latency.mean.low, finished.latency.mean.high) == (None, None)


def test_rows_for_reward_models_say_what_was_written_and_read(tmp_path: Path) -> None:
    finished = evaluated(tmp_path, "bm25", curve=(300,))
    folder = tmp_path / finished.manifest.run_id
    rows, events = read_table(folder / "memory.parquet", kind=MemoryRow), read_table(folder / "events.parquet", kind=EventRow)
    assert [row.budget for row in rows] == [6000, 300]
    assert {(event.cluster, event.length) for event in events} == {(row.cluster, row.length) for row in rows}
    assert rows[0].written == len(events)
    assert read_run(finished.manifest.run_id, runs=tmp_path).results == finished.results


def test_documents_arrive_by_turn_and_the_question_is_never_written(tmp_path: Path) -> None:
    data = documents()
    [item] = data.documents
    [timeline] = data.timelines(work(tmp_path, "none", data=data).manifest)
    batches = [step.events for step in timeline.steps if isinstance(step, Write)]
    assert [event for batch in batches for event in batch] == item.events
    assert len(batches) == len(made_task().turns.turns)
    assert all(isinstance(event, MemoryEvent) and item.task.question not in event.text for event in item.events)
    assert item.readable.task.window == ()


def test_a_run_goes_on_after_the_tasks_that_are_done(tmp_path: Path) -> None:
    data = documents("one", "two")
    # What is asked beside the questions is asked by then, so that one task after the other is all there is.
    evaluated(tmp_path, "none", data=data)
    with pytest.raises(EndpointError, match="gone"):
        finish(replace(work(tmp_path, "full-history", data=data, model=Counting(calls_left=3)), items_at_once=1))
    model = Counting()
    finished = finish(work(tmp_path, "full-history", data=data, model=model))
    # The second task's own question, and that of the first: one was answered, but a step that broke is asked again as a whole.
    assert len(model.asked) == 2
    assert finished.results == evaluated(tmp_path / "at once", "full-history", data=data).results


def test_the_forecast_is_what_the_run_asks(tmp_path: Path) -> None:
    model = Counting()
    begun = work(tmp_path, "full-history", data=documents("one", "two"), model=model, curve=(300,))
    assert begun.alone is not None
    size = run(forecast_run(begun, embedded=begun.models))
    size += run(forecast_run(begun.alone, embedded=begun.models))
    finish(begun)
    assert size.calls == len(model.asked) == 12
    assert size.steps == 4


def test_a_memory_that_fails_costs_its_task_which_counts_as_wrong(tmp_path: Path) -> None:
    source = tmp_path / "breaking.py"
    source.write_text(
        "class Breaking:\n    def __init__(self, tools): ...\n    def write(self, events): raise RuntimeError('no room')\n"
        "    def recall(self, query, *, tokens): return []\n"
    )
    finished = evaluated(tmp_path, f"{source}:Breaking")
    [error] = finished.results.errors
    assert error.sentence.startswith(
        f"Task {error.item_id}, turn 0: Memory 'Breaking' failed in 'write': RuntimeError: no room"
    )
    assert finished.results.metrics["overall"].value == 0
    assert finished.results.metrics["unscored"].value == 1


def test_a_memory_that_passes_over_documents_is_told_so(tmp_path: Path) -> None:
    source = tmp_path / "talk.py"
    source.write_text(
        "class Talk:\n    def __init__(self, tools): self.kept = []\n"
        "    def write(self, events): self.kept += [e.text for e in events if e.kind == 'user']\n"
        "    def recall(self, query, *, tokens): return self.kept\n"
    )
    told = "Talk gave back nothing for any of 1 question."
    assert told in run_report(evaluated(tmp_path, f"{source}:Talk"))
    assert "gave back nothing" not in run_report(evaluated(tmp_path, "full-history"))
    assert "gave back nothing" not in run_report(evaluated(tmp_path, "none"))


@pytest.mark.parametrize("figures", [{"asked": 0.0, "fired": 0.0}, {"asked": 2.0, "fired": 1.0}])
def test_a_memory_that_no_episode_asked_or_that_answered_calls_is_not_told_that_it_gave_nothing(
    figures: dict[str, float], tmp_path: Path
) -> None:
    run = evaluated(tmp_path, "bm25")
    silent = replace(run, answers=[row.model_copy(update={"memories": ()}) for row in run.answers])
    assert "gave back nothing" in nothing_recalled(silent)
    estimates = {name: Estimate(value=value, low=None, high=None) for name, value in figures.items()}
    own = OwnFigures(by="kind", value="question", count=1, figures=estimates)
    assert nothing_recalled(replace(silent, results=run.results.model_copy(update={"own": (own,)}))) == ""


@pytest.mark.parametrize(
    ("options", "whole", "words"),
    [
        ({"wording": "paper"}, False, "wording is for AMemGym"),
        ({"replay": "run"}, False, "replay is for AMemGym"),
        ({}, True, "--assistant is for AMemGym"),
    ],
)
def test_what_only_dialogues_have_is_refused_in_a_sentence(options: dict[str, Any], whole: bool, words: str) -> None:
    with pytest.raises(EvaluationError, match=words):
        documents().own_settings(EvaluationOptions(**options), whole=whole)


def test_answers_are_read_and_what_is_none_is_told(tmp_path: Path) -> None:
    assert [read_answer('{"answer": "7"}'), read_answer('{"answer": null}')] == ["7", ""]
    with pytest.raises(ValueError, match='key "answer"'):
        read_answer('{"reply": 1}')
    with pytest.raises(EvaluationError, match="cannot be read as rows of MemoryTask"):
        read_table_rows(tmp_path / "none.parquet", MemoryTask)


def test_the_command_takes_a_release_of_documents_plans_it_and_resumes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AMEMGYM_BASE_URL", "OPENAI_BASE_URL", "AMEMGYM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))
    content = ReleaseContent(
        form=DEEP_RESEARCH_RELEASE,
        recipe=small_recipe(),
        items=[made_task().instance],
        generator="amemgym-synth 0.1.0",
        prompts={},
    )
    release = str(write_release(content, root=tmp_path, version="0.1.0").folder)

    assert "About 4 model calls" in output_of("evaluate", release, "--memory", "bm25", "--plan")
    report = output_of("evaluate", release, "--memory", "bm25", "--full")
    assert re.search(r"\nlength +4,000 ", report)
    assert "is shown again" in output_of("evaluate", release, "--memory", "bm25")
