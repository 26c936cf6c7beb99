"""What a run took: tokens and money by purpose and by answer, latency apart, failed writes counted, budgets respected."""

from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import BudgetReached, ModelReply, ModelRequest
from assets.llm.usage import Usage, request_tokens
from assets.recipe.recipe import Budget
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.forecast import forecast_run
from pipelines.evaluation.isolated import ReasonerWithMemory
from pipelines.evaluation.metrics.latency import latency_of
from pipelines.evaluation.metrics.operations import operations_of
from pipelines.evaluation.plan import RunAccount
from pipelines.evaluation.reasoning import Reasoner
from pipelines.evaluation.report.contents import run_contents
from pipelines.evaluation.report.markdown import run_report
from pipelines.evaluation.report.numbers import format_number
from pipelines.evaluation.spending import MemoryWork, StepUsage, count_usage
from pipelines.experiments.scoring.board_tables import leaderboard_section
from pipelines.experiments.scoring.ranking import cost_table, summary
from pipelines.memories.contract import MemorySpec
from pipelines.memories.events import MemoryEvent
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.registry import find_memory
from pipelines.memories.tools import MemoryTools
from pipelines.opening.models import ModelPorts, ModelStack
from pipelines.resources.cache.reply_cache import CachedModel, open_replies
from pipelines.resources.ledger.ledger import Ledger
from pipelines.resources.ledger.queries import sum_calls
from pipelines.resources.llm.settings import EndpointSettings
from tests.evaluation.scripted_evaluation import (
    MODELS,
    PRICES,
    HonestModel,
    LetterEmbedder,
    LetterVectors,
    finish,
    run_of,
    tasks,
)
from tests.pipelines.ledger.ledger_stores import Paid
from tests.support.coroutines import run
from tests.support.memory_service import memory_service


class Timed(HonestModel):
    """A model whose every call takes half a second."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        return replace(await super().complete(request), seconds=0.5)


def test_each_answer_has_its_tokens_its_money_and_its_seconds(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, Timed()))
    costs = finished.results.costs

    assert costs["input_tokens_per_answer"].value == 10
    assert costs["output_tokens_per_answer"].value == 2
    assert costs["reasoner_usd_per_1000_answers"].value == pytest.approx(0.014)
    assert costs["memory_usd_per_1000_answers"].value == 0, "it asks no model"
    assert finished.latency.mean.value == finished.latency.median == 0.5
    assert finished.latency.timed == finished.results.counts["question.asked"]


def test_an_answer_that_was_asked_for_again_took_both_calls(tmp_path: Path) -> None:
    model = Timed({"evaluation_choose_answer": "unreadable"})
    finished = finish(run_of(tmp_path, model))

    assert finished.results.costs["input_tokens_per_answer"].value == 20
    assert finished.latency.mean.value == 1


def test_an_unknown_price_is_never_nothing(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    unknown = work.manifest.model_copy(update={"models": {**MODELS, "assistant": "nobody-knows"}})
    results = finish(replace(work, manifest=unknown)).results

    assert results.costs["reasoner_usd_per_1000_answers"].value is None
    assert results.spending["interview"].usd is None
    assert (Usage(nano_usd=5) + Usage(nano_usd=None)).usd is None


def test_the_headline_price_and_time_are_all_that_the_memory_caused_and_the_reasoners_stand_apart(tmp_path: Path) -> None:
    """Issue 57: the headline price left out the memory's own calls, 80 % of the money in that run."""
    model = Timed()
    finished = finish(run_of(tmp_path, model, spec=MemorySpec(name="awi", kind="awi", settings={"ns": 0})))
    costs = finished.results.costs
    asked = finished.results.counts["question.asked"]
    own = finished.results.spending["memory"]
    assert own.calls == len(model.asked("memories/update_notes")) > 0
    # Ten tokens in at a dollar a million, two out at two dollars.
    assert costs["memory_usd_per_1000_answers"].value == pytest.approx(1000 * own.calls * 14e-6 / asked)
    assert costs["reasoner_usd_per_1000_answers"].value == pytest.approx(0.014)
    latency = finished.latency
    every = sum(calls.mean * calls.made for calls in latency.memory.values())
    assert latency.memory_mean == pytest.approx(every / asked)
    assert {"write", "recall", "fork"} <= latency.memory.keys()
    memory, reasoner = (f"{costs[f'{who}_usd_per_1000_answers'].value:.4f}" for who in ("memory", "reasoner"))
    assert f"${memory} for all that the memory asks of its own models and of embeddings, and ${reasoner}" in run_report(
        finished
    )
    assert format_number(float(memory), digits=4) in summary([finished])


def test_the_price_of_a_memory_that_may_ask_models_by_itself_is_unknown(tmp_path: Path) -> None:
    with memory_service() as memory:
        spec = find_memory(memory.address)
        finished = finish(run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False))
    assert finished.results.costs["memory_usd_per_1000_answers"].value is None
    assert "unknown" in cost_table([finished])


def test_writes_that_fail_twice_are_counted(tmp_path: Path) -> None:
    model = HonestModel({"memories/update_notes": "no JSON"})
    results = finish(run_of(tmp_path, model, spec=MemorySpec(name="awi", kind="awi", settings={"ns": 0}))).results

    assert results.operations.work.lost_writes == len(model.asked("memories/update_notes")) / 2 > 0


def test_seconds_of_the_memorys_own_calls_stand_beside_the_latency_alone(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name="rag", kind="rag", settings={"ns": 0})))
    calls = finished.latency.memory
    periods = {(turn.user_id, turn.period) for turn in finished.turns}
    sessions = {(turn.user_id, turn.period, turn.session) for turn in finished.turns}
    asked = finished.results.counts["question.asked"]

    assert {name: one.measured for name, one in calls.items()} == {
        "write": len(sessions),
        "recall": len(finished.turns) + 2 * asked,  # each question has a state probe
        "fork": len(periods),
    }
    for one in calls.values():
        assert one.p99 is not None
        assert 0 < one.median <= one.slowest <= one.p99
    assert "fork" not in finished.results.model_dump_json()
    assert "Seconds of answers and of the memory's calls, p50 / p95 / p99" in leaderboard_section([finished])


def test_operations_follow_from_what_was_written_stored_and_asked(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, HonestModel(), spec=MemorySpec(name="rag", kind="rag", settings={"ns": 0})))
    found = finished.results.operations
    assert found is not None
    texts = [text for turn in finished.turns for text in (turn.message, turn.reply)]
    source = sum(len(text.encode()) for text in texts)
    sessions = {(turn.user_id, turn.period, turn.session) for turn in finished.turns}

    assert (found.work.events, found.work.source_bytes) == (len(texts), source)
    # Each has a line with its text, and a vector of 27 numbers of 4 bytes.
    assert found.work.stored_bytes is not None
    assert found.work.stored_bytes > source + len(texts) * 27 * 4
    assert found.work.writes == len(sessions)
    # An embedding for every two events.
    assert found.work.write_calls == len(texts) / 2
    spent = 12 * finished.results.counts["question.asked"] + finished.results.spending["embeddings"].input_tokens
    assert found.tokens_per_right == pytest.approx(spent / finished.results.counts["question.right"], abs=1e-3)
    assert "operations" in {section.key for section in run_contents(finished)}


class TellsNoSize:
    """A memory of one's own without `stored_bytes`, which takes its time to settle."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def write(self, events: list[MemoryEvent]) -> None:
        self.texts += [event.text for event in events]

    def settle(self) -> None: ...

    def recall(self, query: str, *, tokens: int) -> list[str]:
        return self.texts


def test_the_lag_of_a_memory_that_settles_is_measured_and_an_untold_size_is_unknown() -> None:
    async def lived() -> tuple[MemoryWork, StepUsage]:
        tools = MemoryTools(HonestModel(), LetterEmbedder(), "", "", seed=1)
        host = MemoryHost.in_thread("own", lambda tools: TellsNoSize(), tools)
        subject = ReasonerWithMemory(Reasoner(HonestModel(), "test-model", 1), await host.new_memory())
        assert subject.memory is not None
        with count_usage() as count:
            await subject.memory.write([MemoryEvent("Tea, please.", "user")])
            await subject.recall("tea?", tokens=9)
            await subject.recall("tea?", tokens=9)
            await subject.count_stored()
        await host.close()
        return count.work, count.step_usage()

    work, usage = run(lived())
    assert len(usage.memory_seconds["settle"]) == 1  # the second recall waits for nothing
    assert (work.events, work.stored_bytes) == (1, None)
    assert operations_of([], usage).stored_per_event is None


def test_calls_of_the_memory_that_the_reply_cache_helped_are_not_measured(tmp_path: Path) -> None:
    store = open_replies(tmp_path / "calls.sqlite")
    spec = MemorySpec(name="awe", kind="awe", settings={"ns": 0})
    for folder in ("first", "again"):
        finished = finish(run_of(tmp_path / folder, CachedModel(HonestModel(), store=store, mode="use"), spec=spec))
        assert ("write" in finished.latency.by_call) == (folder == "first")
    store.close()


def test_latency_tells_how_many_answers_were_measured() -> None:
    found = latency_of([[1.0, None], [3.0, 2.0]])

    assert found.answers == 4
    assert found.timed == 3
    assert found.mean.value == 2
    assert found.median == 2
    assert latency_of([[None], [None]]).mean.value is None
    for recalls in ([2.0, None, None], [None]):
        assert latency_of([[1.0]], memory={"write": [1.0], "recall": recalls}).memory_mean is None


def accounted(folder: Path, model: HonestModel, budget: Budget) -> FinishedRun:
    """A run whose calls go through cache, budget and ledger."""
    calls, ledger = open_replies(folder / "calls.sqlite"), Ledger(folder / "ledger.sqlite")
    work = run_of(folder, model, conditions=(), baselines=False)
    account = RunAccount(variant=work.manifest.run_id, budget=budget)
    one_by_one = EndpointSettings(max_in_flight=1)
    chat = ModelStack(Paid(model), one_by_one, calls, ledger, PRICES)

    class Chat:
        async def complete(self, request: ModelRequest) -> ModelReply:
            return await chat.open_model(account, "chat").complete(request)

    try:
        return finish(replace(work, models=ModelPorts(Chat(), LetterVectors(), PRICES)))
    finally:
        calls.close()
        ledger.close()
        work.folder.close()


def test_a_run_pauses_at_its_budget_and_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    model = HonestModel()
    with pytest.raises(BudgetReached, match="max_tokens"):
        accounted(tmp_path, model, Budget(max_tokens=1500))
    # The model says that each call took 12 tokens, which its prompts alone cannot be.
    assert 2 <= len(model.requests) <= 1500 / request_tokens(model.requests[0]) + 1

    finished = accounted(tmp_path, model, Budget())
    assert finished.results.metrics["overall"].value == 1
    assert len(model.requests) == len({repr(request) for request in model.requests})


def test_calls_are_in_the_ledger_under_the_run_by_purpose(tmp_path: Path) -> None:
    finished = accounted(tmp_path, HonestModel(), Budget())
    ledger = Ledger(tmp_path / "ledger.sqlite")
    lines = {line.name: line for line in run(sum_calls(ledger, by="stage", variant=finished.manifest.run_id))}
    ledger.close()

    assert set(lines) == {f"evaluation {purpose}" for purpose in finished.results.spending}
    assert lines["evaluation interview"].calls == finished.results.spending["interview"].calls


def test_the_forecast_has_a_price_where_all_prices_are_known_and_warns_of_a_small_budget(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    forecasted = run(forecast_run(work, embedded=work.models))
    known = work.manifest.model_copy(update={"models": dict.fromkeys(MODELS, "test-model")})
    priced = run(forecast_run(replace(work, manifest=known), embedded=work.models))

    assert forecasted.usd is None
    assert "unknown price" in forecasted.sentence
    assert priced.usd is not None
    assert priced.warning(Budget(max_cost_usd=priced.usd / 2)) != ""
    assert priced.warning(Budget(max_tokens=2 * priced.tokens)) == ""
    assert "may pause" in priced.warning(Budget(max_tokens=1))
    assert "will go on to its end" in replace(priced, usd=0.0).warning(Budget(max_tokens=1))
