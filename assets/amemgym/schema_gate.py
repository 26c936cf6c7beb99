"""Reading a user's profile, choices and questions against each other: the judge of the gate that a schema passes.

A judge is not told which question needs which variables: it gets all sets of variables, in an order of the vote's own.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assets.amemgym.numbered_choices import NumberedChoices
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.llm.gate import ReadingTask, VoteContext
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    TEXT,
    ReplySchema,
    ask_structured,
    integer_between,
    list_of,
    numbered,
    object_of,
    object_of_alike,
)
from assets.recipe.amemgym import AMemGymRecipe
from prompts.catalogue import load_prompt

Denied = Mapping[str, Mapping[str, str]]  # by variable: choices, each with why
PROFILE = "the profile"  # the key of a reading that says what the profile contradicts
UNDECIDED = "hinges on none of its variables"


@dataclass(frozen=True)
class SchemaFindings:
    """The findings of one vote.

    `exclusive`: values of two variables that nobody has together; `stated`: values that the profile says hold at first;
    `contradictions`: of the profile in itself; `undecided`: ids of the questions that its variables do not decide.
    """

    denied: Denied
    exclusive: list[dict[str, str]]
    stated: dict[str, str]
    contradictions: list[str]
    undecided: list[str]

    @property
    def reading(self) -> dict[str, str]:
        """Return the problems of the schema; {} where there are none."""
        reading: dict[str, str] = {}
        for name, denied in self.denied.items():
            reading[name] = "; ".join(f"{choice}: {why}" for choice, why in denied.items())
        for question_id in self.undecided:
            reading[question_id] = UNDECIDED
        if self.contradictions:
            reading[PROFILE] = "; ".join(self.contradictions)
        return reading


@dataclass
class SchemaReader:
    """Asks judges about one user's schema, and keeps what they found by the text that they read."""

    profile: UserProfile
    schema: StateSchema
    recipe: AMemGymRecipe
    model: LanguageModel
    found: defaultdict[str, list[SchemaFindings]] = field(default_factory=lambda: defaultdict(list))

    async def read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return the problems of the only text, as JSON like that of `judged_text`."""
        (task,) = tasks
        findings = await self._findings(json.loads(task.text), task.vote)
        self.found[task.text].append(findings)
        return [findings.reading]

    def exclusive(self, text: str) -> tuple[dict[str, str], ...]:
        """Return the pairs that any vote on the text named, each once."""
        pairs: dict[frozenset[tuple[str, str]], dict[str, str]] = {}
        for findings in self.found[text]:
            for pair in findings.exclusive:
                pairs[frozenset(pair.items())] = pair
        return tuple(pairs.values())

    def stated(self, text: str) -> dict[str, str]:
        """Return the values that every vote on the text took from the profile, without those that exclude each other."""
        first, *others = [set(findings.stated.items()) for findings in self.found[text]]
        stated = dict(first.intersection(*others))
        for pair in self.exclusive(text):
            if pair.items() <= stated.items():
                stated = {name: value for name, value in stated.items() if name not in pair}
        return {name: stated[name] for name in self.schema.choices if name in stated}

    async def _findings(self, judged: Mapping[str, Any], vote: VoteContext) -> SchemaFindings:
        choices: dict[str, list[str]] = judged["choices"]
        rng = SeededRandom(self.recipe.world_seed, self.profile.user_id, "schema", vote.number)
        required = {question.question_id: frozenset(question.required_info) for question in self.schema.questions}
        sets = rng.shuffled(list(dict.fromkeys(required.values())))
        options = NumberedChoices.of(rng.shuffled_lists(choices))
        prompt = load_prompt("state_schema/check").render(
            user_profile=self.profile.formatted_str,
            state_choices=options.in_prompt(),
            questions=numbered(judged["questions"].values()),
            variable_sets=numbered([name for name in choices if name in one] for one in sets),
            reworded=vote.reworded,
        )

        def convert(reply: dict[str, Any]) -> SchemaFindings:
            denied: dict[str, dict[str, str]] = {}
            for one in reply["denied"]:
                number: int = one["choice"]
                name, choice = options.pairs[number - 1]
                denied.setdefault(name, {})[choice] = one["because"]
            undecided: list[str] = []
            for key, question_id in numbered(required).items():
                own = sets.index(required[question_id]) + 1
                if own not in reply["decided_by"][key]:
                    undecided.append(question_id)
            exclusive: list[dict[str, str]] = []
            pairs: list[list[int]] = reply["exclusive"]
            for numbers in pairs:
                pair = dict(options.pairs[number - 1] for number in numbers)
                # Two choices of one variable always exclude each other; that says nothing to keep to.
                if len(pair) == 2:
                    exclusive.append(pair)
            stated = options.values_of(reply["stated"], told_by="The profile")
            return SchemaFindings(denied, exclusive, stated, reply["profile"], undecided)

        return await ask_structured(
            self.model,
            prompt=prompt,
            reply=_reply_schema(options, questions=len(required), sets=len(sets)),
            convert=convert,
            sample=vote.number,
            model_name=vote.judge,
            settings=self.recipe.asking,
        )


def judged_text(schema: StateSchema) -> str:
    """Return the text of the gate: the schema's choices and the words of its questions, as JSON."""
    questions = {question.question_id: question.text for question in schema.questions}
    return json.dumps({"choices": schema.choices, "questions": questions})


def _reply_schema(options: NumberedChoices, *, questions: int, sets: int) -> ReplySchema[dict[str, Any]]:
    deciding = list_of(integer_between(1, sets), min_items=0)
    parts = {
        "denied": list_of(object_of({"choice": options.number, "because": TEXT}), min_items=0),
        "exclusive": list_of(list_of(options.number, min_items=2, max_items=2), min_items=0),
        "stated": options.numbers,
        "profile": list_of(TEXT, min_items=0),
        "decided_by": object_of_alike(numbered(range(questions)), deciding),
    }
    return ReplySchema(object_of(parts))
