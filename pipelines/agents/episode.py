"""One episode: an agent acts in a world until it finishes, or has no steps left. Whatever fails is told to the agent.

The episode is a function of the replies alone. What was done before a run was killed is paid for and comes from the reply
cache, so that a run that goes on takes the same steps and pays nothing twice.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from assets.llm.structured_output import UnusableReply
from assets.text.words import count_tokens
from assets.tool_dialogue.company import REFUSED
from pipelines.agents.actions import MOST_CHARACTERS, RESULT_OF, EpisodeStep, read_action
from prompts.template import Message

MOST_STEPS = 24
WINDOW_TOKENS = 8_000  # of the dialogue that stays in sight, beside the instructions
SAME_CALL = 3  # times in a row, after which an agent goes round in circles
CUT = " ... (cut)"

# Asks for the next action; the messages in sight, the oldest first.
Ask = Callable[[Sequence[Message]], Awaitable[str]]


class EpisodeWorld(Protocol):
    """What an agent acts in. Calls change it; nothing that an agent does may raise."""

    @property
    def opening(self) -> str:
        """The user's first message."""
        ...

    def writes(self, tool: str) -> bool:
        """Return True for a tool that changes something."""
        ...

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Return what a tool gives back, or a sentence that begins with `REFUSED`."""
        ...

    def say(self, text: str) -> str:
        """Return the user's reply."""
        ...


async def run_episode(world: EpisodeWorld, ask: Ask) -> list[EpisodeStep]:
    """Let the agent act, and return every step."""
    messages = [Message("user", world.opening)]
    steps: list[EpisodeStep] = []
    while len(steps) < MOST_STEPS and not _goes_round(steps):
        try:
            step = taken(world, await ask(in_sight(messages)))
        except UnusableReply as unusable:
            step = EpisodeStep(reply="", did="nothing", seen=str(unusable))
        steps.append(step)
        if step.did == "finished":
            break
        messages += [Message("assistant", step.reply or "(nothing)"), Message("user", step.seen)]
    return steps


def taken(world: EpisodeWorld, reply: str) -> EpisodeStep:
    """Do in the world what the reply says, and return the step that this was."""
    try:
        action = read_action(reply)
    except ValueError as problem:
        return EpisodeStep(reply=reply, did="nothing", seen=str(problem))
    if action.action == "finish":
        return EpisodeStep(reply=reply, did="finished", seen="")
    if action.action == "say":
        return EpisodeStep(reply=reply, did="said", seen=world.say(action.text or ""))
    tool = action.tool or ""
    result = world.call(tool, action.given)
    shown = result if len(result) <= MOST_CHARACTERS else result[:MOST_CHARACTERS] + CUT
    did = "nothing" if result.startswith(REFUSED) else "wrote" if world.writes(tool) else "looked"
    return EpisodeStep(reply=reply, did=did, seen=f"{RESULT_OF}{tool}:\n{shown}")


def replayed(world: EpisodeWorld, steps: Sequence[EpisodeStep]) -> None:
    """Do in a new world what was done in an episode."""
    for step in steps:
        taken(world, step.reply)


def in_sight(messages: Sequence[Message]) -> list[Message]:
    """Return the newest messages that the window holds, the oldest first; the last one always."""
    left = WINDOW_TOKENS
    kept: list[Message] = []
    for message in reversed(messages):
        left -= count_tokens(message.content)
        if left < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]


def _goes_round(steps: Sequence[EpisodeStep]) -> bool:
    """Return True where the last replies are all the same."""
    last = [step.reply for step in steps[-SAME_CALL:]]
    return len(last) == SAME_CALL and len(set(last)) == 1
