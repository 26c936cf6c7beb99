"""Later stages begin with drafts, spares before a user is lost: no byte changes, and what was in vain counts for no stage."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.in_flight import Spares
from assets.engine.ports import RunContext, SnapshotRef
from assets.engine.stage import Stage
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.recipe import Unit
from tests.assets.engine.stage_runs import PROFILE, QUESTION
from tests.support.coroutines import run
from tests.support.honest_replies import Answer, honest, telling
from tests.support.run_contexts import run_context, runner_of, sampled
from tests.support.scripted_model import Script, ScriptedModel, reply
from tests.support.small import persona, small_recipe
from tests.support.waiting import until

UPDATE, EVENT, PROBE = "state_trajectory/update", "events/elaborate", "session_queries/probe"
STORY, MESSAGES = "state_trajectory/check", "session_queries/update"
CHAIN = AMEMGYM.stages[1:]


@dataclass
class SlottedModel(ScriptedModel):
    """A scripted model that answers so many calls at once, and an equal request once, as through the reply cache."""

    slots: int = 64
    context: RunContext | None = None
    replies: dict[str, asyncio.Task[ModelReply]] = field(default_factory=dict[str, "asyncio.Task[ModelReply]"])

    def __post_init__(self) -> None:
        self.free = asyncio.Semaphore(self.slots)

    async def complete(self, request: ModelRequest) -> ModelReply:
        asked = {name: value for name, value in vars(request).items() if name != "labels"}
        answer = self.replies.setdefault(repr(asked), asyncio.ensure_future(self._answer(request)))
        return await asyncio.shield(answer)

    async def _answer(self, request: ModelRequest) -> ModelReply:
        async with self.free:
            return await super().complete(request)

    @property
    def has_spares(self) -> bool:
        """True while somebody of the reserve is begun."""
        assert self.context is not None
        return any(found.begun for found in self.context.in_flight.spares.values())


def whole_run(
    folder: Path, model: SlottedModel, *stages: Stage[Any], ahead: bool = True, reserve: int = 3, **recipe: Any
) -> tuple[dict[str, SnapshotRef], RunContext]:
    """Pass two users through these stages in one run, which knows at each stage what comes later."""
    context, made = run_context(folder, model), small_recipe(num_reserve=reserve, **recipe)
    model.context = context
    refs = {"personas": sampled(context, made)}

    async def make() -> None:
        for number, stage in enumerate(stages, start=1):
            runner = runner_of(stage, context, made, refs)
            runner.later = stages[number:] if ahead else ()
            refs[stage.name] = (await runner.run()).ref
        while context.in_flight.prefetches:
            await asyncio.gather(*context.in_flight.prefetches, return_exceptions=True)
        await asyncio.gather(*model.replies.values())

    run(make())
    return refs, context


def of_users(numbers: Sequence[int], answer: Answer) -> Answer:
    """This answer in calls for these users, the honest one in others."""
    ids = {persona(number).user_id for number in numbers}

    def chosen(request: ModelRequest) -> object:
        return answer(request) if request.labels.item_id in ids else honest(request)

    return chosen


def reads_nothing(request: ModelRequest) -> object:
    """Read nothing out of the first message."""
    return {**cast(dict[str, object], honest(request)), "1": telling(request, {})}


def order_of(model: ScriptedModel) -> Sequence[str]:
    return [request.labels.prompt for request in model.requests]


LONG_LIVES: dict[str, Any] = {"num_periods": 3, "num_choices_per_state": 3, "balanced_options": 9}


@pytest.fixture(scope="module")
def made_alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SnapshotRef]:
    """Two users of three periods, of whom each stage is made before the next begins."""
    refs, _ = whole_run(tmp_path_factory.mktemp("alone"), SlottedModel(), *CHAIN, ahead=False, **LONG_LIVES)
    return refs


@pytest.mark.parametrize(
    ("first", "meanwhile"),
    [(EVENT, UPDATE), ("session_queries/initial", UPDATE), ("answers/draft", UPDATE), (MESSAGES, EVENT)],
)
def test_a_stage_asks_beside_those_whose_drafts_it_begins_with_and_asks_nothing_twice(
    made_alone: dict[str, SnapshotRef], tmp_path: Path, first: str, meanwhile: str
) -> None:
    model = SlottedModel()
    refs, _ = whole_run(tmp_path, model, *CHAIN, **LONG_LIVES)
    assert refs == made_alone
    assert sum(ref.usage.calls for ref in refs.values()) == len(model.requests)
    order = order_of(model)
    assert order.index(first) < len(order) - 1 - order[::-1].index(meanwhile)


@dataclass
class MessagesFirst(SlottedModel):
    """A model that judges an event which was written anew when the messages about it have been asked."""

    async def _answer(self, request: ModelRequest) -> ModelReply:
        if request.labels.prompt == STORY and self.asked("events/refine"):
            await until(lambda: len(self.asked(MESSAGES)) == 2)
        return await super()._answer(request)


def test_messages_about_an_event_that_is_written_anew_are_asked_before_judges_have_read_it(tmp_path: Path) -> None:
    def tell_nothing(request: ModelRequest) -> object:
        events = cast(dict[str, list[dict[str, object]]], honest(request))["events"]
        return {"events": [{**event, "event": "My sister came by on her way home and stayed for tea."} for event in events]}

    model = MessagesFirst({EVENT: [tell_nothing]})
    whole_run(tmp_path, model, *CHAIN, num_users=1)
    assert order_of(model).count("events/refine") == 1


def test_nothing_is_asked_ahead_for_a_stage_that_the_run_does_not_reach(tmp_path: Path) -> None:
    model = SlottedModel()
    whole_run(tmp_path, model, *CHAIN[:4])
    assert EVENT not in order_of(model)


@pytest.mark.parametrize("lost", [(), (0,), (0, 1, 2)], ids=str)
def test_drafts_and_spares_change_no_byte_and_no_count_whatever_the_concurrency(tmp_path: Path, lost: tuple[int, ...]) -> None:
    script: Script = {PROBE: [of_users(lost, reads_nothing)]}
    alone, _ = whole_run(tmp_path / "alone", SlottedModel(script), *CHAIN, ahead=False, num_periods=3)
    for slots in (1, 8, 64):
        refs, context = whole_run(tmp_path / f"ahead-{slots}", SlottedModel(script, slots=slots), *CHAIN, num_periods=3)
        assert refs == alone
        assert [failure.position for failure in context.snapshots.failures(refs["episodes"])] == list(lost)


def test_events_of_a_summary_that_is_told_anew_are_asked_again_and_those_in_vain_count_for_no_stage(tmp_path: Path) -> None:
    def object_once(request: ModelRequest) -> object:
        told_anew = "Life went on after all." in str(request.messages)
        found = cast(dict[str, object], honest(request))
        return found if told_anew or "<periods>" not in str(request.messages) else {**found, "contradictions": {"1": "No."}}

    script: Script = {"state_trajectory/check": [object_once]}
    alone, _ = whole_run(tmp_path / "alone", SlottedModel(script), *CHAIN, ahead=False, num_periods=3)
    model = SlottedModel(script)
    refs, _ = whole_run(tmp_path / "ahead", model, *CHAIN, num_periods=3)
    assert refs == alone
    counted = sum(ref.usage.calls for ref in refs.values())
    assert len(model.requests) > counted


def spare_of(model: ScriptedModel, prompt: str) -> bool:
    """Return True where somebody of the reserve was asked about."""
    return any("Ada Number2" in str(request.messages) for request in model.asked(prompt))


@dataclass
class SpareFirst(SlottedModel):
    """A model that answers what is asked again when a spare has been asked about, and about a spare when it was stopped."""

    async def _answer(self, request: ModelRequest) -> ModelReply:
        answer = await super()._answer(request)
        if request.labels.attempt:
            await until(lambda: spare_of(self, PROFILE))
        if "Ada Number2" in str(request.messages):
            await until(lambda: not self.has_spares)
        return answer


def test_a_spare_begins_when_a_user_is_at_risk_and_stops_when_the_user_passes(tmp_path: Path) -> None:
    model = SpareFirst({QUESTION: [reply("No.", finish="refusal"), honest]})
    refs, context = whole_run(tmp_path, model, USER_PROFILES, QUESTIONS, STATE_SCHEMA)
    assert context.snapshots.failures(refs["state_schema"]) == []
    assert spare_of(model, PROFILE)
    assert not spare_of(model, QUESTION)
    assert sum(ref.usage.calls for ref in refs.values()) == len(model.requests) - 1


def test_a_spare_goes_on_while_a_gate_refuses_though_a_risky_call_passes() -> None:
    stopped: list[int] = []
    spares = Spares(Unit("demo", "demo", range(2), range(2, 4)), begin=lambda position: lambda: stopped.append(position))
    spares.note_risk(0, "answers")  # a gate's
    spares.note_risk(0, "answers")  # that of a call that writes the refused text anew
    spares.note_relief(0, "answers")
    assert (list(spares.begun), stopped) == ([2], [])
    spares.note_pass(0, "answers")
    assert (list(spares.begun), stopped) == ([], [2])


def test_users_who_pass_without_risk_begin_no_spare(tmp_path: Path) -> None:
    model = SlottedModel()
    whole_run(tmp_path, model, *CHAIN)
    assert not spare_of(model, PROFILE)


def test_one_spare_for_six_users_has_its_questions_early_and_counts_for_no_stage_unless_it_is_needed(tmp_path: Path) -> None:
    stages = (USER_PROFILES, QUESTIONS, STATE_SCHEMA)
    alone, _ = whole_run(tmp_path / "alone", SlottedModel(), *stages, ahead=False, num_users=6)
    model = SlottedModel()
    refs, _ = whole_run(tmp_path / "ahead", model, *stages, num_users=6)
    assert refs == alone
    of_spare = [request for request in model.requests if request.labels.item_id == persona(6).user_id]
    assert [request.labels.stage for request in of_spare] == [USER_PROFILES.name, QUESTIONS.name]
    assert sum(ref.usage.calls for ref in refs.values()) == len(model.requests) - len(of_spare)


@dataclass
class WatchingSpares(SlottedModel):
    """A model that notes of each call whether a spare had been begun by then."""

    begun: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])

    async def _answer(self, request: ModelRequest) -> ModelReply:
        self.begun.append((request.labels.item_id, self.has_spares))
        return await super()._answer(request)


def test_the_spare_of_a_lost_user_begins_before_the_loss(tmp_path: Path) -> None:
    model = WatchingSpares({PROBE: [of_users([0], reads_nothing)]})
    whole_run(tmp_path, model, *CHAIN)
    of_lost = [begun for user, begun in model.begun if user == persona(0).user_id]
    assert not of_lost[0]
    assert of_lost[-1]
    assert any(request.labels.item_id == persona(2).user_id for request in model.requests)
