"""A judge of texts that are the JSON of what they tell; it errs as often as it is told to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assets.engine.seeded_random import SeededRandom
from assets.llm.ports import ModelReply, ModelRequest
from tests.support.honest_replies import by_number, material, nothing_against_schema, numbered_choices


@dataclass(frozen=True)
class ScriptedJudge:
    """The LanguageModel port, for the readings of queries, of stories and of schemas.

    `error` is the share of readings of a text in which one variable is read as another of its options, each as likely; of
    a schema, in which what is to be found is overlooked, or something is found that is not there.
    """

    error: float

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
        return {key: by_number(request, self._reads(request, text, choices)) for key, text in texts.items()}

    def story(self, request: ModelRequest) -> object:
        """A contradiction is what the text itself says that it contradicts."""
        choices, _ = numbered_choices(request)
        texts: dict[str, str] = material(request, "texts")
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

    def schema(self, request: ModelRequest) -> object:
        """The profile is the JSON of what it denies, excludes, states and contradicts; a question's text, its variables."""
        known: dict[str, Any] = json.loads(material(request, "user_profile")["facts"])
        choices, numbers = numbered_choices(request)
        rng = SeededRandom("judge", request.seed, request.sample, *choices)
        if rng.bernoulli(self.error):
            name = rng.choice(sorted(choices))
            invented = [{"choice": numbers[name, rng.choice(sorted(choices[name]))], "because": "it cannot be"}]
            return {**nothing_against_schema(request), "denied": [] if known["denied"] else invented}
        denied = [
            {"choice": numbers[name, value], "because": "the profile says so"}
            for name, value in known["denied"].items()
            if value in choices[name]
        ]
        sets: dict[str, list[str]] = material(request, "variable_sets")
        decided_by = {
            key: [int(number) for number, names in sets.items() if text == " ".join(sorted(names))]
            for key, text in material(request, "questions").items()
        }
        return {
            "denied": denied,
            "exclusive": [pair for pair in (by_number(request, own) for own in known["exclusive"]) if len(pair) == 2],
            "stated": by_number(request, known["stated"]),
            "profile": known["contradicts"],
            "decided_by": decided_by,
        }


def _keep_questions(_: ScriptedJudge, request: ModelRequest) -> object:
    """A writer that mends no question."""
    shown: dict[str, dict[str, str]] = material(request, "questions")
    return {key: one["question"] for key, one in shown.items()}


def _keep_what_is_denied(_: ScriptedJudge, request: ModelRequest) -> object:
    """A writer that puts another choice only in place of one that the profile does not deny after all."""
    known: dict[str, dict[str, str]] = json.loads(material(request, "user_profile")["facts"])
    refused: dict[str, dict[str, str]] = material(request, "denied")
    shown: dict[str, list[dict[str, list[str]]]] = material(request, "conflicts")
    return {
        name: [
            f"other_than_{choice}" if choice in refused[name] and known["denied"].get(name) != choice else choice
            for choice in questions[0]["info_choices"]
        ]
        for name, questions in shown.items()
    }


JUDGEMENTS: dict[str, Callable[[ScriptedJudge, ModelRequest], object]] = {
    "session_queries/probe": ScriptedJudge.queries,
    "state_trajectory/check": ScriptedJudge.story,
    "state_schema/check": ScriptedJudge.schema,
    "state_schema/reword": _keep_questions,
    "state_schema/unify": _keep_what_is_denied,
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
