"""A whole run: what it asks and keeps, that it can be killed, repeated and replayed, and that it notices a cheat."""

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError, ModelReply, ModelRequest, RequestFailed
from pipelines.evaluation.amemgym.tasks import LivedPeriod
from pipelines.evaluation.folder import read_run
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.report.contents import isolated_rows, run_contents
from pipelines.evaluation.report.markdown import run_report, section_text, table_text
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import HONEST, HonestModel, episode, fenced, finish, run_of, tasks
from tests.support.coroutines import run
from tests.support.waiting import until

KINDS = ("full-history", "rag", "awe", "awi")


def spec(kind: str) -> MemorySpec:
    """The kind with its default settings."""
    return MemorySpec(name=kind, kind=kind)


def tell_wrongly(request: ModelRequest) -> object:
    """Values that were never true of a user."""
    offered: dict[str, list[str]] = json.loads(fenced(request.messages[-1].content, "state_schema"))
    true = {value for period in episode().periods for value in period.state.values()}
    return {name: next(value for value in values if value not in true) for name, values in offered.items()}


def test_chance_is_exact_and_no_memory_has_nothing_that_only_a_memory_can_have(tmp_path: Path) -> None:
    model = HonestModel()
    done = finish(run_of(tmp_path, model, spec=spec("none")))

    assert model.asked("evaluation_tell_states") == []
    for name in ("not_written", "misread", "write_failure", "undiagnosed", "state_recall", "evidence_recall"):
        assert done.results.metrics[name].value is None
    assert done.results.arms == ()
    assert "not written" not in section_text(next(part for part in run_contents(done) if part.key == "periods"))[-1]

    assert [done.results.baselines["random"].low, done.results.periods["random"][0].low] == [None, None]
    assert done.results.baselines["no_memory"].value is not None
    assert done.results.isolated is not None
    assert done.results.isolated.gain.value is None
    table = table_text(isolated_rows({"none": done.results}))
    assert "| none | " in table
    assert table.endswith("| - | - |")


def test_a_perfect_memory_scores_one_and_none_scores_below(tmp_path: Path) -> None:
    results = finish(run_of(tmp_path, HonestModel())).results

    assert results.metrics["overall"].value == 1
    assert results.metrics["memory"].value == 1
    assert results.baselines["upper_bound"].value == 1
    assert results.metrics["state_recall"].value == 1
    assert (results.baselines["no_memory"].value or 0) < 1
    assert results.fidelity.score == 1


def test_without_room_for_the_past_everything_wrong_was_never_written(tmp_path: Path) -> None:
    # No probe is right by luck: whatever is not believed is told wrong.
    model = HonestModel({"evaluation_tell_states": tell_wrongly})
    empty = MemorySpec(name="empty", kind="window", settings={"most_tokens": 1})
    metrics = finish(run_of(tmp_path, model, spec=empty)).results.metrics
    overall, not_written = metrics["overall"].value, metrics["not_written"].value

    assert overall is not None
    assert not_written is not None
    assert overall < 1
    assert overall + not_written == pytest.approx(1, abs=1e-5)
    assert metrics["write_failure"].value == not_written
    assert metrics["state_recall"].value == 0


@pytest.mark.parametrize("probes", ["period", "question", "none"])
def test_the_forecast_is_what_the_run_asks(tmp_path: Path, probes: str) -> None:
    model = HonestModel()
    work = run_of(tmp_path, model, probes=probes, curve=(100, 200))
    finish(work)
    size = run(forecast_run(work, embedded=work.models))
    assert work.alone is not None
    size += run(forecast_run(work.alone, embedded=work.models))
    asked = Counter(request.labels.stage.removeprefix("evaluation ") for request in model.requests)

    assert {purpose: one.calls for purpose, one in size.sizes.items() if one.calls} == dict(asked)


def test_what_the_next_message_waits_for_goes_before_what_no_message_waits_for(tmp_path: Path) -> None:
    model = HonestModel()
    finish(run_of(tmp_path, model))
    ranks = {request.labels.stage.removeprefix("evaluation "): request.labels.rank for request in model.requests}
    assert ranks["simulator"] < ranks["interview"] == ranks["baselines"]


def test_neither_how_many_users_live_at_once_nor_their_order_changes_an_answer(tmp_path: Path) -> None:
    one_by_one = replace(run_of(tmp_path / "a", HonestModel(), data=tasks("ada", "ben")), items_at_once=1)
    together = run_of(tmp_path / "b", HonestModel(), data=tasks("ben", "ada"))

    first, second = finish(one_by_one), finish(together)

    assert sorted(map(repr, first.answers)) == sorted(map(repr, second.answers))
    assert first.results.metrics["overall"].value == second.results.metrics["overall"].value


@pytest.mark.parametrize("kind", KINDS)
def test_replaying_its_own_dialogues_gives_an_assistant_its_own_answers(tmp_path: Path, kind: str) -> None:
    led = finish(run_of(tmp_path, HonestModel(), spec=spec(kind)))
    model = HonestModel()
    replayed = run_of(tmp_path, model, spec=spec(kind), replay=led.manifest.run_id)
    observed = finish(replace(replayed, tasks=tasks().replaying(led)))

    assert observed.answers == led.answers
    assert model.asked("chat") == []
    assert observed.manifest.policy == "off-policy"
    assert observed.manifest.run_id != led.manifest.run_id


def test_of_a_run_that_is_replayed_a_user_s_periods_hold_the_own_turns_alone(tmp_path: Path) -> None:
    led = finish(run_of(tmp_path, HonestModel()))
    timelines = tasks().replaying(led).timelines(led.manifest)
    for timeline in timelines:
        turns = [turn for step in timeline.steps if isinstance(step, LivedPeriod) for turn in step.recorded or ()]
        assert {turn.user_id for turn in turns} == {timeline.cluster}
    assert len(timelines) > 1


def test_unreadable_answers_are_unscored_and_counted(tmp_path: Path) -> None:
    results = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": "I would rather not."}))).results

    assert results.metrics["overall"].value == 0
    assert results.metrics["unscored"].value == 1
    assert results.counts["question.unscored"] == results.counts["question.asked"] == results.counts["question.asked_again"]


def test_the_report_shows_one_of_many_unread_answers_and_says_nothing_of_a_few(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": "I would `rather`\n not."})))
    unread = [row for row in finished.answers if row.status == "unscored"]
    few = replace(finished, answers=unread[:3])

    assert len(unread) > 3
    assert f"{len(unread)} answers could not be read and count as wrong. One of them" in run_report(finished)
    assert "is `I would 'rather' not.`; It must be" in run_report(finished)
    assert "One of them" not in run_report(few)


def fail(_: ModelRequest) -> object:
    raise EndpointError("The endpoint is gone.")


def unserved_for(user_id: str, prompt: str, *, after: int = 0) -> HonestModel:
    """A model whose endpoint does not serve this user's requests of this prompt, after so many that it served."""
    served: list[ModelRequest] = []

    def refuse(request: ModelRequest) -> object:
        if request.labels.item_id == user_id:
            served.append(request)
            if len(served) > after:
                raise RequestFailed("The prompt is too long.")
        honest = HONEST[prompt]
        return honest(request) if callable(honest) else honest

    return HonestModel({prompt: refuse})


def test_a_question_whose_request_is_not_served_is_unscored_and_the_others_go_on(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, unserved_for("ada", "evaluation_choose_answer", after=3)))
    [reason] = {answer.reason for answer in finished.answers if answer.status == "unscored"}

    assert reason == "call_failed: The prompt is too long."
    assert {answer.user_id for answer in finished.answers if answer.reason} == {"ada"}
    assert finished.results.counts["question.call_failed"] == finished.results.counts["question.unscored"]
    counts = finished.results.counts
    assert counts["question.right"] == counts["question.asked"] - counts["question.unscored"]
    assert (finished.results.metrics["overall"].value or 0) < 1


@pytest.mark.parametrize("prompt", ["chat", "evaluation/follow_up"], ids=["assistant", "simulated user"])
def test_a_dialogue_that_is_not_served_costs_its_users_answers_from_then_on(tmp_path: Path, prompt: str) -> None:
    finished = finish(run_of(tmp_path, unserved_for("ada", prompt, after=3 if prompt == "chat" else 0)))
    lost = {(answer.user_id, answer.period) for answer in finished.answers if answer.kind == "question" and answer.reason}

    assert lost == {("ada", 1), ("ada", 2)}
    counts = finished.results.counts
    assert counts["question.right"] == counts["question.asked"] - counts["question.unscored"]
    assert finished.results.metrics["overall"].value == pytest.approx(2 / 3, abs=1e-6)
    assert finished.results.counts["question.asked"] == 12
    assert [error.item_id for error in finished.results.errors] == ["ada"]


class TalksAfterAFailure(HonestModel):
    """From the third message of the user on, a dialogue goes on only when a request beside it has failed."""

    failed = False

    async def complete(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt == "chat" and len(self.asked("chat")) >= 2:
            await until(lambda: self.failed)
            for _ in range(1000):  # turns of the event loop, in which whoever waits for the request hears of it
                await asyncio.sleep(0)
        try:
            return await super().complete(request)
        except EndpointError:
            self.failed = True
            raise


def test_no_later_period_is_lived_after_a_question_beside_it_has_failed(tmp_path: Path) -> None:
    model = TalksAfterAFailure({"evaluation_tell_states": fail})
    work = run_of(tmp_path, model, data=tasks("ada"))
    work.folder.begin(work.manifest)

    with pytest.raises(EndpointError, match="gone"):
        finish(work)
    # A whole life has six messages of the user.
    assert len(model.asked("chat")) <= 4


def test_the_time_told_is_the_episodes_and_each_session_opens_with_its_query(tmp_path: Path) -> None:
    model = HonestModel()
    finished = finish(run_of(tmp_path, model, data=tasks("ada")))
    sessions = [session for period in tasks("ada").dataset.episodes[0].periods for session in period.sessions]
    opened = [
        request.messages[-1].content for request in model.asked("chat") if "[Current Time: " in request.messages[-1].content
    ]

    assert opened == [f"[Current Time: {s.session_time.isoformat(sep=' ')}]\n{s.query}" for s in sessions]
    assert [turn.message for turn in finished.turns if turn.round == 0] == [session.query for session in sessions]
    assert [turn.round for turn in finished.turns] == [0, 0, 0, 1, 0, 1]


def test_spending_tells_what_dialogues_questions_and_the_simulated_user_took(tmp_path: Path) -> None:
    model = HonestModel()
    work = run_of(tmp_path, model)
    spending = finish(work).results.spending
    assert work.alone is not None
    shared = read_run(work.manifest.alone, runs=work.alone.folder.path.parent).results.spending

    assert sum(used.calls for used in (*spending.values(), *shared.values())) == len(model.requests)
    assert spending["dialogue"].calls == len(model.asked("chat"))
    # The price list knows the assistant's model (10 tokens read and 2 written a call), and not the simulated user's.
    assert spending["dialogue"].usd == pytest.approx(spending["dialogue"].calls * 14e-6)
    assert spending["simulator"].usd is None


def test_the_manifest_names_all_prompts_and_no_key(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    finish(work)
    manifest = json.loads((work.folder.path / "manifest.json").read_text(encoding="utf-8"))

    assert {"evaluation/choose_answer", "evaluation/follow_up", "evaluation/check_turn"} <= manifest["prompts"].keys()
    assert manifest["models"]["assistant"] == "test-model"
    assert len(manifest["memory_source"]) == 16


def test_a_reply_that_is_asked_for_again_carries_the_problem(tmp_path: Path) -> None:
    def first_wrong(request: ModelRequest) -> object:
        return '{"answer": 1}' if "could not be read" in request.messages[-1].content else "first"

    finished = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": first_wrong})))

    assert {answer.tries for answer in finished.answers if answer.kind == "question"} == {2}
    assert finished.results.counts.get("question.unscored", 0) == 0
