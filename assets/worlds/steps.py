"""The steps of an episode: how they are taken in a world, how an agent is shown them, and how they are kept as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field, TypeAdapter

from assets.llm.actions import RESULT_OF, read_action, result_message
from assets.records.base import Record
from assets.worlds.tools import REFUSED
from assets.worlds.world import World

USER_SAYS = "The customer says:\n"
UNUSABLE = "Your last reply cannot be used. "
MOST_STEPS = 24  # of an episode
SAME_CALL = 3  # times in a row, after which an agent goes round in circles


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


def take_step(world: World, reply: str) -> EpisodeStep:
    """Do in the world what the reply says, and return the step that this was."""
    try:
        action = read_action(reply)
    except ValueError as problem:
        return EpisodeStep(reply=reply, did="nothing", seen=f"{UNUSABLE}{problem}")
    if action.action == "finish":
        return EpisodeStep(reply=reply, did="finished", seen="")
    if action.action == "say":
        return EpisodeStep(reply=reply, did="said", seen=world.say(action.text or ""))
    tool = action.tool or ""
    result = world.call(tool, action.arguments_by_name)
    did = "nothing" if result.startswith(REFUSED) else "wrote" if world.writes(tool) else "looked"
    return EpisodeStep(reply=reply, did=did, seen=result_message(tool, result))


def replay_steps(world: World, steps: Sequence[EpisodeStep]) -> None:
    """Do in a new world what was done in an episode."""
    for step in steps:
        take_step(world, step.reply)


def goes_round(steps: Sequence[EpisodeStep]) -> bool:
    """Return True where the last replies are all the same."""
    last = [step.reply for step in steps[-SAME_CALL:]]
    return len(last) == SAME_CALL and len(set(last)) == 1
