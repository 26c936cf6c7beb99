"""Living one period: on-policy with the simulated user (section 3.2), or off-policy by a recorded dialogue (section 4.2)."""

from collections.abc import Sequence

from assets.amemgym.records.session import Session
from pipelines.evaluation.assistant import Assistant, Observer
from pipelines.evaluation.dataset import Rounds
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.records import DialogueTurn
from pipelines.evaluation.simulator import SimulatedMessage, SimulatedUser, next_message
from prompts.template import Message


def with_current_time(session: Session, message: str) -> str:
    """A session's first message with the time of the episode; no other clock is ever told."""
    return f"[Current Time: {session.session_time.isoformat(sep=' ')}]\n{message}"


async def hold_sessions(scene: SimulatedUser, assistant: Assistant, *, period: int, rounds: Rounds) -> list[DialogueTurn]:
    """Hold the period's sessions in order; each begins with its query."""
    turns: list[DialogueTurn] = []
    for number, session in enumerate(scene.episode.periods[period].sessions):
        said: list[Message] = []
        for place in range(rounds.of(period)):
            spoken = await _user_message(scene, session, said, period=period)
            sent = spoken.message if place else with_current_time(session, spoken.message)
            reply = await assistant.respond(sent, at=session.session_time)
            said += [Message("user", spoken.message), Message("assistant", reply)]
            turns.append(
                DialogueTurn(
                    user_id=scene.episode.user_id,
                    period=period,
                    session=number,
                    round=place,
                    at=session.session_time,
                    message=spoken.message,
                    reply=reply,
                    tries=spoken.tries,
                    breaches=spoken.breaches,
                )
            )
    return turns


async def _user_message(scene: SimulatedUser, session: Session, said: Sequence[Message], *, period: int) -> SimulatedMessage:
    if not said:
        return SimulatedMessage(session.query, 1, ())
    return await next_message(scene, session, said, period=period)


async def replay_sessions(
    scene: SimulatedUser, assistant: Assistant, recorded: Sequence[DialogueTurn], *, period: int
) -> list[DialogueTurn]:
    """Let the assistant take in the recorded turns of the period. Raises EvaluationError when it cannot be told any."""
    if not isinstance(assistant, Observer):
        raise EvaluationError("This assistant has no method 'observe', so it cannot take in another one's dialogues.")
    turns = [turn for turn in recorded if turn.period == period]
    sessions = scene.episode.periods[period].sessions
    for turn in turns:
        message = turn.message if turn.round else with_current_time(sessions[turn.session], turn.message)
        await assistant.observe(message, turn.reply, at=turn.at)
    return turns
