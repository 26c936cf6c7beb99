"""A user's questions, states and dialogues, as the page of a run shows them."""

from collections.abc import Sequence

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.records import DialogueTurn
from pipelines.evaluation.report.page import Json, PageItem


def page_item(episode: Episode, turns: Sequence[DialogueTurn]) -> PageItem:
    """The user with the turns of a run, which may be those of all users."""
    own = [turn for turn in turns if turn.user_id == episode.user_id]
    questions = [
        {
            "id": question.question_id,
            "query": question.query,
            "required": question.required_info,
            "options": [
                {"id": option.choice_id, "text": option.answer, "state": option.state} for option in question.answer_choices
            ],
        }
        for question in episode.questions
    ]
    periods = [_period(episode, [turn for turn in own if turn.period == index], index) for index in range(len(episode.periods))]
    return PageItem(episode.user_id, name=episode.user_profile.name, questions=questions, periods=periods)


def _period(episode: Episode, turns: Sequence[DialogueTurn], index: int) -> Json:
    period = episode.periods[index]
    return {
        "end": period.period_end.isoformat(),
        "state": period.state,
        "sessions": [
            {
                "at": session.session_time.isoformat(sep=" "),
                "event": session.event or "",
                "exposed": session.exposed_states,
                "turns": [
                    {"message": turn.message, "reply": turn.reply, "breaches": turn.breaches}
                    for turn in turns
                    if turn.session == number
                ],
            }
            for number, session in enumerate(period.sessions)
        ],
    }
