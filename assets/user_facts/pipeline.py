"""The benchmark of user facts: its stages, each of which is entered here, and the tables of its releases."""

from assets.engine.benchmark import Benchmark
from assets.recipe.user_facts import UserFactsRecipe
from assets.user_facts.lives import FACTS_LIVES
from assets.user_facts.matters import FACTS_MATTERS
from assets.user_facts.people import FACTS_PEOPLE
from assets.user_facts.questions import FACTS_QUESTIONS
from assets.user_facts.sessions import FACTS_SESSIONS
from assets.user_facts.tables import TABLES
from assets.user_facts.users import FACTS_USERS

USER_FACTS = Benchmark(
    name="user_facts",
    noun="user",
    recipe=UserFactsRecipe,
    stages=(FACTS_PEOPLE, FACTS_MATTERS, FACTS_LIVES, FACTS_SESSIONS, FACTS_QUESTIONS, FACTS_USERS),
    tables=TABLES,
    report="assets.user_facts.report:UserFactsReport",
    prefix="facts_",
)
