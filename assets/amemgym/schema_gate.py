"""Reading a user's profile, choices and questions against each other: the judges of the gate that a schema passes."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assets.amemgym.numbered_choices import NumberedChoices
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema
from assets.engine.seeded_random import SeededRandom
from assets.llm.async_calls import gather_all
from assets.llm.gate import ReadingTask, VoteContext
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import (
    TEXT,
    ReplySchema,
    SchemaPart,
    ask_structured,
    integer_between,
    list_of,
    numbered,
    object_of,
    object_of_alike,
)
from assets.recipe.amemgym import AMemGymRecipe
from prompts.catalogue import load_prompt

RefusedChoices = Mapping[str, Mapping[str, str]]  # by variable: choices, each with why
CHECKS = tuple(f"state_schema/check_{name}" for name in ("told", "choices", "pairs", "profile", "questions"))
PROFILE = "the profile"  # the key of a reading that says what the profile contradicts
UNDECIDED = "A reader found no advice that depends on all of its information"


@dataclass(frozen=True)
class SchemaFindings:
    """The findings of one vote, or of one call of it.

    `refused`: choices that the profile denies or announces, or that fail beside the others of their variable; `exclusive`:
    values of two variables that nobody has together; `stated`: values that the profile says hold at first; `contradictions`:
    of the profile in itself; `undecided`: ids of the questions that its variables do not decide.
    """

    refused: RefusedChoices = field(default_factory=dict[str, Mapping[str, str]])
    exclusive: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    stated: dict[str, str] = field(default_factory=dict[str, str])
    contradictions: list[str] = field(default_factory=list[str])
    undecided: list[str] = field(default_factory=list[str])

    @property
    def reading(self) -> dict[str, str]:
        """Return the problems of the schema; {} where there are none."""
        reading: dict[str, str] = {}
        for name, refused in self.refused.items():
            reading[name] = "; ".join(f"{choice}: {why}" for choice, why in refused.items())
        for question_id in self.undecided:
            reading[question_id] = UNDECIDED
        if self.contradictions:
            reading[PROFILE] = "; ".join(self.contradictions)
        return reading

    def faults_of(self, schema: StateSchema) -> dict[str, list[str]]:
        """Return what is wrong with each question, by id, in sentences for its writer; {} where no question can be mended."""
        faults: dict[str, list[str]] = {}
        for question in schema.questions:
            found: list[str] = []
            for name in question.required_info:
                found.extend(f"{choice!r} of {name!r}: {why}" for choice, why in self.refused.get(name, {}).items())
            if question.question_id in self.undecided:
                found.append(f"{UNDECIDED}.")
            if found:
                faults[question.question_id] = found
        return faults


@dataclass
class SchemaReader:
    """Asks judges about one user's schema, one thing in each call, and keeps what they found by the text that they read."""

    profile: UserProfile
    recipe: AMemGymRecipe
    model: LanguageModel
    found: defaultdict[str, list[SchemaFindings]] = field(default_factory=lambda: defaultdict(list))

    async def read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """Return the problems of the only text, which is that of `judged_text`."""
        (task,) = tasks
        findings = await self._find(schema_in(task.text), task.vote)
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
        return {name: stated[name] for name in schema_in(text).choices if name in stated}

    async def _find(self, schema: StateSchema, vote: VoteContext) -> SchemaFindings:
        rng = SeededRandom(self.recipe.world_seed, self.profile.user_id, "schema", vote.number)
        options = NumberedChoices.of(rng.shuffled_lists(schema.choices))
        parts = await gather_all(
            self._find_told(options, vote),
            self._find_failing(options, vote),
            self._find_pairs(options, vote),
            self._find_contradictions(vote),
            self._find_undecided(schema, options, rng, vote),
        )
        refused: dict[str, dict[str, str]] = {}
        found = SchemaFindings(refused)
        for part in parts:
            for name, choices in part.refused.items():
                refused[name] = {**choices, **refused.get(name, {})}
            found.exclusive.extend(part.exclusive)
            found.stated.update(part.stated)
            found.contradictions.extend(part.contradictions)
            found.undecided.extend(part.undecided)
        return found

    async def _find_told(self, options: NumberedChoices, vote: VoteContext) -> SchemaFindings:
        """Ask what the profile says about the choices."""

        def convert(reply: dict[str, Any]) -> SchemaFindings:
            refused = _with_reasons([*reply["denied"], *reply["announced"]], options)
            return SchemaFindings(refused, stated=options.values_of(reply["stated"], told_by="The profile"))

        reasons = _reasons(options)
        reply = object_of({"denied": reasons, "announced": reasons, "stated": options.numbers})
        shown = {"user_profile": self.profile.in_prompt, "state_choices": options.in_prompt()}
        return await self._ask("state_schema/check_told", vote, reply=reply, convert=convert, **shown)

    async def _find_failing(self, options: NumberedChoices, vote: VoteContext) -> SchemaFindings:
        """Ask which choices go together with another of their variable, or are nothing that anybody would mention."""

        def convert(reply: dict[str, Any]) -> SchemaFindings:
            return SchemaFindings(_with_reasons(reply["failing"], options))

        reply = object_of({"failing": _reasons(options)})
        shown = options.in_prompt()
        return await self._ask("state_schema/check_choices", vote, reply=reply, convert=convert, state_choices=shown)

    async def _find_pairs(self, options: NumberedChoices, vote: VoteContext) -> SchemaFindings:
        """Ask which choices of two variables exclude each other."""

        def convert(reply: dict[str, list[list[int]]]) -> SchemaFindings:
            exclusive: list[dict[str, str]] = []
            for numbers in reply["exclusive"]:
                pair = dict(options.pairs[number - 1] for number in numbers)
                # Two choices of one variable always exclude each other; that says nothing to keep to.
                if len(pair) == 2:
                    exclusive.append(pair)
            return SchemaFindings(exclusive=exclusive)

        reply = object_of({"exclusive": list_of(list_of(options.number, min_items=2, max_items=2), min_items=0)})
        shown = options.in_prompt()
        return await self._ask("state_schema/check_pairs", vote, reply=reply, convert=convert, state_choices=shown)

    async def _find_contradictions(self, vote: VoteContext) -> SchemaFindings:
        """Ask what the profile contradicts in itself."""

        def convert(reply: dict[str, list[str]]) -> SchemaFindings:
            return SchemaFindings(contradictions=reply["contradictions"])

        reply = object_of({"contradictions": list_of(TEXT, min_items=0)})
        shown = self.profile.in_prompt
        return await self._ask("state_schema/check_profile", vote, reply=reply, convert=convert, user_profile=shown)

    async def _find_undecided(
        self, schema: StateSchema, options: NumberedChoices, rng: SeededRandom, vote: VoteContext
    ) -> SchemaFindings:
        """Ask on which sets of variables the advice to each question depends; its own has to be among them.

        A judge is not told which question needs which variables: it gets all sets, in an order of the vote's own.
        """
        required = {question.question_id: frozenset(question.required_info) for question in schema.questions}
        sets = rng.shuffled(list(dict.fromkeys(required.values())))
        shown: dict[str, object] = {
            "questions": numbered(question.text for question in schema.questions),
            "state_choices": options.in_prompt(),
            "variable_sets": numbered([name for name in schema.choices if name in names] for names in sets),
        }

        def convert(reply: dict[str, list[int]]) -> SchemaFindings:
            undecided: list[str] = []
            for key, question_id in numbered(required).items():
                own = sets.index(required[question_id]) + 1
                if own not in reply[key]:
                    undecided.append(question_id)
            return SchemaFindings(undecided=undecided)

        numbers = list_of(integer_between(1, len(sets)), min_items=0)
        reply = object_of_alike(numbered(required), numbers)
        return await self._ask("state_schema/check_questions", vote, reply=reply, convert=convert, **shown)

    async def _ask(
        self,
        name: str,
        vote: VoteContext,
        *,
        reply: SchemaPart,
        convert: Callable[[dict[str, Any]], SchemaFindings],
        **shown: object,
    ) -> SchemaFindings:
        return await ask_structured(
            self.model,
            prompt=load_prompt(name).render(**shown, reworded=vote.reworded),
            reply=ReplySchema[dict[str, Any]](reply),
            convert=convert,
            sample=vote.number,
            model_name=vote.judge,
            settings=self.recipe.asking,
        )


def judged_text(schema: StateSchema) -> str:
    """Return the text of the gate: the schema as JSON, without its judges' findings."""
    return schema.model_dump_json(include=set(StateSchema.model_fields))


def schema_in(text: str) -> StateSchema:
    """Return the schema of a text of the gate."""
    return StateSchema.model_validate_json(text)


def _reasons(options: NumberedChoices) -> SchemaPart:
    """Return the part of a reply that names choices, each with why."""
    return list_of(object_of({"choice": options.number, "because": TEXT}), min_items=0)


def _with_reasons(rows: Sequence[Mapping[str, Any]], options: NumberedChoices) -> RefusedChoices:
    """Return the choices of the rows by variable, each with the first reason."""
    refused: dict[str, dict[str, str]] = {}
    for row in rows:
        number: int = row["choice"]
        name, choice = options.pairs[number - 1]
        refused.setdefault(name, {}).setdefault(choice, row["because"])
    return refused
