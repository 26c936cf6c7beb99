"""Defects in whose and when: a message tells its value as denied, as a friend's, as imagined or as over.

The texts are the embedded model's, and so is the judge, who errs as often as it is told to; a writer mends nothing.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assets.amemgym.session_queries.drafts import QueryDraft, UserContext
from assets.amemgym.session_queries.exposure_gate import exposure_gate, read_exposure
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import GateAttempt, pass_gates
from assets.llm.ports import ModelReply, ModelRequest
from assets.records.base import ItemFailed
from pipelines.embedded.amemgym.phrases import lower_first
from pipelines.embedded.bank import Topic, load_bank
from pipelines.embedded.reader import read_values
from tests.bench.planted_defects.trial import Trial
from tests.support import scenario
from tests.support.embedded_model import EmbeddedModel
from tests.support.honest_replies import material, numbered_choices
from tests.support.small import START, schema_of

PLANTS: Mapping[str, Sequence[str]] = {
    "denies its value": ("It is not true that {cue}", "It is no longer so that {cue}", "Nobody can say that {cue}"),
    "tells a friend's value": (
        "A friend of mine says that {cue}",
        "My sister writes: “{Cue}”",
        "For my neighbor it is like this: {cue}",
        "What my cousin told me: “{Cue}”",
    ),
    "only imagines its value": ("Suppose that {cue}", "If only it were so: {cue}", "I often wish that {cue}", "Some day {cue}"),
    "tells what is over": ("Years ago {cue}", "Back then {cue}", "In the past {cue}", "Once upon a time {cue}"),
}


@dataclass(frozen=True)
class ErringReader:
    """The embedded judge; in a share `error` of its readings of a message one variable is read as another of its options."""

    error: float

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = await EmbeddedModel().complete(request)
        rng = SeededRandom("reader", request.seed, request.sample, str(material(request, "messages")))
        if not rng.bernoulli(self.error):
            return reply
        readings: dict[str, dict[str, list[int]]] = json.loads(reply.text)
        choices, numbers = numbered_choices(request)
        name = rng.choice(list(choices))
        own = [numbers[name, choice] for choice in choices[name]]
        [(key, reading)] = readings.items()
        read = reading["told"]
        other = rng.choice([[number] for number in own if number not in read] + [[]])
        told = [*(number for number in read if number not in own), *other]
        return replace(reply, text=json.dumps({key: {**reading, "told": told}}))


def sites_of(topic: Topic) -> list[tuple[str, str, str]]:
    """Return the topic's variables with a value and a cue that the judge reads by itself and in which it reads no other."""
    found: list[tuple[str, str, str]] = []
    for variable in topic.variables:
        for value, phrases in variable.choices.items():
            found += [
                (variable.name, value, cue) for cue in phrases.cues if read_values(cue, topic.choices) == {variable.name: value}
            ]
    return found


def alarm_of(name: str) -> Callable[[Trial], Awaitable[bool]]:
    """Whether the exposure gate gives the message up, of which every rewrite says the same."""

    async def alarm(trial: Trial) -> bool:
        rng = SeededRandom("told otherwise", name, trial.site)
        topic = rng.choice(load_bank().topics)
        variable, value, cue = rng.choice(sites_of(topic))
        wording = rng.choice(PLANTS[name]) if trial.planted else "{Cue}"
        text = f"{wording.format(cue=lower_first(cue), Cue=cue)} {rng.choice(topic.requests)}"
        return not await _is_accepted(text, {variable: value}, topic, trial)

    return alarm


async def _is_accepted(text: str, label: dict[str, str], topic: Topic, trial: Trial) -> bool:
    recipe = scenario.recipe(gates=trial.settings.gates, seed=trial.site)
    schema = schema_of({name: list(values) for name, values in topic.choices.items()})
    user = UserContext(scenario.profile(), schema, recipe, ErringReader(trial.settings.judge_error))

    async def unchanged(*_: object) -> str:
        return text

    gate = replace(exposure_gate(user, QueryDraft("s01-01", text, label, {}, START), unchanged), refine=unchanged)
    try:
        await pass_gates([[(gate, GateAttempt("s01-01", text))]], partial(read_exposure, user), size=1, recipe=recipe)
    except ItemFailed:
        return False
    return True
