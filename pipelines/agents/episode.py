"""One episode: an agent acts in a world until it finishes, or has no steps left. Whatever fails is told to the agent.

The episode is a function of the replies alone. What was done before a run was killed is paid for and comes from the reply
cache, so that a run that goes on takes the same steps and pays nothing twice.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from assets.llm.actions import RECALL, RESULT_OF_RECALL, read_action
from assets.llm.answer_text import UnusableReply
from assets.text.words import count_tokens
from assets.worlds.steps import MOST_STEPS, UNUSABLE, EpisodeStep, goes_round, take_step
from assets.worlds.world import World
from prompts.template import Message

WINDOW_TOKENS = 8_000  # of the dialogue that stays in sight, beside the instructions and what a memory gave
MOST_TOKENS = 100_000  # of all that is in sight

# Asks for the next action, with the messages that are out of sight, and those in sight; the oldest first.
Ask = Callable[[Sequence[Message], Sequence[Message]], Awaitable[str]]
# Says something to the user, and returns what the user then said, with the replies of the model that plays the user.
Hear = Callable[[str], Awaitable[tuple[str, tuple[str, ...]]]]
Recall = Callable[[str], Awaitable[str]]
NOTHING = "Nothing."  # what an agent's search of its memory gives where that has no text


async def run_episode(
    world: World,
    ask: Ask,
    *,
    hear: Hear | None = None,
    recall: Recall | None = None,
    window: int = WINDOW_TOKENS,
    most_steps: int = MOST_STEPS,
    begun_with: Sequence[str] = (),
) -> list[EpisodeStep]:
    """Let the agent act, and return every step.

    `hear`: of a world whose user a model plays. `recall`: of an agent that asks its memory by a tool. `begun_with`: replies of
    an earlier episode, which are taken before the agent is asked.
    """
    messages = [Message("user", world.opening)]
    steps: list[EpisodeStep] = []
    recorded = list(begun_with)
    while len(steps) < most_steps and not goes_round(steps):
        seen = in_sight(messages, window)
        try:
            reply = recorded.pop(0) if recorded else await ask(messages[: len(messages) - len(seen)], seen)
        except UnusableReply as unusable:
            step = EpisodeStep(reply="", did="nothing", seen=f"{UNUSABLE}{unusable}")
        else:
            step = await _take_model_step(world, reply, hear=hear, recall=recall)
        steps.append(step)
        if step.did == "finished" or world.ended:
            break
        messages += [Message("assistant", step.reply or "(nothing)"), Message("user", step.seen)]
    return steps


async def _take_model_step(world: World, reply: str, *, hear: Hear | None, recall: Recall | None) -> EpisodeStep:
    """Do what the reply says. Users whom a model plays, and memories, are asked here, as neither is part of the world.

    The world acts in a thread, because a call in the sandbox blocks.
    """
    try:
        action = read_action(reply)
    except ValueError:
        return take_step(world, reply)
    if hear is not None and action.action == "say":
        seen, user = await hear(action.text or "")
        return EpisodeStep(reply=reply, did="said", seen=seen, user=user)
    if recall is not None and action.action == "call" and action.tool == RECALL:
        found = await recall(action.arguments_by_name.get("query", ""))
        return EpisodeStep(reply=reply, did="looked", seen=f"{RESULT_OF_RECALL}\n{found}")
    return await asyncio.to_thread(take_step, world, reply)


def in_sight(messages: Sequence[Message], window: int = WINDOW_TOKENS) -> list[Message]:
    """Return the newest messages that a window of so many tokens holds, the oldest first; the last one always.

    What a memory gave takes none of its room, as where it stands in the instructions.
    """
    left = window
    room = MOST_TOKENS
    kept: list[Message] = []
    for message in reversed(messages):
        tokens = count_tokens(message.content)
        room -= tokens
        left -= 0 if message.content.startswith(RESULT_OF_RECALL) else tokens
        if min(left, room) < 0 and kept:
            break
        kept.append(message)
    return kept[::-1]
