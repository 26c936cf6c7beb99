"""One episode: an agent acts in a world until it finishes, or has no steps left. Whatever fails is told to the agent.

The episode is a function of the replies alone. What was done before a run was killed is paid for and comes from the reply
cache, so that a run that goes on takes the same steps and pays nothing twice.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from assets.llm.structured_output import UnusableReply
from assets.text.words import count_tokens
from pipelines.agents.actions import MOST_CHARACTERS, RESULT_OF, Action, Step, read_action
from prompts.template import Message

MOST_STEPS = 24
WINDOW_TOKENS = 8_000  # of the dialogue that stays in sight, beside the instructions
SAME_CALL = 3  # times in a row, after which an agent goes round in circles
CUT = " ... (cut)"

# Asks for the next action: the messages in sight, the oldest first, and whether the action before was a lookup.
Ask = Callable[[Sequence[Message]], Awaitable[str]]


class World(Protocol):
    """What an agent acts in. Calls change it; nothing that an agent does may raise."""

    @property
    def opening(self) -> str:
        """The user's first message."""
        ...

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Return what a tool gives back, or a sentence where it refuses."""
        ...

    def say(self, text: str) -> str:
        """Return the user's reply."""
        ...


async def run_episode(world: World, ask: Ask) -> list[Step]:
    """Let the agent act, and return every step."""
    messages = [Message("user", world.opening)]
    steps: list[Step] = []
    while len(steps) < MOST_STEPS and not _goes_round(steps):
        try:
            reply = await ask(in_sight(messages))
        except UnusableReply as unusable:
            reply = ""
            seen = str(unusable)
        else:
            action, seen = applied(world, reply)
            if action is not None and action.action == "finish":
                steps.append(Step(reply=reply, seen=""))
                break
        steps.append(Step(reply=reply, seen=seen))
        messages += [Message("assistant", reply or "(nothing)"), Message("user", seen)]
    return steps


def applied(world: World, reply: str) -> tuple[Action | None, str]:
    """Do in the world what the reply says. Return the action, None for a reply that is none, and what the agent sees then."""
    try:
        action = read_action(reply)
    except ValueError as problem:
        return None, str(problem)
    if action.action == "call":
        result = world.call(action.tool or "", action.given)
        shown = result if len(result) <= MOST_CHARACTERS else result[:MOST_CHARACTERS] + CUT
        return action, f"{RESULT_OF}{action.tool}:\n{shown}"
    return action, world.say(action.text or "") if action.action == "say" else ""


def replayed(world: World, steps: Sequence[Step]) -> None:
    """Do in a new world what was done in an episode."""
    for step in steps:
        applied(world, step.reply)


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


def _goes_round(steps: Sequence[Step]) -> bool:
    """Return True where the last replies are all the same."""
    last = [step.reply for step in steps[-SAME_CALL:]]
    return len(last) == SAME_CALL and len(set(last)) == 1
