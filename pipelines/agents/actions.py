"""Actions of an agent as typed replies, so that any endpoint can act, and how an episode is kept as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from assets.llm.structured_output import extract_json, schema_of_model
from assets.records.base import Record
from prompts.template import Message

RESULT_OF = "Result of "  # how the message with what a tool gave back begins
USER_SAYS = "The customer says:\n"
UNUSABLE = "Your last reply cannot be used. "
MOST_CHARACTERS = 20_000  # of what one call gives back


class Argument(BaseModel):
    """An argument of a call. A number or a truth value is taken as its text."""

    name: str
    value: str | int | float | bool


class Action(BaseModel):
    """The reply of an agent: a call of a tool, something to say, or the end."""

    action: Literal["call", "say", "finish"]
    tool: str | None = None
    arguments: list[Argument] = Field(default_factory=list[Argument])
    text: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """The arguments by name."""
        return {one.name: str(one.value) for one in self.arguments}


ACTION_SCHEMA = schema_of_model(Action).json_schema


def named_speaker(message: Message) -> Message:
    """Return what a user said with a line that says so; results and the agent's own actions have theirs."""
    if message.role != "user" or message.content.startswith((RESULT_OF, UNUSABLE)):
        return message
    return Message("user", f"{USER_SAYS}{message.content}")


def read_action(reply: str) -> Action:
    """Return the action in a reply. Raises ValueError with a sentence for the agent."""
    content = extract_json(reply, keys=("action",))
    try:
        action = Action.model_validate(content)
    except ValidationError as error:
        raise ValueError('That is no action: answer with one JSON object whose "action" is call, say or finish.') from error
    if action.action == "call" and not action.tool:
        raise ValueError('A call names its "tool".')
    if action.action == "say" and not (action.text or "").strip():
        raise ValueError('Give what you say as "text".')
    return action


def call_with_result(tool: str, arguments: Mapping[str, str], result: str) -> str:
    """Return a call and what it gave back, as a memory is given them."""
    return f"{written_call(tool, arguments)} {result.removeprefix(f'{RESULT_OF}{tool}:').strip()}"


def written_call(tool: str, arguments: Mapping[str, str]) -> str:
    """Return a call as text, equal for equal calls."""
    return f"{tool}({json.dumps(dict(sorted(arguments.items())), ensure_ascii=False)})"


GivenByMemory = Literal["", "nothing", "text", "filled"]


class EpisodeStep(Record):
    """One step of an episode: what the agent replied, what kind of step that was, and what came of it.

    `did` is nothing where the reply was no action, or a tool refused. `user`: the replies of a user whom a model plays, to what
    was said; they are actions too. `memory`: what the memory gave when it was asked for this step, "" where it was not asked;
    `filled` is as much as it may give.
    """

    reply: str
    did: Literal["looked", "wrote", "said", "finished", "nothing"]
    seen: str
    user: tuple[str, ...] = Field(default=(), exclude_if=lambda replies: not replies)
    memory: GivenByMemory = Field(default="", exclude_if=lambda given: not given)


STEPS: TypeAdapter[list[EpisodeStep]] = TypeAdapter(list[EpisodeStep])


def written_episode(steps: Sequence[EpisodeStep]) -> str:
    """Return an episode as text."""
    return STEPS.dump_json(list(steps)).decode()


def read_episode(text: str) -> list[EpisodeStep]:
    """Return the steps of an episode that was written as text. Raises ValueError for another text."""
    return STEPS.validate_json(text)
