"""Memories in tool dialogues, by the runner of all benchmarks: an agent can only use what it reads, and the end is graded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import ModelReply, ModelRequest
from assets.llm.usage import Usage
from assets.worlds.steps import read_episode
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.tool_dialogues import ToolItem, ToolTasks
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.records import AnswerRow, RecallAt
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.evaluation.verifying.usage import unlikely_usage
from pipelines.memories.contract import MemorySpec
from pipelines.opening.models import open_client
from pipelines.resources.llm.model_api import OpenAiChat
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.evaluation.test_document_tasks import documents
from tests.pipelines.llm.scripted_server import on_a_port, settings_for
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.tool_dialogues import made_dialogue


def tasks(*names: str) -> ToolTasks:
    """The small task, under each of these names."""
    made = made_dialogue().instance
    items = [made.model_copy(update={"task_id": name}) for name in names or (made.task_id,)]
    info = DatasetInfo(
        benchmark="tool_dialogue",
        name="small tools 0.1.0",
        digest="d" * 64,
        language="English",
        noun="task",
        users=tuple(item.task_id for item in items),
        prompts=("evaluation/remember", "evaluation/act"),
        tokens=13000,
    )
    return ToolTasks(info, tuple(ToolItem(item, item.lengths[0], "English") for item in items))


def answers(folder: Path, kind: str, **options: object) -> dict[str, AnswerRow]:
    """The rows of a run with this memory, by kind."""
    options = {"recall_at": "start", **options}
    work = run_of(folder, EmbeddedModel(), data=tasks(), spec=MemorySpec(name=kind, kind=kind), **options)  # pyright: ignore[reportArgumentType]
    return {row.kind: row for row in finish(work).answers}


def test_needed_facts_do_the_errand_and_nothing_or_chance_texts_do_not(tmp_path: Path) -> None:
    found = answers(tmp_path, "none", arms=True)
    assert {kind: found[kind].status for kind in ("question", "no_memory", "facts", "everything", "stale", "noise")} == {
        "question": "unknown",
        "no_memory": "unknown",
        "facts": "right",
        "everything": "right",
        "stale": "unknown",
        "noise": "right",
    }


def test_needed_facts_do_the_errand_also_where_an_agent_with_a_memory_asks_it_by_a_tool(tmp_path: Path) -> None:
    found = answers(tmp_path, "none", arms=True, recall_at="tool")
    assert (found["facts"].status, found["everything"].status) == ("right", "right")


def test_what_an_agent_asks_its_memory_for_counts_as_recalled(tmp_path: Path) -> None:
    row = answers(tmp_path, "full-history", recall_at="tool")["question"]
    assert row.memories == ()  # nothing at the start
    assert (row.fact_recall or 0) > 0
    assert row.evidence_recalled > 0


def test_a_point_of_the_curve_bounds_what_an_agent_is_given_that_asks_its_memory_itself(tmp_path: Path) -> None:
    found = answers(tmp_path, "full-history", recall_at="tool", curve=(1,), conditions=())
    assert (found["question"].status, found["at_budget"].status) == ("right", "unknown")


def test_a_memory_that_keeps_everything_does_the_errand_and_its_steps_are_kept(tmp_path: Path) -> None:
    row = answers(tmp_path, "full-history")["question"]
    assert row.status == "right"
    assert row.given == row.expected
    steps = read_episode(row.reply)
    assert row.calls == len(steps)
    assert "find_customers" in steps[0].reply
    assert all(wanted in steps[-2].reply for wanted in made_dialogue().instance.said)


def test_an_answer_is_graded_again_from_its_steps_alone(tmp_path: Path) -> None:
    data = tasks()
    work = run_of(
        tmp_path, EmbeddedModel(), data=data, spec=MemorySpec(name="full-history", kind="full-history"), recall_at="start"
    )
    questions = GradedQuestions(work.timelines)
    row = next(row for row in finish(work).answers if row.kind == "question")
    assert questions.grade(row.model_copy(update={"status": "wrong", "given": ""})) == row
    steps = read_episode(row.reply)
    unsaid = row.model_copy(update={"reply": row.reply.replace(made_dialogue().instance.said[0], "V-9", 1)})
    assert questions.grade(unsaid).status == "right"  # what a tool gave back is done again, whatever stands there
    silent = row.model_copy(update={"reply": "[]" if not steps else f"[{steps[0].model_dump_json()}]"})
    assert questions.grade(silent).status == "unknown"


@pytest.mark.parametrize("recall_at", ["start", "step", "write", "tool"])
def test_a_memory_is_asked_when_the_run_says_so(tmp_path: Path, recall_at: RecallAt) -> None:
    asked: list[str] = []

    class Curious(EmbeddedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            asked.append(request.messages[0].content)
            return await super().complete(request)

    spec = MemorySpec(name="full-history", kind="full-history")
    work = run_of(tmp_path, Curious(), data=tasks(), spec=spec, recall_at=recall_at, conditions=())
    finished = finish(work)
    (figures,) = finished.results.own
    assert figures.count == 1
    assert figures["fired"].value == 1
    assert figures["gave"].value == 1
    steps = figures["steps"].value or 0
    # Beside the first time, before each action or before each of two writes; as a tool for who is meant, with which all comes.
    assert figures["asked"].value == {"start": 1, "step": steps, "write": 3, "tool": 1}[recall_at]
    # A call that writes is chosen twice.
    assert len(asked) == steps + (recall_at == "write" and (figures["writes"].value or 0))


def test_an_agent_that_waits_for_each_reply_takes_no_batch_jobs(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"the agent of small tools 0\.1\.0 waits for each reply before it acts"):
        run_of(tmp_path, EmbeddedModel(), data=tasks(), batch=True)


def test_the_figures_of_episodes_count_steps_by_kind(tmp_path: Path) -> None:
    work = run_of(
        tmp_path, EmbeddedModel(), data=tasks(), spec=MemorySpec(name="full-history", kind="full-history"), recall_at="start"
    )
    figures: dict[str, dict[str, float | None]] = {}
    for group in finish(work).results.own:
        assert group.count == 1
        figures[group.value] = {name: estimate.value for name, estimate in group.figures.items()}
    whole = figures["question"]
    assert (whole["passed"], whole["writes"], whole["useless"]) == (1, 2, 0)
    assert whole["steps"] == (whole["lookups"] or 0) + 2 + 2  # writes, then what is said and the end
    alone = figures["no_memory"]
    assert alone["passed"] == 0
    assert alone["fired"] is None
    assert alone["writes"] == 0
    assert alone["tokens_per_pass"] is None


@pytest.mark.parametrize("at_once", [1, 32])
def test_any_number_of_tasks_at_once_gives_the_same_rows(tmp_path: Path, at_once: int) -> None:
    def rows(folder: str, items_at_once: int) -> Sequence[AnswerRow]:
        spec = MemorySpec(name="bm25", kind="bm25")
        work = run_of(tmp_path / folder, EmbeddedModel(), data=tasks("one", "two", "three"), spec=spec, recall_at="start")
        return finish(replace(work, items_at_once=items_at_once)).answers

    assert rows("some", at_once) == rows("others", 2)


def test_the_forecast_counts_several_calls_for_an_episode_and_what_each_search_gave(tmp_path: Path) -> None:
    def forecast(recall_at: RecallAt) -> Usage:
        spec = MemorySpec(name="bm25", kind="bm25")
        work = run_of(tmp_path / recall_at, EmbeddedModel(), data=tasks(), spec=spec, recall_at=recall_at)
        return run(forecast_run(work, embedded=work.models)).sizes["interview"]

    assert forecast("start").calls >= 6
    # What an agent searched for stays in sight.
    assert forecast("tool").input_tokens > 2 * forecast("start").input_tokens


@pytest.mark.parametrize("native_tools", [False, True])
def test_the_same_episode_is_acted_over_http_with_native_tool_calls_and_without(tmp_path: Path, native_tools: bool) -> None:
    spec = MemorySpec(name="full-history", kind="full-history")
    with on_a_port(embedded_app()) as url:

        class Served:
            """The product's own client, opened on the loop of each call."""

            async def complete(self, request: ModelRequest) -> ModelReply:
                client = open_client(settings_for(url), api=OpenAiChat())
                return await client.complete(replace(request, model=model_name()))

        work = run_of(tmp_path, Served(), data=tasks(), spec=spec, native_tools=native_tools, recall_at="start", conditions=())
        finished = finish(work)
    row = next(row for row in finished.answers if row.kind == "question")
    assert row.status == "right"
    changed = replace(finished, answers=[row.model_copy(update={"reply": "no episode"})])
    for acted in (finished, changed):  # what tools returned is no output of the agent, and a changed row has no steps to read
        assert not [sentence for sentence in unlikely_usage(acted) if "output tokens" in sentence]
    assert {step.did for step in read_episode(row.reply)} == {"looked", "wrote", "said", "finished"}
    assert work.manifest.native_tools is native_tools


@pytest.mark.parametrize("given", [{"recall_at": "step"}, {"native_tools": True}], ids=lambda given: next(iter(given)))
def test_what_an_agent_does_is_refused_where_nobody_acts(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises(EvaluationError, match=rf"{next(iter(given))} is for (tool dialogues|dialogues in which an agent acts)"):
        run_of(tmp_path, EmbeddedModel(), data=documents(), spec=MemorySpec(name="bm25", kind="bm25"), **given)
