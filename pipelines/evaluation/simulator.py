"""The simulated user (section 3.2, App. C.4): goes on with a session, and is checked for what it gives away."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.session import Session
from assets.llm.ports import CallLabels, LanguageModel, ModelRequest
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.records.failure import ItemFailed
from prompts.catalogue import load_prompt
from prompts.template import Message, RenderedPrompt

MOST_TRIES = 3
UNCHECKED = "unchecked"
AGAIN = "That message cannot be sent. {problem} Write another one, and return the message alone."


class Told(BaseModel):
    """A variable with the value that a message lets one conclude."""

    variable: str
    value: str


class RevealedReply(BaseModel):
    """All that a message gives away; usually nothing."""

    told: list[Told]


@dataclass(frozen=True)
class SimulatedUser:
    """One user's part: who it is, who plays it, and by which models (`recipe`)."""

    episode: Episode
    recipe: Recipe
    language: str
    model: LanguageModel


@dataclass(frozen=True)
class SimulatedMessage:
    """A message of the simulated user, how often it was asked for, and what it still gives away."""

    message: str
    tries: int
    breaches: tuple[str, ...]


async def next_message(scene: SimulatedUser, session: Session, said: Sequence[Message], *, period: int) -> SimulatedMessage:
    """The user's next message. One that gives a tracked value away is asked for again, at most three times in all."""
    prompt = _prompt(scene, session, said)
    messages = prompt.messages
    for attempt in range(1, MOST_TRIES + 1):
        text = await _write(scene, prompt, messages, attempt=attempt)
        breaches = await _breaches(scene, session, text, said=said, period=period) if text else ("empty",)
        if not breaches or attempt == MOST_TRIES:
            return SimulatedMessage(text or "Please go on.", attempt, breaches)
        problem = "It is empty." if not text else f"It lets one conclude too much: {', '.join(breaches)}."
        messages = (*messages, Message("assistant", text), Message("user", AGAIN.format(problem=problem)))
    raise AssertionError("unreachable: the loop returns")


def _prompt(scene: SimulatedUser, session: Session, said: Sequence[Message]) -> RenderedPrompt:
    return load_prompt("evaluation/follow_up").render(
        user_profile=scene.episode.user_profile.formatted_str,
        start_date=scene.episode.start_date.isoformat(),
        current_date=session.session_time.date().isoformat(),
        query=session.query,
        context=transcript(said[1:]),
        state_schema=scene.episode.state_schema.choices,
        language=scene.language,
    )


def transcript(said: Sequence[Message]) -> str:
    """A conversation as text."""
    return "\n".join(f"{message.role}: {message.content}" for message in said)


async def _write(scene: SimulatedUser, prompt: RenderedPrompt, messages: tuple[Message, ...], *, attempt: int) -> str:
    spec = scene.recipe.models.user_simulator
    request = ModelRequest(
        model=spec.model,
        messages=messages,
        temperature=spec.temperature,
        max_output_tokens=spec.max_output_tokens,
        schema_name=prompt.name.replace("/", "_"),
        json_schema=None,
        seed=scene.recipe.seed,
        sample=scene.recipe.sample,
        labels=CallLabels(prompt=prompt.name, fingerprint=prompt.fingerprint, attempt=attempt - 1),
    )
    return (await scene.model.complete(request)).text.strip().strip('"').strip()


async def _breaches(
    scene: SimulatedUser, session: Session, text: str, *, said: Sequence[Message], period: int
) -> tuple[str, ...]:
    try:
        told = await _revealed_values(scene, text, said=said)
    except ItemFailed:
        return (UNCHECKED,)
    found = (breach(scene.episode, session, name, value, period=period) for name, value in told)
    return tuple(sorted({one for one in found if one}))


async def _revealed_values(scene: SimulatedUser, text: str, *, said: Sequence[Message]) -> list[tuple[str, str]]:
    choices = scene.episode.state_schema.choices
    prompt = load_prompt("evaluation/check_turn").render(state_choices=choices, said_before=transcript(said[-1:]), message=text)

    def convert(reply: RevealedReply) -> list[tuple[str, str]]:
        for one in reply.told:
            if one.value not in choices.get(one.variable, []):
                raise ValueError(f"{one.variable!r} with the value {one.value!r} is not in the lists.")
        return [(one.variable, one.value) for one in reply.told]

    return await ask_structured(scene.model, prompt=prompt, reply=RevealedReply, convert=convert, recipe=scene.recipe)


def breach(episode: Episode, session: Session, name: str, value: str, *, period: int) -> str:
    """What is wrong with telling this value now, as "kind variable"; "" where the session's own query told it.

    reveals: it is true, but the dialogue was not to tell it. stale: it was true before. contradicts: it has not been.
    """
    if session.exposed_states.get(name) == value:
        return ""
    if state_at(episode, session, period=period)[name] == value:
        return f"reveals {name}"
    if any(past.state[name] == value for past in episode.periods[:period]):
        return f"stale {name}"
    return f"contradicts {name}"


def state_at(episode: Episode, session: Session, *, period: int) -> dict[str, str]:
    """The true state during a session: a period's changes come one by one with its sessions."""
    if period == 0:
        return episode.periods[0].state
    state = dict(episode.periods[period - 1].state)
    for told in episode.periods[period].sessions:
        if told.session_time <= session.session_time:
            state |= told.exposed_states
    return state
