"""Defects in what a query tells, beside its label: a whole exposure gate reads each, with a writer that mends nothing.

A query here is the JSON of what it tells: variables with the values that it speaks for as holding now. So the truth of
every reading is known, and no weakness of the embedded judge is in the figures.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial

from assets.amemgym.session_queries.drafts import QueryDraft, UserContext
from assets.amemgym.session_queries.exposure_gate import exposure_gate, read_exposure
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import GateAttempt, pass_gates
from assets.records.base import ItemFailed
from tests.bench.planted_defects.scripted_judge import ScriptedJudge
from tests.bench.planted_defects.trial import Trial
from tests.support import scenario
from tests.support.small import START, schema_of

VARIABLES, CHOICES = 16, 3
SCHEMA = schema_of({f"variable_{v}": [f"value_{v}_{c}" for c in range(CHOICES)] for v in range(VARIABLES)})


@dataclass(frozen=True)
class LabelledQuery:
    """What a query tells, the label that it stands under, and the states around it."""

    tells: dict[str, list[str]]
    label: dict[str, str]
    before: dict[str, str]
    now: dict[str, str]


Plant = Callable[[LabelledQuery, SeededRandom], LabelledQuery]


def sound_query(rng: SeededRandom) -> LabelledQuery:
    """A query about one or two variables that have just changed."""
    before = {name: rng.choice(choices) for name, choices in SCHEMA.choices.items()}
    changed = rng.sample(list(before), 1 + rng.integer_below(2))
    now = {**before, **{name: rng.choice(_others(name, before[name])) for name in changed}}
    label = {name: now[name] for name in changed}
    return LabelledQuery({name: [value] for name, value in label.items()}, label, before, now)


def _others(name: str, value: str) -> list[str]:
    return [choice for choice in SCHEMA.choices[name] if choice != value]


def _telling(query: LabelledQuery, name: str, *values: str) -> LabelledQuery:
    return replace(query, tells={**query.tells, name: list(values)})


def _another_variable(query: LabelledQuery, rng: SeededRandom) -> str:
    return rng.choice([name for name in query.now if name not in query.label])


def _own_variable(query: LabelledQuery, rng: SeededRandom) -> str:
    return rng.choice(list(query.label))


def tells_another_variable(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _another_variable(query, rng)
    return _telling(query, name, query.now[name])


def tells_another_against_the_state(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _another_variable(query, rng)
    return _telling(query, name, rng.choice(_others(name, query.now[name])))


def tells_two_others(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    return tells_another_variable(tells_another_variable(query, rng), rng)


def tells_old_and_new(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _own_variable(query, rng)
    return _telling(query, name, query.before[name], query.now[name])


def tells_the_old_value(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _own_variable(query, rng)
    return _telling(query, name, query.before[name])


def tells_a_third_value(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _own_variable(query, rng)
    known = (query.before[name], query.now[name])
    return _telling(query, name, next(choice for choice in SCHEMA.choices[name] if choice not in known))


def keeps_silent(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    return _telling(query, _own_variable(query, rng))


def lacks_a_told_value_in_its_label(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _another_variable(query, rng)
    now = {**query.now, name: rng.choice(_others(name, query.before[name]))}
    return replace(_telling(query, name, now[name]), now=now)


def has_an_untold_value_in_its_label(query: LabelledQuery, rng: SeededRandom) -> LabelledQuery:
    name = _another_variable(query, rng)
    return replace(query, label={**query.label, name: query.now[name]})


PLANTS: dict[str, Plant] = {
    "tells another variable": tells_another_variable,
    "tells another variable against the present state": tells_another_against_the_state,
    "tells two other variables": tells_two_others,
    "tells old and new value together": tells_old_and_new,
    "tells the old value": tells_the_old_value,
    "tells a third value": tells_a_third_value,
    "tells nothing of its variable": keeps_silent,
    "its label lacks an update that it tells": lacks_a_told_value_in_its_label,
    "its label has a value that it does not tell": has_an_untold_value_in_its_label,
}


def alarm_of(plant: Plant) -> Callable[[Trial], Awaitable[bool]]:
    """Whether the exposure gate gives the item up, of which every rewrite says the same."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("planted", plant.__name__, trial.site)
        query = sound_query(rng)
        return not await _is_accepted(plant(query, rng) if trial.planted else query, trial)

    return alarm


async def _is_accepted(query: LabelledQuery, trial: Trial) -> bool:
    recipe = scenario.recipe(gates=trial.settings.gates, seed=trial.site)
    model = ScriptedJudge(trial.settings.judge_error)
    user = UserContext(scenario.profile(), SCHEMA, recipe, model)
    text = json.dumps({"tells": query.tells})

    async def unchanged(*_: object) -> str:
        return text

    gate = replace(exposure_gate(user, QueryDraft("s01-01", text, query.label, {}, START), unchanged), refine=unchanged)
    try:
        await pass_gates([[(gate, GateAttempt("s01-01", text))]], partial(read_exposure, user), size=1, recipe=recipe)
    except ItemFailed:
        return False
    return True
