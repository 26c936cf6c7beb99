"""What is made says what it was made from: rows of two recipes never meet, and a recipe stays until somebody changes it."""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.amemgym.pipeline import STAGES
from assets.engine.ports import VALUES, StageProgress
from assets.engine.provenance import Provenance, ResolvedRecipe
from assets.recipe.loading import load_recipe
from dataset_card.release.manifest import read_manifest
from pipelines.benchmarks import benchmark_of
from pipelines.definitions import defs
from pipelines.home import home
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.io_manager import AssetValueIOManager, open_asset_values
from pipelines.resources.storage.release_writer import open_release_writer
from tests.support.commands import amemgym_here

SMALL = {"num_users": 1, "num_reserve": 2, "num_questions": 2, "num_periods": 1, "seed": 1}
DEMO = {"num_users": 2, "num_questions": 3, "num_periods": 2}  # as the finished demo was made
OTHER = {"seed": 77, "num_questions": 4, "num_periods": 5}


class Project:
    """The project's jobs in a data folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instance = dg.DagsterInstance.ephemeral()  # pyright: ignore[reportUnknownMemberType]

    @property
    def values(self) -> AssetValueIOManager:
        return open_asset_values(home())

    @property
    def resources(self) -> dict[str, Any]:
        """Those of the project, in this folder: they are filled from the environment when the definitions are loaded."""
        own = {VALUES: self.values, "releases": open_release_writer(home()), "reports": home().reports}
        return {**(defs.resources or {}), **own}

    @property
    def releases(self) -> list[str]:
        return sorted(str(path.relative_to(self.folder)) for path in (self.folder / "releases").rglob("*"))

    def run(self, *assets: str, report: Any = None, **recipe: object) -> dg.ExecuteInProcessResult:
        """Make these assets of the demo, or all of them."""
        config = {"ops": {"amemgym__recipe": {"config": recipe}}} if recipe else {}
        return self.run_configured("generate_and_release", config, assets=assets, report=report)

    def run_configured(
        self, job: str, config: dict[str, Any], *, assets: Sequence[str] = (), report: Any = None, variant: str = "demo"
    ) -> dg.ExecuteInProcessResult:
        whole = defs.resolve_job_def(job)
        benchmark = benchmark_of(load_recipe(variant))
        keys = [dg.AssetKey(benchmark.asset_key(name)) for name in assets]
        chosen = whole.get_subset(asset_selection=frozenset(keys)) if keys else whole
        with open_run_context(home(), report=report) as run_context:
            return chosen.execute_in_process(
                config,
                instance=self.instance,
                partition_key=variant,
                resources={**self.resources, "run_context": run_context},
                raise_on_error=False,
            )

    def seeds(self) -> dict[str, int]:
        """The seed of the recipe under which each asset was made last."""
        found = {name: self.values.find(name, "demo") for name in ("personas", "questions", "events", "answers", "episodes")}
        return {name: value.recipe.seed for name, value in found.items() if isinstance(value, Provenance)}

    def salt(self, variant: str, **given: object) -> str | None:
        """Resolve the recipe of a variant, and return its salt."""
        benchmark = benchmark_of(load_recipe(variant))
        asset = benchmark.key("recipe")
        config = {"ops": {benchmark.op("recipe"): {"config": given}}} if given else {}
        assert self.run_configured(benchmark.key("generate_and_release"), config, assets=[asset], variant=variant).success
        resolved = self.values.find(asset, variant)
        assert isinstance(resolved, ResolvedRecipe)
        return resolved.recipe.salt


def reason(result: dg.ExecuteInProcessResult) -> str:
    """The sentence of the first step that failed."""
    failures = [event.step_failure_data.user_failure_data for event in result.all_events if event.is_step_failure]
    assert failures
    assert failures[0] is not None
    return failures[0].description or ""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    project = Project(tmp_path)
    yield project
    project.instance.dispose()


@pytest.fixture
def released(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The project in a data folder in which the small demo was made and released."""
    monkeypatch.setenv("AMEMGYM_HOME", str(demo_home))
    shutil.rmtree(demo_home / "dagster")  # the runs of this project are in an instance of its own
    project = Project(demo_home)
    yield project
    project.instance.dispose()


def test_rows_of_one_recipe_cannot_be_reported_on_or_released_under_another(released: Project) -> None:
    before = released.releases
    assert "releases/demo/0.1.0/manifest.json" in before
    assert released.run("recipe", **OTHER).success
    for assets in (("dataset_card", "release"), ("quality_report", "dataset_card", "release")):
        result = released.run(*assets)
        assert not result.success
        assert reason(result) == (
            "What is there of 'demo' was made with num_questions 3 instead of 4, num_periods 2 instead of 5, "
            "seed 42 instead of 77, as its recipe says now. If another run is making it, run this one again when that is "
            "done; else make all of it again (in Dagster: personas and everything below), or give the recipe its former values."
        )
    status, output = amemgym_here(released.folder, "release", "demo")
    assert (status, "seed 42 instead of 77" in output.strip().splitlines()[-1]) == (1, True)
    assert released.releases == before
    status, output = amemgym_here(released.folder, "quality", "demo")
    assert (status, "Not to be released." in output, "For trying only." in output) == (1, True, False)
    assert "or with --reset as demo.yaml says" in output
    assert released.run("recipe", reset_overrides=True, **DEMO).success
    assert released.run("dataset_card", "release").success
    assert released.releases == before


def test_a_run_that_another_one_overtakes_keeps_its_recipe_and_makes_its_own_rows_to_the_end(project: Project) -> None:
    overtaken: list[bool] = []
    rows = ("recipe", *(stage.name for stage in STAGES))

    def overtake(progress: StageProgress) -> None:
        if progress.stage == "user_profiles" and not overtaken:
            overtaken.append(True)
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: project.run(*rows, **{**SMALL, "seed": 2})).result().success
            assert set(project.seeds().values()) == {2}

    assert project.run(report=overtake, **SMALL).success
    assert overtaken
    assert project.seeds() == {"personas": 2, **dict.fromkeys(("questions", "events", "answers", "episodes"), 1)}
    manifest = read_manifest(project.folder / "releases" / "demo" / "0.1.0")
    value = project.values.find("episodes", "demo")
    assert isinstance(value, Provenance)
    assert manifest.recipe_fingerprint == value.recipe.fingerprint
    latest = project.values.find("recipe", "demo")
    assert isinstance(latest, ResolvedRecipe)
    assert latest.recipe.seed == 2


def test_a_stage_that_is_materialized_alone_goes_by_what_it_is_made_from_and_says_when_the_recipe_is_another(
    released: Project,
) -> None:
    chosen = dg.AssetSelection.assets(["amemgym", "answers"])
    answers = dg.define_asset_job("only_answers", selection=chosen)  # pyright: ignore[reportUnknownMemberType]
    job = dg.Definitions(assets=defs.assets, jobs=[answers], resources=defs.resources).resolve_job_def("only_answers")

    def materialize_answers() -> dg.ExecuteInProcessResult:
        with open_run_context(home()) as run_context:
            resources = {**released.resources, "run_context": run_context}
            return job.execute_in_process(
                instance=released.instance, partition_key="demo", resources=resources, raise_on_error=False
            )

    assert materialize_answers().success
    assert released.run("recipe", seed=77).success
    assert "seed 42 instead of 77" in reason(materialize_answers())
    assert set(released.seeds().values()) == {42}


def test_what_a_release_was_made_from_is_in_its_manifest(released: Project) -> None:
    manifest = read_manifest(released.folder / "releases" / "demo" / "0.1.0")
    value = released.values.find("episodes", "demo")
    assert isinstance(value, Provenance)
    assert manifest.made_from == {"demo": {name: ref.digest for name, ref in value.snapshots["demo"].items()}}
    assert manifest.prompt_fingerprints == {
        name: fingerprint for ref in value.snapshots["demo"].values() for name, fingerprint in sorted(ref.prompts.items())
    }


def test_a_salt_is_drawn_once_and_stays_whatever_is_overridden_or_reset(project: Project) -> None:
    drawn = project.salt("dr-base")
    assert drawn is not None
    assert len(drawn) == 32
    assert project.salt("dr-base", num_tasks=7) == drawn
    assert project.salt("dr-base", reset_overrides=True) == drawn
    assert project.salt("code-base") not in (None, drawn)
    assert project.salt("base") not in (None, drawn), "The embedded model writes the same for everybody."
    assert project.salt("dr-base", salt="of my own") == project.salt("dr-base") == "of my own"
    assert (project.salt("demo"), project.salt("dr-demo")) == ("", "dr-demo")
    assert project.salt("dr-demo", salt="of my own") == "of my own"
    assert project.salt("dr-demo", reset_overrides=True) == "dr-demo", "What the file says comes back."


def test_overrides_stay_until_they_are_overridden_or_reset(project: Project) -> None:
    def overrides() -> dict[str, Any]:
        value = project.values.find("recipe", "demo")
        assert isinstance(value, ResolvedRecipe)
        return value.overrides

    assert project.run("recipe", **SMALL).success
    assert project.run("recipe").success
    assert overrides() == SMALL
    assert project.run("recipe", seed=2, gates={"votes": 3}).success
    assert overrides() == {**SMALL, "seed": 2, "gates.votes": 3}
    assert project.run("recipe", reset_overrides=True, seed=3).success
    assert overrides() == {"seed": 3}


def test_the_command_line_goes_on_from_the_last_overrides_and_says_which_it_replaces(project: Project) -> None:
    assert project.run("recipe", **SMALL).success
    status, output = amemgym_here(project.folder, "plan", "demo", "--set", "seed=2")
    assert status == 0
    assert "This run replaces seed 1 by 2." in output
    assert "Overrides of the last run stay: num_users = 1" in output
    status, output = amemgym_here(project.folder, "recipe", "show", "demo")
    assert (status, "This is the file without later overrides. Overrides of the last run stay: num_users = 1" in output) == (
        0,
        True,
    )
    status, output = amemgym_here(project.folder, "plan", "demo", "--set", "num_periods=0")
    assert status == 1
    assert "Overrides of the last run: " not in output
    assert project.run("recipe", reset_overrides=True, num_changes_per_period=4, num_periods=2).success
    status, output = amemgym_here(project.folder, "plan", "demo", "--set", "num_questions=1")
    assert status == 1
    assert "Overrides of the last run: num_periods, num_changes_per_period; --reset" in output.replace("\n", " ")


@pytest.mark.parametrize("content", ["Recipe\n{}\n", "ResolvedRecipe\n{\nsha256 0\n"], ids=["without a digest", "damaged"])
def test_a_recipe_value_that_cannot_be_read_is_told_and_made_anew(project: Project, content: str) -> None:
    stored = project.folder / "values" / "recipe" / "demo.json"
    stored.parent.mkdir(parents=True)
    stored.write_text(content, encoding="utf-8")
    status, output = amemgym_here(project.folder, "plan", "demo", "--set", "seed=2")
    assert status == 0
    assert "The overrides of the last run cannot be read and count as none" in output
    assert project.run("recipe", **SMALL).success
    assert project.values.find("recipe", "demo") is not None


def test_a_report_of_another_recipe_is_told(released: Project) -> None:
    assert amemgym_here(released.folder, "quality", "demo")[0] == 0
    assert released.run("recipe", seed=3).success
    status, output = amemgym_here(released.folder, "quality", "demo")
    assert status == 1
    assert "This report is of 'demo' with seed 42 instead of 3" in output
