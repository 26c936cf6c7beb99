"""The benchmark AMemGym: its stages, each of which is entered here, and the tables of its releases."""

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.events import EVENTS
from assets.amemgym.personas.sampling import with_pool_digest
from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.tables import TABLES
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.benchmark import Benchmark
from assets.recipe.amemgym import AMemGymRecipe

AMEMGYM = Benchmark(
    name="amemgym",
    noun="user",
    recipe=AMemGymRecipe,
    resolve=with_pool_digest,
    stages=(
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
    ),
    tables=TABLES,
    report="assets.amemgym.records.report:QualityReport",
)
STAGES = AMEMGYM.stages
