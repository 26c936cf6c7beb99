"""Helpers that tests share: a scripted model that honours every prompt, small records, and stores to work with."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from assets.asking import Ask
from assets.line import Line, StageResult
from assets.ports import FinishReason, ModelReply, ModelRequest, SnapshotRef
from assets.recipes import units
from assets.records.base import StageName
from assets.records.persona import Persona
from assets.records.recipe import Recipe
from assets.records.schema import SchemaQuestion, StateSchema, StateVariable
from assets.records.trajectory import StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.stage_kind import Stage
from assets.workshop import Workshop
from pipelines.embedded.task import OBJECTION
from pipelines.resources.snapshots import ParquetSnapshots
from prompts.template import Message, RenderedPrompt

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)
Answer = Callable[[ModelRequest], object]
Reply = str | ModelReply | Mapping[str, Any] | list[Any] | Answer
Script = Mapping[str, Sequence[Reply]]
START = date(2020, 10, 1)
# One vote, no probes, and little patience: each test adds the part of the gates that it is about.
PLAIN_GATES: dict[str, int | bool] = {
    "votes": 1,
    "votes_needed": 1,
    "unexposed": 0,
    "reverse": False,
    "max_refinements": 1,
    "max_redrafts": 1,
    "max_reasks": 1,
}


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a loop of its own."""
    return asyncio.run(work)


def reply(text: str, *, finish: FinishReason = "stop") -> ModelReply:
    """A reply as an endpoint gives it."""
    return ModelReply(text=text, finish=finish, input_tokens=10, output_tokens=2)


@dataclass
class ScriptedModel:
    """The LanguageModel port: honest, except for the prompts that the script names.

    A script maps a prompt's name to replies in turn, of which the last is repeated. A reply is text, a ModelReply, data
    that becomes JSON, or a function of the request that returns one of these.
    """

    script: Script = field(default_factory=dict[str, Sequence[Reply]])
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Give the next reply, after letting other calls go first."""
        await asyncio.sleep(0)
        replies = self.script.get(request.labels.prompt, [honest])
        chosen = replies[min(len(self.asked(request.labels.prompt)), len(replies) - 1)]
        self.requests.append(request)
        content = chosen(request) if callable(chosen) else chosen
        if isinstance(content, ModelReply):
            return content
        return reply(content if isinstance(content, str) else json.dumps(content))

    def asked(self, prompt: str) -> list[ModelRequest]:
        """The requests for this prompt so far."""
        return [request for request in self.requests if request.labels.prompt == prompt]

    def objections(self, prompt: str) -> list[str]:
        """What was sent back to the model about its replies to this prompt."""
        return [request.messages[-1].content for request in self.asked(prompt) if request.labels.attempt]


def asking(read: Callable[[B], T], *, shape: type[B], sample: int = 0) -> Ask[B, T]:
    """Something to ask whose prompt does not matter."""
    messages = (Message("system", "Answer."), Message("user", "What?"))
    return Ask(RenderedPrompt("test/ask", "writer", "steady", "f" * 12, messages), shape, read, sample)


def material(request: ModelRequest, tag: str) -> Any:
    """What the request's data, in the last user message that is no objection, has between `<tag>` and `</tag>`."""
    said = [message.content for message in request.messages if message.role == "user"]
    asked = next(text for text in reversed(said) if not text.startswith(OBJECTION))
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", asked, re.DOTALL)
    assert found is not None, f"{request.schema_name} has no {tag}"
    try:
        return json.loads(found[1])
    except json.JSONDecodeError:
        return found[1]


def honest(request: ModelRequest) -> object:
    """A reply that keeps every rule. Queries and answers spell the truth in JSON, where the honest judge finds it."""
    return HONEST[request.labels.prompt](request)


def _complete(request: ModelRequest) -> object:
    name = re.search(r"[A-Z]\w+ \w+", material(request, "complementary_info"))
    assert name is not None
    return {"name": name[0], "profile": f"{name[0]} keeps to old habits."}


def _questions(request: ModelRequest) -> object:
    counts = re.findall(r"exactly (\d+)", request.messages[0].content)
    questions, types, choices = (int(count) for count in counts)
    return {
        "questions": [
            {
                "question": f"What about {number}?",
                "required_info": [
                    {"info_type": f"t{number}_{index}", "info_choices": [f"c{choice}" for choice in range(choices)]}
                    for index in range(types)
                ],
            }
            for number in range(questions)
        ]
    }


def _refine_schema(request: ModelRequest) -> object:
    return {key: key for question in material(request, "questions") for key in question["required_info"]}


def _unify(request: ModelRequest) -> object:
    return {name: types[0]["info_choices"] for name, types in material(request, "conflicts").items()}


def _initial_state(request: ModelRequest) -> object:
    return {name: choices[0] for name, choices in material(request, "state_schema").items()}


def update(request: ModelRequest) -> dict[str, Any]:
    """The wanted number of changes, of the variables that changed least, each to its first other value."""
    wanted = re.search(r"Let about (\d+)", request.messages[1].content)
    assert wanted is not None
    counts, offered = material(request, "update_counts"), material(request, "state_schema")
    seldom = sorted(offered, key=lambda name: counts[name])[: int(wanted[1])]
    return {"period_summary": "Life went on.", "updated": {name: offered[name][0] for name in seldom}}


def _events(request: ModelRequest) -> object:
    return {"events": [{"states": [name], "event": f"Something moved {name}."} for name in material(request, "state_changes")]}


def _initial_queries(request: ModelRequest) -> object:
    state = _values(request, "initial_state")
    if len(state) <= 2:
        return {"queries": [{"exposed_states": state, "query": json.dumps(state)}]}
    return {"queries": [{"exposed_states": {name: state[name]}, "query": json.dumps({name: state[name]})} for name in state]}


def _update_queries(request: ModelRequest) -> object:
    groups = [group["state_transition"] for group in material(request, "context")]
    return {"queries": [json.dumps({name: change["new"] for name, change in group.items()}) for group in groups]}


def _check_exposure(request: ModelRequest) -> object:
    """What the query spells; the last option, which is "cannot tell" where judges may say so, for what it does not."""
    truth = material(request, "query")
    return {name: truth.get(name, options[-1]) for name, options in material(request, "state_choices").items()}


def _refine_query(request: ModelRequest) -> object:
    return {"query": json.dumps(_values(request, "exposed_states"))}


def _values(request: ModelRequest, tag: str) -> dict[str, str]:
    """The values of variables that are shown beside their alternatives."""
    return {name: one["value"] for name, one in material(request, tag).items()}


def _answers(request: ModelRequest) -> object:
    return {key: json.dumps(state) for key, state in material(request, "variants").items()}


def _check_answer(request: ModelRequest) -> object:
    truth = material(request, "answer")
    return {"choice": next((int(number) for number, state in material(request, "choices").items() if state == truth), 0)}


def _choose(request: ModelRequest) -> object:
    """The answer that spells the situation; 0 where none does."""
    situation = material(request, "situation")
    options = material(request, "choices").items()
    return {"choice": next((int(number) for number, text in options if text == json.dumps(situation)), 0)}


def _guess(request: ModelRequest) -> object:
    """The option whose words come first in the alphabet, wherever it stands."""
    options = material(request, "options")
    return {"choice": int(min(options, key=lambda number: str(options[number])))}


def _refine_answer(request: ModelRequest) -> object:
    return {"answer": json.dumps(material(request, "matched_state"))}


HONEST: dict[str, Answer] = {
    "user_profiles/complete": _complete,
    "questions/draft": _questions,
    "state_schema/refine": _refine_schema,
    "state_schema/unify": _unify,
    "state_trajectory/initial": _initial_state,
    "state_trajectory/update": update,
    "events/elaborate": _events,
    "session_queries/initial": _initial_queries,
    "session_queries/update": _update_queries,
    "session_queries/check_exposure": _check_exposure,
    "session_queries/refine": _refine_query,
    "answers/draft": _answers,
    "answers/check": _check_answer,
    "answers/choose": _choose,
    "answers/refine": _refine_answer,
    "audits/options_only": _guess,
    "audits/question_only": _guess,
    "audits/profile_only": _guess,
}


@dataclass
class MemoryWork:
    """The WorkStore port over a dict."""

    records: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def get(self, key: str) -> bytes | None:
        """The record under the key."""
        return self.records.get(key)

    async def put(self, key: str, record: bytes) -> None:
        """Keep the record."""
        self.records[key] = record


def workshop(folder: Path, model: ScriptedModel, **changes: Any) -> Workshop:
    """A workshop whose snapshots lie in the folder."""
    fields: dict[str, Any] = {"snapshots": ParquetSnapshots(folder), "work": MemoryWork(), **changes}
    return Workshop(model=model, **fields)


def persona_row(number: int, **changes: object) -> dict[str, object]:
    """A pool row; every text of a person names the person."""
    name = f"Ada Number{number}"
    texts = {
        column: f"{name} and the {column}."
        for column in ("persona", "professional_persona", "cultural_background", "skills_and_expertise", "sports_persona")
    }
    return {
        "uuid": f"5f0c0000-0000-4000-8000-{number:012x}",
        "arts_persona": "",
        "travel_persona": "",
        "culinary_persona": "",
        "skills_and_expertise_list": "['Triage']",
        "hobbies_and_interests": "",
        "hobbies_and_interests_list": "['Running', \"Zed's calligraphy\"]",
        "career_goals_and_ambitions": "",
        "sex": "Female",
        "age": 30 + number % 40,
        "marital_status": "never_married",
        "education_level": "some_college",
        "bachelors_field": None,
        "occupation": "night_nurse",
        "city": "León",
        "state": "GTO",
        "zipcode": "02134",
        "country": "México",
        **texts,
        **changes,
    }


def persona(number: int, **changes: object) -> Persona:
    """The persona of such a row."""
    return Persona.from_row(persona_row(number, **changes))


def small_recipe(**changes: Any) -> Recipe:
    """One question on two variables of two choices, one period with one change."""
    fields: dict[str, Any] = {
        "variant": "small",
        "num_users": 2,
        "num_reserve": 2,
        "num_questions": 1,
        "num_choices_per_state": 2,
        "num_periods": 1,
        "num_changes_per_period": 1,
        "min_variants_per_question": 2,
        "gates": {"max_refinements": 1, "max_redrafts": 1, "max_reasks": 1},
    }
    return Recipe.model_validate({**fields, **changes})


def trajectory_of(states: Sequence[Mapping[str, str]], *, ends: Sequence[date], user_id: str = "u") -> StateTrajectory:
    """A trajectory through these states, the first on the first date."""
    periods = [TrajectoryPeriod(index=0, start=None, end=ends[0], summary=None, updates=(), state=dict(states[0]))]
    for index, ((before, after), (start, end)) in enumerate(zip(pairwise(states), pairwise(ends), strict=True), start=1):
        updates = tuple(StateUpdate(variable=n, old=before[n], new=after[n]) for n in after if before[n] != after[n])
        periods.append(
            TrajectoryPeriod(index=index, start=start, end=end, summary="So it went.", updates=updates, state=dict(after))
        )
    return StateTrajectory(user_id=user_id, periods=tuple(periods))


def schema_of(choices: Mapping[str, Sequence[str]], *, per_question: int = 2, user_id: str = "u") -> StateSchema:
    """A schema of these variables, and questions q01, q02, ... on each few of them in turn."""
    names = list(choices)
    variables = tuple(StateVariable(name=n, choices=tuple(choices[n]), merged_from=(n,)) for n in names)
    groups = [names[start : start + per_question] for start in range(0, len(names), per_question)]
    questions = tuple(
        SchemaQuestion(question_id=f"q{index:02d}", text=f"What about {index}?", required_info=tuple(group))
        for index, group in enumerate(groups, start=1)
    )
    return StateSchema(user_id=user_id, variables=variables, questions=questions)


def sampled(shop: Workshop, recipe: Recipe) -> SnapshotRef:
    """A snapshot of personas 0, 1, ... for the recipe's users and reserve."""
    writer = shop.snapshots.writer("personas", unit=recipe.variant)
    writer.add("personas", [(number, persona(number)) for number in range(recipe.num_users + recipe.num_reserve)])
    return writer.finish([])


def line_of(stage: Stage[Any], shop: Workshop, recipe: Recipe, refs: Mapping[StageName, SnapshotRef]) -> Line:
    """The line of the recipe's only unit, with the snapshots that the stage's asset would be given."""
    (unit,) = units(recipe)
    names: tuple[StageName, ...] = ("personas", *(need.name for need in stage.needs))
    return Line(stage, unit, recipe, shop, {name: refs[name] for name in names})


def materialized(shop: Workshop, recipe: Recipe, *stages: Stage[Any]) -> dict[StageName, StageResult]:
    """Pass the sample through these stages, one after another."""
    refs: dict[StageName, SnapshotRef] = {"personas": sampled(shop, recipe)}
    results: dict[StageName, StageResult] = {}
    for stage in stages:
        results[stage.name] = run(line_of(stage, shop, recipe, refs).run())
        refs[stage.name] = results[stage.name].ref
    return results
