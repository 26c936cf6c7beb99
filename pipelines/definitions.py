"""The one assembly point: reading it tells everything that Dagster knows of this project."""

import dagster as dg

from assets.answers import ANSWERS, answers
from assets.episodes import EPISODES, episodes
from assets.events import EVENTS, events
from assets.line import PERSONAS
from assets.personas import personas
from assets.questions import QUESTIONS, questions
from assets.recipe import recipe
from assets.session_queries import SESSION_QUERIES, session_queries
from assets.state_schema import STATE_SCHEMA, state_schema
from assets.state_trajectory import STATE_TRAJECTORY, state_trajectory
from assets.user_profiles import USER_PROFILES, user_profiles
from dataset_card.release import release_folder
from pipelines.home import home
from pipelines.jobs import JOBS
from pipelines.resources.values import RecordValues
from pipelines.resources.workshop import ReleaseFolder, WorkshopResource
from validation.checks import stage_checks
from validation.quality_report import quality_report, quality_report_checks

STAGES = (
    PERSONAS,
    USER_PROFILES,
    QUESTIONS,
    STATE_SCHEMA,
    STATE_TRAJECTORY,
    EVENTS,
    SESSION_QUERIES,
    ANSWERS,
    EPISODES,
)

defs = dg.Definitions(
    assets=[
        recipe,
        personas,
        user_profiles,
        questions,
        state_schema,
        state_trajectory,
        events,
        session_queries,
        answers,
        episodes,
        quality_report,
        release_folder,
    ],
    asset_checks=[*map(stage_checks, STAGES), quality_report_checks],
    jobs=list(JOBS),
    resources={
        "workshop": WorkshopResource(),
        "releases": ReleaseFolder(),
        "io_manager": RecordValues(home().values),
    },
    # No interpreter is started per step; the stages of a run share one event loop.
    executor=dg.in_process_executor,
)
