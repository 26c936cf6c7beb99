"""Memories asked about facts that end: outcomes by kind, and what was to be forgotten at each moment."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import EndpointError, ModelReply, ModelRequest
from assets.llm.usage import Usage
from assets.records.estimate import Estimate
from pipelines.evaluation.answered.fact_metrics import MOMENTS
from pipelines.evaluation.answered.fact_tasks import FactTasks
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.metrics.own import OwnFigures
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.run import DatasetInfo
from pipelines.experiments.scoring.compare import compare_runs, comparison_report
from pipelines.experiments.scoring.leaderboard import leaderboard_data
from pipelines.experiments.scoring.twins import difference_of_independent, twin_gaps, twin_report
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.user_facts import made_facts

BAD_MEMORIES = Path(__file__).with_name("bad_memories.py")
KINDS = {"all", "at_time", "consequence", "course", "current", "deleted", "false_premise", "never_said", "true_premise"}


def tasks() -> FactTasks:
    user = made_facts().user
    info = DatasetInfo(
        benchmark="user_facts",
        name="small facts 0.1.0",
        digest="d" * 64,
        language="English",
        noun="user",
        users=(user.user_id,),
        prompts=("evaluation/remember", "facts_questions/ask"),
        tokens=100_000,
    )
    return FactTasks(info, (user,))


def evaluated(folder: Path, kind: str, **options: Any) -> FinishedRun:
    spec = MemorySpec(name=kind.rpartition(":")[2], kind=kind)
    return finish(run_of(folder, EmbeddedModel(), data=tasks(), spec=spec, **options))


def figures(run: FinishedRun, by: str) -> dict[str, OwnFigures]:
    return {one.value: one for one in run.results.own if one.by == by}


def test_whoever_keeps_everything_is_right_on_each_kind_and_whoever_keeps_nothing_knows_nothing(tmp_path: Path) -> None:
    full = figures(evaluated(tmp_path, "full-history"), "kind")
    none = figures(evaluated(tmp_path, "none"), "kind")
    assert set(full) == KINDS
    assert {one["right"].value for one in full.values()} == {1.0}
    assert none["course"]["not_known"].value == 1.0
    assert none["never_said"]["right"].value == none["deleted"]["right"].value == 1.0
    assert (none["all"]["right"].value or 0) < 0.5


@pytest.mark.parametrize("kind", ["bm25", "full-history"])
def test_calls_that_a_request_to_forget_takes_are_announced(tmp_path: Path, kind: str) -> None:
    spec = MemorySpec(name=kind, kind=kind)
    work = run_of(tmp_path, EmbeddedModel(), data=tasks(), spec=spec)
    announced = run(forecast_run(work, embedded=work.models)).sizes["memory"].calls
    assert announced == finish(work).results.spending.get("memory", Usage()).calls


def test_a_deleted_value_is_found_in_what_is_recalled_at_each_moment(tmp_path: Path) -> None:
    def held(kind: str) -> list[float | None]:
        found = figures(evaluated(tmp_path, kind), "moment")
        return [found[moment]["in_texts"].value for moment in MOMENTS]

    # One that has no `forget` is told the request and keeps what it knew; one that follows it has the mail alone.
    assert held("full-history") == [1.0, 1.0, 1.0, 1.0]
    assert held("bm25") == [0.0, 0.0, 1.0, 1.0]


def test_what_is_dropped_when_the_memory_settles_is_there_until_then_and_leaks_after_the_mail(tmp_path: Path) -> None:
    run = evaluated(tmp_path, f"{BAD_MEMORIES}:ForgetsWhenItSettles")
    found = figures(run, "moment")
    assert [found[moment]["leaked"].value for moment in MOMENTS] == [1.0, 0.0, 1.0, 1.0]
    assert figures(run, "correction")["come back"]["leaked"].value == 1.0


def test_corrections_are_taken_up_followed_and_kept_to_their_fact_and_day(tmp_path: Path) -> None:
    full = figures(evaluated(tmp_path, "full-history"), "correction")
    none = figures(evaluated(tmp_path, "none"), "correction")
    assert {found["right"].value for found in full.values()} == {1.0}
    assert full["taken up"].count >= full["taken up, known before"].count > 0
    assert "taken up, known before" not in none
    assert none["beside, alone"]["right"].value == 1.0 > (none["beside"]["right"].value or 0)
    assert none["taken up"].count > none["taken up, 0 to 3 sessions later"].count > 0
    # A value of a day before is never right by saying nothing; a fact that was withdrawn is.
    assert none["before"]["not_known"].value == 1.0
    assert (none["taken up"]["right"].value or 0) > 0


def test_facts_stand_in_report_board_and_comparison(tmp_path: Path) -> None:
    full = evaluated(tmp_path, "full-history")
    none = evaluated(tmp_path, "none")
    assert "## Facts" in run_report(full)
    board = comparison_report(compare_runs([full, none]))
    assert "## Facts: right by kind of question" in board
    assert "## Facts that were to be forgotten" in board
    page = {section["key"]: section for section in leaderboard_data(compare_runs([full, none]), pages={})["sections"]}
    kinds, forgotten = (page[key]["blocks"][-1] for key in ("kinds", "forgotten"))
    assert "course" in kinds["head"]
    assert [row[0] for row in forgotten["rows"]] == [row[0] for row in kinds["rows"]]
    [pair] = compare_runs([full, none]).pairs
    differences = {row.metric: row.difference.value for row in pair.differences}
    assert differences["right: course"] == 1.0
    assert differences["right: never_said"] == 0.0


def test_a_memory_that_is_better_on_the_public_half_has_a_gap(tmp_path: Path) -> None:
    public = evaluated(tmp_path, "full-history")
    private = evaluated(tmp_path, "none")
    twin = private.manifest.model_copy(update={"dataset": "small-twin 0.1.0"})
    # As if one memory had been run on both halves.
    known = public.manifest.model_copy(update={"dataset": "small 0.1.0", "memory": twin.memory, "models": twin.models})
    pair = [replace(public, manifest=known), replace(private, manifest=twin)]
    gaps = {gap.metric: gap.gap.value for gap in twin_gaps(pair)}
    assert gaps["right: course"] == 1.0
    assert gaps["right: never_said"] == 0.0
    assert twin_gaps([public, private]) == []
    assert "1 user in each half decide" in twin_report(twin_gaps(pair))


def test_the_gap_of_independent_halves_has_the_limits_of_both() -> None:
    high = Estimate(value=0.9, low=0.8, high=0.95)
    low = Estimate(value=0.5, low=0.4, high=0.6)
    gap = difference_of_independent(high, low)
    assert gap.value == 0.4
    assert gap.low == pytest.approx(0.4 - (0.1**2 + 0.1**2) ** 0.5, abs=1e-6)
    assert gap.high == pytest.approx(0.4 + (0.05**2 + 0.1**2) ** 0.5, abs=1e-6)


class BreakingOff(EmbeddedModel):
    """The embedded model, which is gone after so many calls."""

    def __init__(self, calls_left: int) -> None:
        super().__init__()
        self.calls_left = calls_left
        self.asked = list[str]()

    async def complete(self, request: ModelRequest) -> ModelReply:
        if len(self.asked) == self.calls_left:
            raise EndpointError("The endpoint is gone.")
        self.asked.append(request.labels.prompt)
        return await super().complete(request)


def test_a_life_that_broke_off_goes_on_after_the_moment_that_it_had_reached(tmp_path: Path) -> None:
    spec = MemorySpec(name="bm25", kind="bm25")
    model = BreakingOff(1000)
    whole = finish(run_of(tmp_path / "whole", model, data=tasks(), spec=spec, conditions=()))
    # The request to forget takes a call of the memory's own; what is asked at once takes the next two.
    broken = run_of(tmp_path / "broken", BreakingOff(3), data=tasks(), spec=spec, conditions=())
    with pytest.raises(EndpointError, match="gone"):
        finish(broken)
    broken.folder.close()
    again = BreakingOff(1000)
    finished = finish(run_of(tmp_path / "broken", again, data=tasks(), spec=spec, conditions=()))
    assert len(again.asked) == len(model.asked) - 2
    assert finished.results == whole.results
