"""The one assembly point: reading it tells everything that Dagster knows of this project."""

import dagster as dg

from assets.amemgym.answers.stage import answers
from assets.amemgym.audits.stage import audits
from assets.amemgym.episodes import episodes
from assets.amemgym.events import events
from assets.amemgym.personas.stage import personas
from assets.amemgym.pipeline import STAGES
from assets.amemgym.questions import questions
from assets.amemgym.session_queries.stage import session_queries
from assets.amemgym.state_schema import state_schema
from assets.amemgym.state_trajectory.stage import state_trajectory
from assets.amemgym.user_profiles import user_profiles
from assets.recipe.asset import recipe
from dataset_card.hub.asset import hub_release
from dataset_card.release.asset import release_folder
from dataset_card.release.checks import RELEASE_CHECKS
from pipelines.automation import SCHEDULES, SENSORS
from pipelines.evaluation_assets import answers_scored, evaluation
from pipelines.home import home
from pipelines.jobs import JOBS
from pipelines.resources.dagster_resources import ReleaseStoreResource, ReportFolder, RunContextResource
from pipelines.resources.hub.resource import PublisherResource
from pipelines.resources.storage.io_manager import RecordValues
from validation.checks import stage_checks
from validation.expectations.checks import column_checks
from validation.recipe_checks import RECIPE_CHECKS
from validation.report.asset import quality_report
from validation.report.checks import quality_report_checks

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
        audits,
        episodes,
        quality_report,
        release_folder,
        hub_release,
        evaluation,
    ],
    asset_checks=[
        *map(stage_checks, STAGES),
        quality_report_checks,
        column_checks,
        *RELEASE_CHECKS,
        *RECIPE_CHECKS,
        answers_scored,
    ],
    jobs=list(JOBS),
    sensors=list(SENSORS),
    schedules=list(SCHEDULES),
    resources={
        "run_context": RunContextResource(),
        "releases": ReleaseStoreResource(),
        "reports": ReportFolder(),
        "publisher": PublisherResource(),
        "io_manager": RecordValues(home().values),
    },
    # No interpreter is started per step; the stages of a run share one event loop.
    executor=dg.in_process_executor,
)
