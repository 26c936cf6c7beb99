"""The dialogues of one period: on-policy with a simulated user (section 3.2, App. C.4), or replayed (section 4.2).

Every message that the simulated user writes is checked for tracked values that it gives away.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.state import Session
from assets.llm.ports import CallLabels, LanguageModel, ModelRequest
from assets.llm.structured_output import ask_structured
from assets.recipe.model_policy import AskSettings
from assets.records.base import ItemFailed
from pipelines.evaluation.records import DialogueTurn
from pipelines.evaluation.timeline.subjects import Subject, events_of
from prompts.catalogue import load_prompt
from prompts.template import Message, RenderedPrompt

MOST_TRIES = 3  # a simulator that failed so often will fail again, and the breach is counted in fidelity
UNCHECKED = "unchecked"
AGAIN = "That message cannot be sent. {problem} Write another one, and return the message alone."


# The names "Told" and "told" stand in the reply schema, and so in the key of every cached reply.
class Told(BaseModel):
    """A variable with the value that a message lets one conclude."""

    variable: str
    value: str


class RevealedReply(BaseModel):
    """All that a message gives away; usually nothing."""

    told: list[Told]


@dataclass(frozen=True)
class SimulatedUser:
    """The simulated user of one episode: `model` writes its messages with the settings of `asking`."""

    episode: Episode
    asking: AskSettings
    language: str
    model: LanguageModel


@dataclass(frozen=True)
class SimulatedMessage:
    """A message of the simulated user, how often it was asked for, and what it still gives away."""

    message: str
    tries: int
    breaches: tuple[str, ...]


async def next_message(user: SimulatedUser, session: Session, history: Sequence[Message], *, period: int) -> SimulatedMessage:
    """Return the user's next message. One that gives a tracked value away is asked for again, three times in all at most."""
    prompt = _prompt(user, session, history)
    messages = prompt.messages
    for attempt in range(1, MOST_TRIES + 1):
        text = await _write(user, prompt, messages, attempt=attempt)
        breaches: tuple[str, ...] = ("empty",)
        problem = "It is empty."
        if text:
            breaches = await _breaches(user, session, text, history=history, period=period)
            problem = f"It lets one conclude too much: {', '.join(breaches)}."
        if not breaches or attempt == MOST_TRIES:
            # An empty message would end the conversation.
            return SimulatedMessage(text or "Please go on.", attempt, breaches)
        messages = (*messages, Message("assistant", text), Message("user", AGAIN.format(problem=problem)))
    raise AssertionError("unreachable: the loop returns")


def _prompt(user: SimulatedUser, session: Session, history: Sequence[Message]) -> RenderedPrompt:
    return load_prompt("evaluation/follow_up").render(
        user_profile=user.episode.user_profile.with_voice,
        start_date=user.episode.start_date.isoformat(),
        current_date=session.session_time.date().isoformat(),
        query=session.query,
        context=transcript(history[1:]),
        state_schema=user.episode.state_schema.choices,
        language=user.language,
    )


def transcript(history: Sequence[Message]) -> str:
    return "\n".join(f"{message.role}: {message.content}" for message in history)


async def _write(user: SimulatedUser, prompt: RenderedPrompt, messages: tuple[Message, ...], *, attempt: int) -> str:
    spec = user.asking.models.user_simulator
    request = ModelRequest(
        model=spec.model,
        messages=messages,
        temperature=spec.temperature,
        max_output_tokens=spec.max_output_tokens,
        schema_name=prompt.name.replace("/", "_"),
        json_schema=None,
        seed=user.asking.seed,
        sample=user.asking.sample,
        labels=CallLabels(prompt=prompt.name, fingerprint=prompt.fingerprint, attempt=attempt - 1),
        extra_body=spec.extra_body,
    )
    reply = await user.model.complete(request)
    if reply.finish == "length":
        return ""  # half a message, or half a thought
    # Models like to put what somebody says into quotation marks.
    return reply.text.strip().strip('"').strip()


async def _breaches(
    user: SimulatedUser, session: Session, text: str, *, history: Sequence[Message], period: int
) -> tuple[str, ...]:
    try:
        revealed = await _revealed_values(user, session, text, history=history)
    except ItemFailed:
        return (UNCHECKED,)
    breaches = set[str]()
    for name, value in revealed:
        breaches.add(breach(user.episode, session, name, value, period=period))
    breaches.discard("")
    return tuple(sorted(breaches))


async def _revealed_values(
    user: SimulatedUser, session: Session, text: str, *, history: Sequence[Message]
) -> list[tuple[str, str]]:
    choices = user.episode.state_schema.choices
    prompt = load_prompt("evaluation/check_turn").render(
        state_schema=choices, query=session.query, said_before=transcript(history[-1:]), message=text
    )

    def convert(reply: RevealedReply) -> list[tuple[str, str]]:
        for item in reply.told:
            if item.value not in choices.get(item.variable, []):
                raise ValueError(f"{item.variable!r} with the value {item.value!r} is not in the lists.")
        return [(item.variable, item.value) for item in reply.told]

    return await ask_structured(user.model, prompt=prompt, reply=RevealedReply, convert=convert, settings=user.asking)


def breach(episode: Episode, session: Session, name: str, value: str, *, period: int) -> str:
    """Return the fault of telling this value now, as "kind variable"; "" where the session's own query told it.

    reveals: it is true, but the dialogue was not to tell it. stale: it was true before. contradicts: it has not been.
    """
    if session.exposed_states.get(name) == value:
        return ""
    if state_at(episode, session, period=period)[name] == value:
        return f"reveals {name}"
    for past in episode.periods[:period]:
        if past.state[name] == value:
            return f"stale {name}"
    return f"contradicts {name}"


def state_at(episode: Episode, session: Session, *, period: int) -> dict[str, str]:
    """Return the true state during a session: a period's changes come one by one with its sessions."""
    if period == 0:
        return episode.periods[0].state
    state = dict(episode.periods[period - 1].state)
    for earlier in episode.periods[period].sessions:
        if earlier.session_time <= session.session_time:
            state |= earlier.exposed_states
    return state


def with_current_time(session: Session, message: str) -> str:
    """Return a session's first message with the time of the episode. The assistant learns of no other clock."""
    return f"[Current Time: {session.session_time.isoformat(sep=' ')}]\n{message}"


async def hold_sessions(user: SimulatedUser, subject: Subject, *, period: int, rounds: int) -> list[DialogueTurn]:
    """Hold the period's sessions in order; each begins with its query, and is remembered when it ends."""
    turns: list[DialogueTurn] = []
    for number, session in enumerate(user.episode.periods[period].sessions):
        window: list[Message] = []
        held: list[DialogueTurn] = []
        for round_number in range(rounds):
            if round_number:
                written = await next_message(user, session, window, period=period)
                shown = written.message
            else:
                written = SimulatedMessage(session.query, 1, ())
                shown = with_current_time(session, session.query)
            reply = await subject.reply(written.message, shown=shown, window=window, at=session.session_time)
            window += [Message("user", shown), Message("assistant", reply)]
            turn = DialogueTurn(
                user_id=user.episode.user_id,
                period=period,
                session=number,
                round=round_number,
                at=session.session_time,
                message=written.message,
                reply=reply,
                tries=written.tries,
                breaches=written.breaches,
            )
            held.append(turn)
        await subject.end_session(events_of(held))
        turns += held
    return turns
