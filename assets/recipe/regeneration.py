"""Whose stage is asked anew, and how often, as part of the recipe."""

from typing import Annotated, Literal, cast

from pydantic import AfterValidator, PositiveInt

from assets.records.base import Name

EVERYONE = "all"
AskingStage = Literal[
    "user_profiles", "questions", "state_schema", "state_trajectory", "events", "session_queries", "answers", "audits"
]
Stages = dict[AskingStage, PositiveInt]


def _in_order(again: dict[Name, Stages]) -> dict[Name, Stages]:
    """Equal entries give equal bytes, in whatever order they were written."""
    return {user: dict(sorted(stages.items())) for user, stages in sorted(again.items())}


Again = Annotated[dict[Name, Stages], AfterValidator(_in_order)]


def times_again(again: Again, *, stage: str, user_id: str) -> int:
    """How often this user's stage is asked anew: the entries of everyone and of the user add up."""
    asked = cast(dict[str, dict[str, int]], again)
    return sum(asked.get(who, {}).get(stage, 0) for who in (EVERYONE, user_id))
