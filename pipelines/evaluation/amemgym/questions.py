"""The evaluation's questions (App. C.5): their prompts, options in seeded order, and the strict reading of answers.

In the wording "paper" they follow the form of the paper's own prompts, and options stand in the order of the data, so that a
score may stand beside the paper's tables.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.amemgym.records.episode import EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import ReplySchema, extract_json, object_of_enums
from pipelines.evaluation.amemgym.dataset import UNKNOWN
from pipelines.evaluation.contract import Task
from pipelines.evaluation.reasoning import ReadableTask
from pipelines.evaluation.records import Wording
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

NOT_SHOWN = "(The question is not shown. Pick the reply that is likeliest to be right.)"
PromptVariant = Literal["question", "state_given", "options_only"]


class ChoiceReply(BaseModel):
    """The paper's key; a text or a truth value is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Annotated[int, Field(ge=1)]


def ordered_options(question: EpisodeQuestion, *path: object, wording: Wording) -> list[AnswerChoice]:
    """The options in an order that follows from the path alone, or, as in the paper, in that of the data."""
    if wording == "paper":
        return list(question.answer_choices)
    return SeededRandom(*path, question.question_id).shuffled(question.answer_choices)


def choice_question(
    question: EpisodeQuestion,
    options: Sequence[AnswerChoice],
    *,
    wording: Wording = "own",
    variant: PromptVariant = "question",
    state: Mapping[str, str] | None = None,
) -> ReadableTask[str]:
    """Choose among the options as shown; read as a choice id. `state` goes with the variant "state_given"."""
    lines = "\n".join(f"{number}. {' '.join(option.answer.split())}" for number, option in enumerate(options, start=1))
    query = NOT_SHOWN if variant == "options_only" else question.query
    prompt = "choose_with_state" if variant == "state_given" else "choose_answer"
    given: dict[str, object] = {"query": query, "choices": lines}
    if variant == "state_given":
        given["state"] = dict(state or {})
    numbers: dict[str, object] = {"type": "integer", "enum": list(range(1, len(options) + 1))}
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": numbers},
        "required": ["answer"],
        "additionalProperties": False,
    }
    task = _task(_rendered(prompt, wording, given), query=f"{query}\n{lines}", schema=schema)
    return ReadableTask(task, lambda reply: _read_choice(reply, options))


def states_question(
    choices: Mapping[str, Sequence[str]], *, may_not_know: bool, wording: Wording = "own"
) -> ReadableTask[dict[str, str]]:
    """Tell the value of every variable, or, where that is allowed, that it is unknown."""
    offered = {name: [*values, *([UNKNOWN] if may_not_know else [])] for name, values in choices.items()}
    given: dict[str, object] = {"state_schema": offered}
    if wording == "own" or may_not_know:
        given["unknown"] = UNKNOWN if may_not_know else ""
    prompt = _rendered("tell_states", "own" if may_not_know else wording, given)
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(offered))
    query = "; ".join(name.replace("_", " ") for name in choices)

    def salvage(first: str, second: str) -> dict[str, str]:
        return {**_legal_values(first, offered), **_legal_values(second, offered)}

    task = _task(prompt, query=query, schema=reply_schema.json_schema)
    return ReadableTask(task, lambda reply: _read_states(reply, reply_schema), salvage)


def _rendered(name: str, wording: Wording, given: Mapping[str, object]) -> RenderedPrompt:
    if wording == "own":
        return load_prompt(f"evaluation/{name}").render(**given)
    plain = {key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in given.items()}
    return load_prompt(f"paper/{name}").render(**plain)


def _task(prompt: RenderedPrompt, *, query: str, schema: dict[str, object]) -> Task:
    # One message of the user. The paper's form is all in the last part: there, the question comes first.
    parts = prompt.messages[-1:] if prompt.name.startswith("paper/") else prompt.messages
    text = "\n\n".join(message.content for message in parts)
    return Task(text=text, query=query, schema_name=prompt.name.replace("/", "_"), json_schema=schema)


def _read_choice(reply: str, options: Sequence[AnswerChoice]) -> str:
    try:
        number = ChoiceReply.model_validate(extract_json(reply)).answer
    except ValidationError as error:
        raise ValueError('It must be {"answer": number} with a whole number and nothing else.') from error
    if number > len(options):
        raise ValueError(f"There is no option {number}; the options are numbered from 1 to {len(options)}.")
    return options[number - 1].choice_id


def _read_states(reply: str, reply_schema: ReplySchema[dict[str, str]]) -> dict[str, str]:
    try:
        return reply_schema.validate(extract_json(reply))
    except ValidationError as error:
        wrong = ", ".join(sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]}))
        raise ValueError(f"Give every kind exactly one of its values; see {wrong or 'the whole object'}.") from error


def _legal_values(reply: str, offered: Mapping[str, Sequence[str]]) -> dict[str, str]:
    try:
        content = extract_json(reply)
    except ValueError:
        return {}
    pairs = cast(dict[str, object], content) if isinstance(content, dict) else dict[str, object]()
    return {name: str(value) for name, value in pairs.items() if value in offered.get(name, ())}
