"""A user's facts with everything that their stages make of them, told by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from assets.recipe.loading import Unit
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.base import ItemRecord
from assets.user_facts.lives import draw_lives
from assets.user_facts.questions import ask_about_life
from assets.user_facts.records import FactLife, FactQuestions, FactSessions, FactUser
from assets.user_facts.sessions import tell_life
from assets.user_facts.users import accept_user
from tests.support.coroutines import run
from tests.support.research_tasks import EmbeddedModel
from validation.rules import RecordsByStage


def facts_recipe(**fields: Any) -> UserFactsRecipe:
    """Return a recipe of one user, unless the fields say otherwise."""
    return UserFactsRecipe.model_validate({"variant": "small facts", "num_users": 1, "num_reserve": 0, **fields})


def lives(count: int, **fields: Any) -> list[FactLife]:
    """Return so many planned lives."""
    unit = Unit("small facts", "small facts", range(count), range(0))
    return [life for _, life in draw_lives(facts_recipe(**fields), unit)]


@dataclass(frozen=True)
class MadeFacts:
    """A user's record of every stage."""

    life: FactLife
    sessions: FactSessions
    questions: FactQuestions
    user: FactUser

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "facts_lives": self.life,
            "facts_sessions": self.sessions,
            "facts_questions": self.questions,
            "facts_users": self.user,
        }
        return {stage: {self.life.user_id: record} for stage, record in records.items()}


async def make_facts(life: FactLife, *, recipe: UserFactsRecipe) -> MadeFacts:
    """Take a life through all stages."""
    model = EmbeddedModel()
    sessions = await tell_life(life, recipe=recipe, model=model)
    questions = await ask_about_life(life, sessions, recipe=recipe, model=model)
    user = await accept_user(life, sessions, questions, recipe=recipe, model=model)
    return MadeFacts(life, sessions, questions, user)


@cache
def made_facts() -> MadeFacts:
    """Return the first user of the recipe, made once."""
    return run(make_facts(lives(1)[0], recipe=facts_recipe()))
