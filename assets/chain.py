"""All stages in the order of the method; each needs only stages before it."""

from assets.answers import ANSWERS
from assets.audits import AUDITS
from assets.episodes import EPISODES
from assets.events import EVENTS
from assets.line import PERSONAS
from assets.questions import QUESTIONS
from assets.session_queries import SESSION_QUERIES
from assets.state_schema import STATE_SCHEMA
from assets.state_trajectory import STATE_TRAJECTORY
from assets.user_profiles import USER_PROFILES

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
