"""Anybody's data set, read and reported on: a file, a release's folder, or one on the Hub."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from assets.amemgym.episode_parts import fitting_counts
from assets.amemgym.records.report import QualityReport
from assets.engine.ports import RunContext
from assets.llm.async_calls import run_to_end
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import build_recipe, expect_recipe, override_fields
from assets.reporting.plurals import counted
from dataset_card.amemgym.reference.settings import DataSettings
from pipelines.benchmarks import QualityRequest
from pipelines.evaluation.amemgym.dataset import AMemGymDataset
from pipelines.evaluation.amemgym.tasks import open_amemgym
from pipelines.home import Home
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.open_stores import open_release_store
from validation.amemgym.benchmark import AMEMGYM_VALIDATION
from validation.amemgym.report.given import GivenData, report_on_given
from validation.amemgym.report.page import render_quality_page
from validation.expectations.project import project_folder
from validation.report.page import write_page

NOTHING_GIVEN: Mapping[str, object] = {}
FEWEST_DECOYS = 4  # wrong items of each user, beside which there are two right ones


def report_on_source(request: QualityRequest, *, home: Home, notice: Callable[[str], None]) -> tuple[QualityReport, Path]:
    """The report on a data set, and its page; beside it the record as JSON. `notice` gets sentences on the data set.

    Raises EvaluationError, RecipeError, SuiteError, EndpointError, BudgetReached, OSError.
    """
    bare = Path(request.source).is_file()
    settings: dict[str, object] = {}
    others: dict[str, object] = {}
    for name, value in request.overrides.items():
        group = settings if bare and name in DataSettings.model_fields else others
        group[name] = value
    tasks = open_amemgym(request.source, release_store=open_release_store(home), settings=settings)
    dataset = tasks.first(request.users).dataset
    for sentence in dataset.notices:
        notice(sentence)
    with open_run_context(home, mode="replay" if request.offline else "use") as opened:
        # Meanings are compared by words, so that no model is asked unasked.
        run_context = replace(opened, open_embedder=None)
        recipe = recipe_of(dataset, others, model=request.model or run_context.embedded_model)
        writer = dataset.recipe.models.writer.model if dataset.recipe else ""
        data = GivenData(dataset.episodes, recipe, dataset.left_out, writer=writer, gates=request.gates, audit=request.audit)
        if data.judged:
            notice(_reading(data, run_context))
        project = project_folder(home.reports, recipe.variant)
        report, sentences = run_to_end(report_on_given(data, AMEMGYM_VALIDATION, run_context=run_context, project=project))
    for sentence in sentences:
        notice(sentence)
    write_page(report.model_dump_json(indent=2) + "\n", home.reports / f"{recipe.variant}.json")
    return report, write_page(render_quality_page(report), home.reports / f"{recipe.variant}.html")


def recipe_of(
    dataset: AMemGymDataset, overrides: Mapping[str, object] = NOTHING_GIVEN, *, model: str | None = None
) -> AMemGymRecipe:
    """The release's recipe, or one that fits most users of a bare file, with what is given here."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", dataset.name.removesuffix(".json")).strip("-")
    name = f"{name}-{dataset.digest[:8]}"  # many files, and folders, have the same name
    if dataset.recipe is None:
        given = dataset.settings.model_dump(exclude_none=True)
        recipe = expect_recipe(build_recipe({"variant": name, **fitting_counts(dataset.episodes), **given}), AMemGymRecipe)
    else:
        recipe = dataset.recipe.model_copy(update={"variant": name, "num_users": len(dataset.episodes)})
    if model:
        recipe = recipe.with_models(lambda _: model)
    # A user is never replaced here, so the audit has no limit; it says what the ceiling is. Of few users each has more decoys,
    # which have to show that the judge can judge.
    decoys = max(recipe.num_decoys, FEWEST_DECOYS)
    return expect_recipe(override_fields(recipe, {"audit.min_ceiling": 0, "audit.decoys": decoys, **overrides}), AMemGymRecipe)


def _reading(data: GivenData, run_context: RunContext) -> str:
    """Say how much is read, in a sentence before the first call."""
    queries = 0
    answers = 0
    for episode in data.episodes:
        queries += sum(len(period.sessions) for period in episode.periods)
        answers += sum(len(question.answer_choices) for question in episode.questions)
    names = ", ".join(data.recipe.models.judge.panel)
    embedded = " It is the embedded model, which says nothing about the texts." if run_context.embedded_model else ""
    texts = f"{counted(queries, 'query')} and {counted(answers, 'answer')}"
    return f"{names} reads {texts} of {counted(len(data.episodes), 'user')}.{embedded}"
