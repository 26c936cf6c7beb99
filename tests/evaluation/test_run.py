"""A whole run: what it asks and keeps, that it can be killed, repeated and replayed, and that it notices a cheat."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError, ModelReply, ModelRequest
from pipelines.evaluation.assistants import registry
from pipelines.evaluation.assistants.chat import LongContextAssistant
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.forecast import forecast
from pipelines.evaluation.plan import EvaluationOptions
from pipelines.evaluation.records import AssistantSpec
from pipelines.evaluation.run import evaluate
from tests.evaluation.scripted_evaluation import PRICES, ROLES, HonestModel, dataset, finish, run_of
from tests.support.coroutines import run

KINDS = ("llm", "rag", "awe", "awi")


def spec(kind: str) -> AssistantSpec:
    """The kind with its default settings."""
    return AssistantSpec(name=kind, kind=kind)


def test_a_perfect_memory_scores_one_and_none_scores_below(tmp_path: Path) -> None:
    results = finish(run_of(tmp_path, HonestModel())).results

    assert results.metrics["overall"].value == 1
    assert results.metrics["memory"].value == 1
    assert results.baselines["upper_bound"].value == 1
    assert results.metrics["state_recall_corrected"].value == 1
    assert (results.baselines["no_memory"].value or 0) < 1
    assert results.fidelity.score == 1


def test_without_room_for_the_past_everything_wrong_is_a_write_failure(tmp_path: Path) -> None:
    short = AssistantSpec(name="short", kind="llm", settings={"context_tokens": 1})
    results = finish(run_of(tmp_path, HonestModel(), spec=short)).results
    overall, write = results.metrics["overall"].value, results.metrics["write_failure_if_unsure"].value

    assert results.cut_calls > 0
    assert overall is not None
    assert write is not None
    assert overall < 1
    assert overall + write == pytest.approx(1, abs=1e-5)
    assert results.metrics["state_unknown"].value == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_forecast_is_what_the_run_asks(tmp_path: Path, kind: str) -> None:
    model = HonestModel()
    work = run_of(tmp_path, model, spec=spec(kind))
    finish(work)
    size = forecast(work.dataset, work.manifest.assistant, EvaluationOptions(), roles=ROLES, prices=PRICES)
    sizes = size.sizes
    memory = [
        r for r in model.requests if "facts" in r.labels.prompt or "memories" in r.labels.prompt or "notes" in r.labels.prompt
    ]

    assert len(model.asked("chat")) == sizes["replies"].calls
    assert len(model.asked("evaluation/follow_up")) == sizes["simulated_user"].calls
    assert len(model.asked("evaluation/check_turn")) == sizes["checks"].calls
    assert len(model.requests) - len(memory) == size.calls - sizes["memory_writes"].calls
    assert len(memory) <= sizes["memory_writes"].calls


def test_neither_how_many_users_live_at_once_nor_their_order_changes_an_answer(tmp_path: Path) -> None:
    one_by_one = replace(run_of(tmp_path / "a", HonestModel(), data=dataset("ada", "ben")), users_at_once=1)
    together = run_of(tmp_path / "b", HonestModel(), data=dataset("ben", "ada"))

    first, second = finish(one_by_one), finish(together)

    assert sorted(map(repr, first.answers)) == sorted(map(repr, second.answers))
    assert first.results.metrics["overall"].value == second.results.metrics["overall"].value


@pytest.mark.parametrize("kind", KINDS)
def test_replaying_its_own_dialogues_gives_an_assistant_its_own_answers(tmp_path: Path, kind: str) -> None:
    led = finish(run_of(tmp_path, HonestModel(), spec=spec(kind)))
    model = HonestModel()
    replayed = run_of(tmp_path, model, spec=spec(kind), replayed_run=led.manifest.run_id)
    turns = {user: [turn for turn in led.turns if turn.user_id == user] for user in led.manifest.users}
    observed = finish(replace(replayed, recorded=turns))

    assert observed.answers == led.answers
    assert model.asked("chat") == []
    assert observed.manifest.mode == "off-policy"
    assert observed.manifest.run_id != led.manifest.run_id


def test_unreadable_answers_are_unscored_and_counted(tmp_path: Path) -> None:
    results = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": "I would rather not."}))).results

    assert results.metrics["overall"].value is None
    assert results.metrics["overall_unscored_as_wrong"].value == 0
    assert results.counts["question.unscored"] == results.counts["question.asked"] == results.counts["question.asked_again"]


class Gossip(LongContextAssistant):
    """Remembers the questions that it is asked."""

    async def answer(self, question: object) -> str:
        await self.observe("I was asked something.", "Indeed.", at=None)  # pyright: ignore[reportArgumentType]
        return '{"answer": 1}'


def test_an_assistant_that_remembers_its_examination_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILT_IN, "gossip", Gossip)  # pyright: ignore[reportArgumentType]

    with pytest.raises(EvaluationError, match="remembers the questions"):
        finish(run_of(tmp_path, HonestModel(), spec=spec("gossip")))


def fail(_: ModelRequest) -> object:
    raise EndpointError("The endpoint is gone.")


class SlowTalker(HonestModel):
    """Dialogues take time, as they do."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.02 if request.labels.prompt == "chat" else 0)
        return await super().complete(request)


@pytest.mark.parametrize("prompt", ["evaluation_tell_states", "evaluation_choose_with_state"], ids=["interview", "baseline"])
def test_no_later_period_is_lived_after_a_question_beside_it_has_failed(tmp_path: Path, prompt: str) -> None:
    model = SlowTalker({prompt: fail})
    work = run_of(tmp_path, model, data=dataset("ada"))
    work.folder.begin(work.manifest)

    with pytest.raises(EndpointError, match="gone"):
        run(evaluate(work))
    # A whole life has six messages of the user.
    assert len(model.asked("chat")) <= 4


def test_the_time_told_is_the_episodes_and_each_session_opens_with_its_query(tmp_path: Path) -> None:
    model = HonestModel()
    work = run_of(tmp_path, model, data=dataset("ada"))
    finished = finish(work)
    sessions = [session for period in work.dataset.episodes[0].periods for session in period.sessions]
    opened = [
        request.messages[-1].content for request in model.asked("chat") if "[Current Time: " in request.messages[-1].content
    ]

    assert opened == [f"[Current Time: {s.session_time.isoformat(sep=' ')}]\n{s.query}" for s in sessions]
    assert [turn.message for turn in finished.turns if turn.round == 0] == [session.query for session in sessions]
    assert [turn.round for turn in finished.turns] == [0, 0, 0, 1, 0, 1]


def test_spending_tells_what_dialogues_questions_and_the_simulated_user_took(tmp_path: Path) -> None:
    model = HonestModel()
    spending = finish(run_of(tmp_path, model)).results.spending

    assert sum(used.calls for used in spending.values()) == len(model.requests)
    assert spending["dialogue"].calls == len(model.asked("chat"))
    # The price list knows the assistant's model (10 tokens read and 2 written a call), and not the simulated user's.
    assert spending["dialogue"].usd == pytest.approx(spending["dialogue"].calls * 14e-6)
    assert spending["simulator"].usd is None


def test_the_manifest_names_all_prompts_and_no_key(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    finish(work)
    manifest = json.loads((work.folder.path / "manifest.json").read_text(encoding="utf-8"))

    assert {"evaluation/choose_answer", "evaluation/follow_up", "evaluation/check_turn"} <= manifest["prompts"].keys()
    assert manifest["assistant"]["settings"] == {"model": "test-model"}


def test_a_reply_that_is_asked_for_again_carries_the_problem(tmp_path: Path) -> None:
    def first_wrong(request: ModelRequest) -> object:
        return '{"answer": 1}' if "could not be read" in request.messages[-1].content else "first"

    finished = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": first_wrong})))

    assert {answer.tries for answer in finished.answers if answer.kind == "question"} == {2}
    assert finished.results.counts.get("question.unscored", 0) == 0
