"""The steps of an episode: how an agent is shown them, and how they are kept as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, TypeAdapter

from assets.llm.actions import RESULT_OF
from assets.records.base import Record
from prompts.template import Message

USER_SAYS = "The customer says:\n"
UNUSABLE = "Your last reply cannot be used. "


def named_speaker(message: Message) -> Message:
    """Return what a user said with a line that says so; results and the agent's own actions have theirs."""
    if message.role != "user" or message.content.startswith((RESULT_OF, UNUSABLE)):
        return message
    return Message("user", f"{USER_SAYS}{message.content}")


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
