"""Users that nobody has seen: made by a release's recipe and its models, with a secret salt and other persons.

They lie in `fresh/` of the data folder, in a data folder of their own that only its owner can read, with the runs on them.
Nothing of them is printed. What they cost stands in the ledger of the data folder itself.
"""

import asyncio
import os
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import yaml
from filelock import AsyncFileLock

from assets.llm.usage import Usage
from assets.recipe.loading import build_recipe
from assets.recipe.recipe import Budget, Recipe
from assets.records.estimate import FEWEST_USERS
from assets.reporting.plurals import counted
from assets.whole_files import whole_file
from dataset_card.errors import HubError
from dataset_card.release.manifest import MANIFEST, Manifest, ManifestError, ReleaseError, read_manifest
from dataset_card.release.versions import released_versions
from pipelines.benchmarks import benchmark_of
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.errors import EvaluationError, StoreError
from pipelines.evaluation.sources import open_tasks, release_recipe
from pipelines.home import Home
from pipelines.opening.models import OpenModels
from pipelines.opening.releases import whole_release
from pipelines.planning.forecast import Terms, forecast_variant
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.llm.settings import NO_ENDPOINT, VARIABLES
from pipelines.resources.storage.database import VARIABLE as DATABASE
from pipelines.resources.storage.open_stores import open_release_store
from prompts.catalogue import load_prompt, prompt_names

FOLDER = "fresh"
SALT_BYTES = 16
# Of the environment that a command would take for its data folder; the fresh users have one of their own.
OF_HOME = ("AMEMGYM_HOME", "AMEMGYM_STORE", "AMEMGYM_RECIPES", "DAGSTER_HOME", DATABASE)
# A person's id, which no message of the command that makes them may bring to a terminal.
ID = re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b")


@dataclass(frozen=True)
class FreshUsers:
    """The fresh users of one release. `known`: ids of the users that the release has; `root`: their own data folder."""

    manifest: Manifest
    recipe: Recipe
    known: tuple[str, ...]
    root: Path

    @property
    def name(self) -> str:
        """The release, for a reader."""
        return f"{self.manifest.variant} {self.manifest.version}"

    @property
    def noun(self) -> str:
        return benchmark_of(self.recipe).noun

    @property
    def variant(self) -> str:
        """The name under which they are made, and their calls are counted."""
        return f"{self.manifest.variant[:90]}-{FOLDER}"

    @property
    def is_embedded(self) -> bool:
        """True where the embedded model wrote the release."""
        return all(model.startswith(MODEL_FAMILY) for model in self.manifest.models.values())

    async def check_models(self, models: OpenModels) -> None:
        """Raise EvaluationError unless the same prompts and the same models can write: others would measure writers."""
        for problem in (*self._other_prompts(), *await self._other_models(models)):
            raise EvaluationError(
                f"No fresh {self.noun}s of {self.name} can be made: {problem}. The difference would measure who wrote them."
            )

    def _other_prompts(self) -> Iterator[str]:
        here = set(prompt_names())
        for name, fingerprint in self.manifest.prompt_fingerprints.items():
            if name not in here or load_prompt(name).fingerprint != fingerprint:
                yield f"{self.manifest.generator} made it with another prompt {name} than this version has"

    async def _other_models(self, models: OpenModels) -> list[str]:
        wrote = list(dict.fromkeys(self.manifest.models.values()))
        if self.is_embedded:
            return [f"{name} wrote it, and this version has {model_name()}" for name in wrote if name != model_name()]
        if models.embedded:
            return [f"{' and '.join(wrote)} wrote it, and there is no endpoint; {NO_ENDPOINT}"]
        return [f"{name} wrote it, which {models.place.address} does not list" for name in await models.place.lacks(wrote)]

    def ready(self, count: int) -> Path | None:
        """Return the release of at least so many of them; None where they are still to be made."""
        folder = self.root / "releases" / self.variant
        for version in reversed(released_versions(folder)):
            release = folder / version
            if (release / MANIFEST).is_file() and read_manifest(release).counts[f"{self.noun}s"] >= count:
                return release
        return None

    async def make(self, count: int, *, home: Home, budget: Budget, offline: bool) -> Path:
        """Return the release of at least so many, after those that lack were made. Raises EvaluationError.

        What was finished before a kill or a failure stays.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        self.root.parent.chmod(0o700)
        async with AsyncFileLock(self.root / "making.lock", fallback_to_soft=False):
            found = self.ready(count)
            if found is None:
                self._write_recipe(count, budget)
                try:
                    await self._generate(offline=offline)
                finally:
                    await self.book(home)
                found = self.ready(count)
        if found is None:
            raise EvaluationError(f"Fewer than {counted(count, f'fresh {self.noun}')} could be made; see {self.root}.")
        return found

    @property
    def _recipe_file(self) -> Path:
        return self.root / "recipes" / f"{self.variant}.yaml"

    def recipe_of(self, count: int, *, salt: str, budget: Budget) -> dict[str, object]:
        """Return the fields of the recipe that makes so many: the release's, but for salt, persons and number.

        Raises EvaluationError where the release has no users of this kind.
        """
        own = self.recipe.fresh_fields(count, without=self.known)
        if not own:
            raise EvaluationError(f"--fresh is for releases of users, such as AMemGym's; {self.name} has {self.noun}s.")
        left_out = {"variant", "salt", "again", "derived_from", "users_per_shard", "budget"}
        fields = self.recipe.model_dump(mode="json", exclude={*left_out}, exclude_defaults=True)
        # It is filled in anew when the pool is read.
        fields.get("pool", {}).pop("content", None)
        limits = budget.model_dump(mode="json", exclude_none=True)
        return {**fields, "benchmark": self.recipe.benchmark, "salt": salt, "budget": limits, **own}

    def _write_recipe(self, count: int, budget: Budget) -> None:
        """Write it, with the salt of earlier users and no fewer of them."""
        salt = secrets.token_hex(SALT_BYTES)
        if self._recipe_file.exists():
            before = yaml.safe_load(self._recipe_file.read_text(encoding="utf-8"))
            salt = before["salt"]
            count = max(count, build_recipe({**before, "variant": self.variant}).num_items)
        self._recipe_file.parent.mkdir(exist_ok=True)
        with whole_file(self._recipe_file) as draft:
            draft.write_text(yaml.safe_dump(self.recipe_of(count, salt=salt, budget=budget)), encoding="utf-8")

    async def _generate(self, *, offline: bool) -> None:
        """Make them as `amemgym generate` does, in a process with their own data folder."""
        words = ["generate", self.variant, "--reset", "--quiet", *(["--offline"] if offline else [])]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "pipelines", *words),
            env=self._environment(os.environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            _, told = await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        if process.returncode:
            last = (told.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            raise EvaluationError(f"The fresh {self.noun}s were not made: {ID.sub('...', last.removeprefix('amemgym: '))}")

    def _environment(self, present: Mapping[str, str]) -> dict[str, str]:
        left_out = {*OF_HOME}
        if self.is_embedded:
            for group in VARIABLES:
                left_out.update(group)
        kept = {name: value for name, value in present.items() if name not in left_out}
        # Where the folders lie that this process has imported.
        path = os.pathsep.join(filter(None, (str(Path(__file__).parents[2]), kept.get("PYTHONPATH"))))
        own = {"AMEMGYM_HOME": str(self.root), "AMEMGYM_RECIPES": str(self._recipe_file.parent)}
        return {**kept, **own, "PYTHONPATH": path}

    async def book(self, home: Home) -> None:
        """Copy what they cost into the ledger of the data folder, without whose calls they were."""
        own = ledger_file(Home(self.root))
        if own.exists():
            with closing(Ledger(own, shared=False, reading=True)) as theirs, closing(Ledger(ledger_file(home))) as ours:
                await ours.add_rows_of(theirs)

    def plan(self, count: int, *, terms: Terms) -> str:
        """Return what it takes to make them, and whether they can show anything; it asks no model."""
        few = f" Fewer than {FEWEST_USERS} {self.noun}s on a side will not show whether the memory knows the release."
        shown = few if min(count, len(self.known)) < FEWEST_USERS else ""
        if self.ready(count):
            return f"The {counted(count, f'fresh {self.noun}')} of {self.name} are here.{shown}"
        fields = self.recipe_of(count, salt="", budget=Budget())
        recipe = build_recipe({**fields, "variant": self.variant})
        whole = forecast_variant(benchmark_of(recipe), recipe, None, terms).whole
        price = "at an unknown price" if whole.cost_usd is None else f"${whole.cost_usd.mid:,.2f}"
        tokens = Usage(input_tokens=round(whole.input_tokens.mid), output_tokens=round(whole.output_tokens.mid))
        return (
            f"To make {counted(count, f'fresh {self.noun}')} of {self.name} takes about {whole.calls.mid:,.0f} model calls, "
            f"{tokens.input_tokens:,} input and {tokens.output_tokens:,} output tokens, {price}, less what was made before."
            f"{shown}"
        )


def fresh_users_of(source: str, *, home: Home) -> FreshUsers:
    """Return the fresh users of this release, made or not. Raises EvaluationError for what is no release."""
    store = open_release_store(home)
    try:
        folder = whole_release(source, release_store=store)
        manifest = read_manifest(folder)
    except (HubError, ManifestError, ReleaseError, StoreError) as error:
        raise EvaluationError(f"--fresh makes users by a release's recipe. {error}") from error
    known = open_tasks(str(folder), release_store=store).info.users
    name = f"{manifest.variant}-{manifest.version}-{manifest.digest[:8]}"
    found = FreshUsers(manifest, release_recipe(folder, Recipe), known, home.root / FOLDER / name)
    found.recipe_of(1, salt="", budget=Budget())
    return found
