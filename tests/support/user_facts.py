"""A user's facts with everything that their stages make of them, told by the embedded model in process."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from assets.recipe.recipe import Unit
from assets.recipe.user_facts import UserFactsRecipe
from assets.records.base import ItemRecord
from assets.user_facts.lives import draw_life
from assets.user_facts.matters import draft_matters
from assets.user_facts.people import draw_people
from assets.user_facts.questions import ask_about_life
from assets.user_facts.records import FactLife, FactMatters, FactPerson, FactQuestions, FactSessions, FactUser
from assets.user_facts.sessions import tell_life
from assets.user_facts.users import accept_user
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from validation.rules import RecordsByStage


def facts_recipe(**fields: Any) -> UserFactsRecipe:
    """Return a recipe of one user, unless the fields say otherwise."""
    return UserFactsRecipe.model_validate({"variant": "small facts", "num_users": 1, "num_reserve": 0, **fields})


def person_at(position: int, recipe: UserFactsRecipe) -> FactPerson:
    """Return the user of this position."""
    [(_, person)] = draw_people(recipe, Unit("small facts", "small facts", range(position, position + 1), range(0)))
    return person


@dataclass(frozen=True)
class MadeFacts:
    """A user's record of every stage."""

    person: FactPerson
    matters: FactMatters
    life: FactLife
    sessions: FactSessions
    questions: FactQuestions
    user: FactUser

    @property
    def records(self) -> RecordsByStage:
        """By stage and item, as rules read them."""
        records: dict[str, ItemRecord] = {
            "facts_people": self.person,
            "facts_matters": self.matters,
            "facts_lives": self.life,
            "facts_sessions": self.sessions,
            "facts_questions": self.questions,
            "facts_users": self.user,
        }
        return {stage: {self.life.user_id: record} for stage, record in records.items()}


async def make_facts(position: int = 0, *, recipe: UserFactsRecipe) -> MadeFacts:
    """Take the user of a position through all stages."""
    model = EmbeddedModel()
    person = person_at(position, recipe)
    matters = await draft_matters(person, recipe=recipe, model=model)
    life = await draw_life(person, matters, recipe=recipe, model=model)
    sessions = await tell_life(life, recipe=recipe, model=model)
    questions = await ask_about_life(life, sessions, recipe=recipe, model=model)
    user = await accept_user(matters, life, sessions, questions, recipe=recipe, model=model)
    return MadeFacts(person, matters, life, sessions, questions, user)


@cache
def made_facts(position: int = 0) -> MadeFacts:
    """Return the user of a position, made once."""
    return run(make_facts(position, recipe=facts_recipe()))
