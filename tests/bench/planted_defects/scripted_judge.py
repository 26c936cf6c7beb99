"""A judge of texts that are the JSON of what they tell; it errs as often as it is told to."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelReply, ModelRequest
from tests.support.honest_replies import DAY, by_number, material, numbered_choices, telling


@dataclass(frozen=True)
class ScriptedJudge:
    """The LanguageModel port, for the readings of queries, of stories and of schemas.

    `error` is the share of readings of a text in which one variable is read as another of its options, each as likely; of
    a schema, in which what is to be found is overlooked, or something is found that is not there. `facts`: what is to be
    found in a schema and its profile.
    """

    error: float
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    async def complete(self, request: ModelRequest) -> ModelReply:
        reply = JUDGEMENTS[request.labels.prompt](self, request)
        return ModelReply(text=json.dumps(reply), finish="stop", input_tokens=10, output_tokens=10)

    def _reads(self, request: ModelRequest, text: str, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
        rng = SeededRandom("judge", request.seed, request.sample, text)
        told = read(json.loads(text)["tells"], choices)
        return _misread(told, choices, rng) if rng.bernoulli(self.error) else told

    def queries(self, request: ModelRequest) -> object:
        choices, _ = numbered_choices(request)
        texts: dict[str, str] = material(request, "messages")
        return {key: telling(request, self._reads(request, text, choices)) for key, text in texts.items()}

    def story(self, request: ModelRequest) -> object:
        """A contradiction is what the text itself says that it contradicts."""
        choices, _ = numbered_choices(request)
        texts: dict[str, str] = {number: DAY.sub("", dated) for number, dated in material(request, "texts").items()}
        judged: list[int] = material(request, "judged")
        because = {number: json.loads(texts[str(number)]).get("contradicts", "") for number in judged}
        errs = SeededRandom("judge", request.seed, request.sample, "story").bernoulli(self.error)
        reply: dict[str, object] = {
            "readings": {
                str(number): by_number(request, self._reads(request, texts[str(number)], choices)) for number in judged
            },
            "contradictions": {str(number): why for number, why in because.items() if why and not errs},
        }
        if any("<periods>" in message.content for message in request.messages):
            reply["periods"] = {str(number): self._periods(request, texts[str(number)]) for number in judged}
        return reply

    def _periods(self, request: ModelRequest, text: str) -> list[int]:
        """The periods whose changes the text says that it sums up; any period, or none, where the judge errs."""
        _, numbers = numbered_choices(request)
        about = sorted(numbers[pair] for pair in json.loads(text).get("about", {}).items())
        periods: dict[str, list[int]] = material(request, "periods")
        found = [int(key) for key, changes in periods.items() if sorted(changes) == about]
        rng = SeededRandom("judge", request.seed, request.sample, "periods", text)
        everything = list(map(int, periods))
        return rng.choice([[], everything]) if rng.bernoulli(self.error) else found

    def profile_told(self, request: ModelRequest) -> object:
        """What a judge that errs finds without its being there is a choice that the profile denies."""
        if self._errs(request):
            refused = {**self.facts["denied"], **self.facts["announced"], **self.facts["failing"]}
            return {"denied": [] if refused else _any_row(request), "announced": [], "stated": []}
        rows = {key: _rows(request, self.facts[key]) for key in ("denied", "announced")}
        return {**rows, "stated": by_number(request, self.facts["stated"])}

    def choices(self, request: ModelRequest) -> object:
        return {"failing": [] if self._errs(request) else _rows(request, self.facts["failing"])}

    def pairs(self, request: ModelRequest) -> object:
        return {"exclusive": [] if self._errs(request) else [by_number(request, pair) for pair in self.facts["exclusive"]]}

    def profile(self, request: ModelRequest) -> object:
        return {"contradictions": [] if self._errs(request) else self.facts["contradicts"]}

    def questions(self, request: ModelRequest) -> object:
        """A question's text says on which variables its advice depends."""
        sets: dict[str, list[str]] = material(request, "variable_sets")
        return {
            key: [int(number) for number, names in sets.items() if text == question_on(names)]
            for key, text in material(request, "questions").items()
        }

    def _errs(self, request: ModelRequest) -> bool:
        """Whether the judge errs in this vote, in all of its calls."""
        return SeededRandom("judge", request.seed, request.sample).bernoulli(self.error)


def question_on(names: Iterable[str]) -> str:
    """The question whose advice depends on these variables, as its text says."""
    return f"What about {' and '.join(sorted(names)).replace('_', ' ')}?"


def _rows(request: ModelRequest, choices: Mapping[str, str]) -> list[dict[str, object]]:
    return [{"choice": number, "because": "it cannot be"} for number in by_number(request, choices)]


def _any_row(request: ModelRequest) -> list[dict[str, object]]:
    choices, _ = numbered_choices(request)
    return _rows(request, {name: own[0] for name, own in choices.items()})[:1]


def _keep_faults(judge: ScriptedJudge, request: ModelRequest) -> object:
    """A writer that mends no fault, and puts another choice in place of one that was refused by mistake."""
    truly = {(name, value) for key in ("denied", "announced", "failing") for name, value in judge.facts[key].items()}
    redrafted: dict[str, object] = {}
    for key, refused in material(request, "questions").items():
        infos: list[dict[str, object]] = []
        for name, own in refused["required_info"].items():
            mistaken = [value for value in own if any(fault.startswith(f"{value!r} of") for fault in refused["faults"])]
            mistaken = [value for value in mistaken if (name, value) not in truly]
            choices = [f"other_than_{value}" if value in mistaken else value for value in own]
            infos.append({"info_type": name, "info_choices": choices})
        redrafted[key] = {"question": refused["question"], "required_info": infos}
    return redrafted


JUDGEMENTS: dict[str, Callable[[ScriptedJudge, ModelRequest], object]] = {
    "session_queries/probe": ScriptedJudge.queries,
    "state_trajectory/check": ScriptedJudge.story,
    "state_schema/check_told": ScriptedJudge.profile_told,
    "state_schema/check_choices": ScriptedJudge.choices,
    "state_schema/check_pairs": ScriptedJudge.pairs,
    "state_schema/check_profile": ScriptedJudge.profile,
    "state_schema/check_questions": ScriptedJudge.questions,
    "questions/redraft": _keep_faults,
}


def read(told: Mapping[str, Sequence[str]], choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The values that are told; what is told as two values holding now is not settled."""
    return {name: told[name][0] for name in choices if len(told.get(name, ())) == 1}


def _misread(reading: Mapping[str, str], choices: Mapping[str, Sequence[str]], rng: SeededRandom) -> dict[str, str]:
    """One of the variables asked for is read as another value, or left out where it had one; each is as likely."""
    name = rng.choice(list(choices))
    options = [option for option in (*choices[name], "") if option != reading.get(name, "")]
    changed = {**reading, name: rng.choice(options)}
    return {name: value for name, value in changed.items() if value}
