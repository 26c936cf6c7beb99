"""The rules of every stage: each stage has a module of its name here that states them."""

from validation.amemgym import (
    answers,
    audits,
    episodes,
    events,
    personas,
    questions,
    session_queries,
    state_schema,
    state_trajectory,
    user_profiles,
)
from validation.rules import Rule

RULES: dict[str, tuple[Rule, ...]] = {
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
