"""Stage 10: all records of one user joined into one, which checks that they agree (section 3.1)."""

from pydantic import ValidationError

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode, join_periods, join_questions
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import SessionSet, StateSchema, StateTrajectory
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import ItemFailed
from assets.records.problems import first_problem
from assets.reporting.asset_description import AssetDescription, Row


async def join_episode(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    sessions: SessionSet,
    answers: AnswerSet,
    _audit: UserAudit,
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> Episode:
    """Join one user's records; asks no model. Parts that contradict each other give the user up.

    The audit adds nothing to the episode: being there, it says that the user passed it.
    """
    try:
        return Episode(
            user_id=profile.user_id,
            start_date=recipe.start_date,
            user_profile=profile,
            state_schema=schema.without_judgements(),
            periods=join_periods(trajectory, tuple(period.sessions for period in sessions.periods)),
            questions=join_questions(schema, answers.questions),
        )
    except ValidationError as error:
        _, problem = first_problem(error)
        raise ItemFailed("rule_violated", f"The user's parts contradict each other: {problem}") from error


def _rows(episode: Episode) -> list[Row]:
    return [
        {
            "user": episode.user_profile.name,
            "variables": len(episode.state_schema.variables),
            "periods": len(episode.periods),
            "sessions": sum(len(period.sessions) for period in episode.periods),
            "questions": len(episode.questions),
            "first question": episode.questions[0].query,
            "first session": episode.periods[0].sessions[0].query,
        }
    ]


EPISODES = Stage(
    name="episodes",
    record=Episode,
    version=2,
    make=join_episode,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY, SESSION_QUERIES, ANSWERS, AUDITS),
    description=AssetDescription(
        group="texts",
        description="Everything about one user in one record, one row of the dataset (paper section 3.1). References "
        "resolve, states follow from updates, and exactly one option of each question is right in each period.",
        rows=_rows,
    ),
)
