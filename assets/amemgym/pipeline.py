"""All stages in the order of the method; each needs only stages before it."""

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.events import EVENTS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage_runner import PERSONAS

STAGES = (
    PERSONAS,
    USER_PROFILES,
    QUESTIONS,
    STATE_SCHEMA,
    STATE_TRAJECTORY,
    EVENTS,
    SESSION_QUERIES,
    ANSWERS,
    AUDITS,
    EPISODES,
)
