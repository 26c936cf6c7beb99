"""The evaluation's questions (App. C.5): their prompts, options in seeded order, and the strict reading of answers."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Generic, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.amemgym.records.episode import EpisodeQuestion
from assets.amemgym.records.question import AnswerChoice
from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import ReplySchema, extract_json, object_of_enums
from assets.llm.usage import Usage
from pipelines.evaluation.assistant import QuestionPrompt
from pipelines.evaluation.dataset import UNKNOWN
from pipelines.evaluation.spending import count_usage
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt

T = TypeVar("T")
NOT_SHOWN = "(The question is not shown. Pick the reply that is likeliest to be right.)"
PromptVariant = Literal["question", "state_given", "options_only"]


class ChoiceReply(BaseModel):
    """The paper's key; a text or a truth value is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    answer: Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class QuestionSpec(Generic[T]):
    """A question and how its answer is read. `read` raises ValueError with a sentence for the assistant.

    `salvage` takes what can be used from the two replies of an answer that could not be read as a whole.
    """

    question: QuestionPrompt
    read: Callable[[str], T]
    salvage: Callable[[str, str], T | None] = lambda first, second: None


@dataclass(frozen=True)
class ParsedAnswer(Generic[T]):
    """What was understood (None: nothing), the last reply word for word, how often was asked, and what was wrong.

    `usage` and `seconds` are those of all its calls; no seconds where they were not measured.
    """

    value: T | None
    reply: str
    tries: int
    reason: str
    usage: Usage = field(default_factory=Usage)
    seconds: float | None = None


async def ask_assistant(spec: QuestionSpec[T], answer: Callable[[QuestionPrompt], Awaitable[str]]) -> ParsedAnswer[T]:
    """Ask; once more if the answer cannot be read; then give up, which is not the same as wrong."""
    with count_usage() as count:
        outcome = await _ask_twice(spec, answer)
    return replace(outcome, usage=count.usage, seconds=count.measured)


async def _ask_twice(spec: QuestionSpec[T], answer: Callable[[QuestionPrompt], Awaitable[str]]) -> ParsedAnswer[T]:
    first = await answer(spec.question)
    try:
        return ParsedAnswer(spec.read(first), first, 1, "")
    except ValueError as problem:
        question = spec.question.repeated_after(first, str(problem))
    second = await answer(question)
    try:
        return ParsedAnswer(spec.read(second), second, 2, "")
    except ValueError as problem:
        return ParsedAnswer(spec.salvage(first, second), second, 2, str(problem))


def shuffled_options(question: EpisodeQuestion, *path: object) -> list[AnswerChoice]:
    """The options in an order that follows from the path alone: seed, purpose, user, and period or variant."""
    return SeededRandom(*path, question.question_id).shuffled(question.answer_choices)


def choice_question(
    question: EpisodeQuestion,
    options: Sequence[AnswerChoice],
    *,
    variant: PromptVariant = "question",
    state: Mapping[str, str] | None = None,
) -> QuestionSpec[str]:
    """Choose among the options as shown; read as a choice id. `state` goes with the variant "state_given"."""
    lines = "\n".join(f"{number}. {' '.join(option.answer.split())}" for number, option in enumerate(options, start=1))
    query = NOT_SHOWN if variant == "options_only" else question.query
    if variant == "state_given":
        prompt = load_prompt("evaluation/choose_with_state").render(query=query, state=dict(state or {}), choices=lines)
    else:
        prompt = load_prompt("evaluation/choose_answer").render(query=query, choices=lines)
    numbers: dict[str, object] = {"type": "integer", "enum": list(range(1, len(options) + 1))}
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"answer": numbers},
        "required": ["answer"],
        "additionalProperties": False,
    }
    return QuestionSpec(_question(prompt, about=f"{query}\n{lines}", schema=schema), lambda reply: _read_choice(reply, options))


def states_question(choices: Mapping[str, Sequence[str]], *, may_not_know: bool) -> QuestionSpec[dict[str, str]]:
    """Tell the value of every variable, or, where that is allowed, that it is unknown."""
    offered = {name: [*values, *([UNKNOWN] if may_not_know else [])] for name, values in choices.items()}
    prompt = load_prompt("evaluation/tell_states").render(state_schema=offered, unknown=UNKNOWN if may_not_know else "")
    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(offered))
    question = _question(prompt, about="; ".join(name.replace("_", " ") for name in choices), schema=reply_schema.json_schema)

    def salvage(first: str, second: str) -> dict[str, str]:
        return {**_legal_values(first, offered), **_legal_values(second, offered)}

    return QuestionSpec(question, lambda reply: _read_states(reply, reply_schema), salvage)


def _question(prompt: RenderedPrompt, *, about: str, schema: dict[str, object]) -> QuestionPrompt:
    # One message of the user: what the assistant's own instructions are is the assistant's business.
    text = "\n\n".join(message.content for message in prompt.messages)
    return QuestionPrompt(text=text, about=about, schema_name=prompt.name.replace("/", "_"), json_schema=schema)


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
