"""Defects in events, summaries, profiles and states: whole gates read each, with a writer that mends nothing.

An event or a summary here is the JSON of what it tells, as a query is, and of what it contradicts.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from assets.amemgym.events import EventWriter, event_gate
from assets.amemgym.records.state import Event, JudgedSchema, TrajectoryPeriod
from assets.amemgym.state_schema import pass_judges
from assets.amemgym.state_trajectory.stage import summary_gate
from assets.amemgym.state_trajectory.story_reading import StoryReader, StoryText, read_story
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import ItemFailed
from tests.bench.planted_defects.queries import SCHEMA, sound_query
from tests.bench.planted_defects.scripted_judge import ScriptedJudge, question_on
from tests.bench.planted_defects.trial import Trial
from tests.support import scenario
from tests.support.small import START, trajectory_of
from validation.amemgym.state_trajectory import first_state_is_as_stated, states_do_not_exclude_each_other

Alarm = Callable[[Trial], Awaitable[bool]]


@dataclass(frozen=True)
class ToldPeriod:
    """Two states, the variables that the event is about, what the text tells, and what it contradicts."""

    before: dict[str, str]
    now: dict[str, str]
    about: tuple[str, ...]
    tells: dict[str, list[str]]
    contradicts: str = ""
    sums_up: dict[str, str] | None = None  # changes; None: those of the two states

    @property
    def text(self) -> str:
        changes = {name: value for name, value in self.now.items() if value != self.before[name]}
        about = changes if self.sums_up is None else self.sums_up
        return json.dumps({"tells": self.tells, "contradicts": self.contradicts, "about": about})

    def telling(self, name: str, value: str) -> "ToldPeriod":
        return replace(self, tells={**self.tells, name: [value]})


Plant = Callable[[ToldPeriod, SeededRandom], ToldPeriod]


def sound_event(rng: SeededRandom) -> ToldPeriod:
    """It tells its updates and, by the way, a value that is as before."""
    query = sound_query(rng)
    elsewhere = rng.choice([name for name in query.now if name not in query.label])
    now = {**query.now, elsewhere: _another(elsewhere, query.now[elsewhere], rng)}
    period = ToldPeriod(query.before, now, tuple(query.label), query.tells)
    as_before = _unchanged(period, rng)
    return period.telling(as_before, now[as_before])


def sound_summary(rng: SeededRandom) -> ToldPeriod:
    """It tells one of the period's changes and leaves the rest open."""
    period = sound_event(rng)
    name = rng.choice(period.about)
    return replace(period, tells={name: [period.now[name]]})


def _another(name: str, value: str, rng: SeededRandom) -> str:
    return rng.choice([choice for choice in SCHEMA.choices[name] if choice != value])


def _unchanged(period: ToldPeriod, rng: SeededRandom) -> str:
    return rng.choice([name for name, value in period.now.items() if period.before[name] == value])


def says_the_opposite(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    name = rng.choice(period.about)
    return period.telling(name, _another(name, period.now[name], rng))


def tells_the_old_value(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    name = rng.choice(period.about)
    return period.telling(name, period.before[name])


def tells_nothing_of_its_update(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    left = rng.choice(period.about)
    return replace(period, tells={name: values for name, values in period.tells.items() if name != left})


def tells_a_change_that_did_not_happen(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    name = _unchanged(period, rng)
    return period.telling(name, _another(name, period.now[name], rng))


def tells_the_update_of_another_event(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    others = [name for name in period.now if period.now[name] != period.before[name] and name not in period.about]
    name = rng.choice(others)
    return period.telling(name, period.now[name])


def contradicts_the_profile(period: ToldPeriod, _: SeededRandom) -> ToldPeriod:
    return replace(period, contradicts="the profile")


def contradicts_what_was_before(period: ToldPeriod, _: SeededRandom) -> ToldPeriod:
    return replace(period, contradicts="text 1")


def sums_up_another_period(period: ToldPeriod, rng: SeededRandom) -> ToldPeriod:
    return replace(period, sums_up={name: period.now[name] for name in [_unchanged(period, rng)]}, tells={})


def sums_up_nothing(period: ToldPeriod, _: SeededRandom) -> ToldPeriod:
    return replace(period, sums_up={}, tells={})


IN_EVENTS: dict[str, Plant] = {
    "says the opposite of its update": says_the_opposite,
    "tells the value of before its update": tells_the_old_value,
    "tells nothing of its update": tells_nothing_of_its_update,
    "tells a change that did not happen": tells_a_change_that_did_not_happen,
    "tells the update of another event": tells_the_update_of_another_event,
    "contradicts the profile": contradicts_the_profile,
    "contradicts an earlier event": contradicts_what_was_before,
}
IN_SUMMARIES: dict[str, Plant] = {
    "says the opposite of an update": says_the_opposite,
    "tells a change that did not happen": tells_a_change_that_did_not_happen,
    "contradicts the profile": contradicts_the_profile,
    "contradicts an earlier summary": contradicts_what_was_before,
    "sums up another period": sums_up_another_period,
    "sums up nothing that changed": sums_up_nothing,
}


def _story(trial: Trial, period: ToldPeriod) -> tuple[EventWriter, TrajectoryPeriod, list[GateAttempt]]:
    """What reads the text in the period with index 1, after a text that tells nothing."""
    recipe = _recipe(trial)
    trajectory = trajectory_of([period.before, period.now], ends=[START, START.replace(year=START.year + 1)])
    before, told = trajectory.periods
    assert not before.index
    story = [GateAttempt("t00", json.dumps({"tells": {}})), GateAttempt("t01", period.text)]
    judge = ScriptedJudge(trial.settings.judge_error)
    return EventWriter(scenario.profile(), SCHEMA, recipe, judge, trajectory), told, story


def _recipe(trial: Trial) -> AMemGymRecipe:
    return scenario.recipe(gates=trial.settings.gates, seed=trial.site)


def alarm_in_event(plant: Plant) -> Alarm:
    """Whether the gate of events gives the item up, of which every rewrite says the same."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted", plant.__name__, trial.site)
        sound = sound_event(rng)
        reader, period, story = _story(trial, plant(sound, rng) if trial.planted else sound)
        event = Event(states=sound.about, text=story[1].text)
        return await _is_refused(event_gate(reader, period, event, subject=StoryText(story, 1)), story[1], reader)

    return alarm


def alarm_in_summary(plant: Plant) -> Alarm:
    """Whether the gate of summaries gives the item up."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted", plant.__name__, trial.site)
        sound = sound_summary(rng)
        reader, period, story = _story(trial, plant(sound, rng) if trial.planted else sound)
        earlier = period.model_copy(update={"index": 0, "updates": ()})
        gate = summary_gate(reader, [earlier, period], 1, story)
        return await _is_refused(gate, story[1], reader)

    return alarm


async def _is_refused(gate: Gate[StoryText], attempt: GateAttempt, reader: StoryReader) -> bool:
    if not reader.recipe.gates.consistency:
        return False

    async def unchanged(*_: object) -> str:
        return attempt.text

    own = replace(gate, refine=unchanged, redraft=unchanged)
    try:
        await pass_gates([[(own, attempt)]], partial(read_story, reader), size=1, recipe=reader.recipe)
    except ItemFailed:
        return True
    return False


def choice_alarm(fact: str) -> Alarm:
    """Whether a choice that the profile denies or announces, or that fails beside the others, is found by any vote."""

    async def alarm(trial: Trial) -> bool:
        known: dict[str, Any] = {fact: {"variable_3": "value_3_1"} if trial.planted else {}}
        return await _judged(trial, **known) is None

    return alarm


async def contradictory_profile(trial: Trial) -> bool:
    """Whether a profile that contradicts itself is found."""
    return await _judged(trial, contradicts=["It has two ages."] if trial.planted else []) is None


async def exclusive_values(trial: Trial) -> bool:
    """Whether a state that holds two values which exclude each other is found, once a judge read the schema."""
    rng = SeededRandom("planted", "exclusive", trial.site)
    state = sound_query(rng).now
    pair = {name: state[name] for name in rng.sample(list(state), 2)}
    schema = await _judged(trial, exclusive=[pair] if trial.planted else [])
    trajectory = trajectory_of([state], ends=[START])
    return schema is not None and any(states_do_not_exclude_each_other(trajectory, schema, _recipe(trial)))


async def other_first_value(trial: Trial) -> bool:
    """Whether a first state that has another value than the profile states is found, once a judge read the profile."""
    rng = SeededRandom("planted", "stated", trial.site)
    state = sound_query(rng).now
    name = rng.choice(list(state))
    schema = await _judged(trial, stated={name: _another(name, state[name], rng) if trial.planted else state[name]})
    trajectory = trajectory_of([state], ends=[START])
    return schema is not None and any(first_state_is_as_stated(trajectory, schema, _recipe(trial)))


def question_alarm(plant: Callable[[list[str]], list[str]]) -> Alarm:
    """Whether a schema is given up of whose questions some do not hinge on their variables."""

    async def alarm(trial: Trial) -> bool:
        return await _judged(trial, plant=plant if trial.planted else list) is None

    return alarm


async def _judged(trial: Trial, *, plant: Callable[[list[str]], list[str]] = list, **known: Any) -> JudgedSchema | None:
    """The schema as the judge left it; None where it was given up, for a writer mends nothing."""
    recipe = _recipe(trial)
    texts = plant([question_on(question.required_info) for question in SCHEMA.questions])
    questions = [one.model_copy(update={"text": text}) for one, text in zip(SCHEMA.questions, texts, strict=True)]
    schema = JudgedSchema.model_validate({**SCHEMA.model_dump(), "questions": questions})
    if not recipe.gates.consistency:
        return schema
    facts: dict[str, Any] = {"denied": {}, "announced": {}, "failing": {}, "exclusive": [], "stated": {}, "contradicts": []}
    model = ScriptedJudge(trial.settings.judge_error, {**facts, **known})
    try:
        return await pass_judges(scenario.profile(), schema, recipe=recipe, model=model)
    except ItemFailed:
        return None


ALARMS: dict[str, Alarm] = {
    **{f"event: {name}": alarm_in_event(plant) for name, plant in IN_EVENTS.items()},
    **{f"summary: {name}": alarm_in_summary(plant) for name, plant in IN_SUMMARIES.items()},
    "profile: denies a choice": choice_alarm("denied"),
    "profile: announces a choice": choice_alarm("announced"),
    "choice: goes together with another, or is nothing that anybody mentions": choice_alarm("failing"),
    "profile: contradicts itself": contradictory_profile,
    "profile: states another first value": other_first_value,
    "question: is about nothing of the user": question_alarm(lambda texts: ["Is the sky blue?", *texts[1:]]),
    "question: stands in another's place": question_alarm(lambda texts: [texts[1], texts[0], *texts[2:]]),
    "question: is asked again with other variables": question_alarm(lambda texts: [texts[0], texts[0], *texts[2:]]),
    "state: holds two values that exclude each other": exclusive_values,
}
