"""The rules of every stage: each stage has a module of its name here that states them."""

from assets.records.base import StageName
from validation.amemgym import answers
from validation.amemgym import audits
from validation.amemgym import episodes
from validation.amemgym import events
from validation.amemgym import personas
from validation.amemgym import questions
from validation.amemgym import session_queries
from validation.amemgym import state_schema
from validation.amemgym import state_trajectory
from validation.amemgym import user_profiles
from validation.rules import Rule

RULES: dict[StageName, tuple[Rule, ...]] = {
    "personas": personas.RULES,
    "user_profiles": user_profiles.RULES,
    "questions": questions.RULES,
    "state_schema": state_schema.RULES,
    "state_trajectory": state_trajectory.RULES,
    "events": events.RULES,
    "session_queries": session_queries.RULES,
    "answers": answers.RULES,
    "audits": audits.RULES,
    "episodes": episodes.RULES,
}
