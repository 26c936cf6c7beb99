"""The basis of a forecast: earlier runs in the ledger that are like it, user by user, else the shipped defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic import ValidationError

from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.model_policy import Models
from assets.reporting.plurals import counted
from pipelines.planning.defaults import CallTime, Defaults, ErrorMargin, load_defaults
from pipelines.planning.prompt_calls import ALWAYS_CALLED, NOTHING_USED, PromptUsage, RecipeSize, UserUsage, fingerprints
from pipelines.resources.ledger.ledger import RECIPES, TABLE, Ledger
from pipelines.resources.storage.database import Connection

FEW_USERS = 5  # below which the spread between users is not known
NO_MARGIN = ErrorMargin(low=1.0, high=1.0)


@dataclass(frozen=True)
class Basis:
    """The basis of a forecast: users of earlier runs, or one average user, and how far that may be from the truth.

    `tried` users are worked on per user wanted; `seconds` are measured times of a call by prompt. `measured`: the prompts whose
    calls and tokens are those of the models that will be asked.
    """

    source: str
    users: Sequence[UserUsage]
    tried: float
    margin: ErrorMargin
    call_time: CallTime
    seconds: Mapping[str, float]
    measured: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ObservedRuns:
    """Runs of one size with the same models. `tried` users were worked on per user wanted, at least 1."""

    size: RecipeSize
    models: tuple[str, str]
    users: Sequence[UserUsage]
    tried: float

    def mean_user(self) -> UserUsage:
        """Return what a user took on average."""
        sums: dict[str, PromptUsage] = {}
        for user in self.users:
            for prompt, use in user.items():
                sums[prompt] = sums.get(prompt, NOTHING_USED) + use
        count = len(self.users)
        return {
            prompt: PromptUsage(
                use.calls / count, use.input_tokens / count, use.output_tokens / count, use.cached_tokens / count
            )
            for prompt, use in sums.items()
        }


def model_names(models: Models) -> tuple[str, str]:
    """Return the names of the models that write and judge."""
    return models.writer.model, models.judge.model


async def observed_runs(ledger: Ledger) -> list[ObservedRuns]:
    """Return the ledger's finished users by size and models, under the prompts as they are now.

    Repeated requests count once, so that an interrupted run and the one that finished it are one.
    """
    recipes = await ledger.recipes.run(_recipes)
    uses = await ledger.calls.run(lambda connection: _uses(connection, rows=ledger.sound_rows(connection)))
    groups: dict[tuple[str, tuple[str, str]], list[str]] = {}
    for key, recipe in recipes.items():
        groups.setdefault((RecipeSize.of(recipe).sha256(), model_names(recipe.models)), []).append(key)
    found: list[ObservedRuns] = []
    for (_, models), keys in groups.items():
        seen: dict[str, dict[str, PromptUsage]] = {}
        for key in keys:
            seen.update(uses.get(key, {}))
        finished = [use for use in seen.values() if use.keys() >= ALWAYS_CALLED]
        if finished:
            # Of runs of the same items under several counts of users, the ledger has the first recipe alone.
            wanted = max(len(finished), *(recipes[key].num_users for key in keys))
            found.append(ObservedRuns(RecipeSize.of(recipes[keys[0]]), models, finished, max(1.0, len(seen) / wanted)))
    return found


async def observed_seconds(ledger: Ledger, *, model: str) -> dict[str, float]:
    """Return the mean seconds of a paid call of the model, by prompt."""

    def read(connection: Connection) -> dict[str, float]:
        query = (
            f"SELECT prompt, AVG(seconds) FROM {TABLE} "
            f"WHERE model = ? AND cache_hit = 0 AND outcome <> 'error' AND seconds > 0 AND {ledger.sound_rows(connection)} "
            "GROUP BY prompt"
        )
        return dict(connection.execute(query, (model,)))

    return await ledger.calls.run(read)


def _recipes(connection: Connection) -> dict[str, AMemGymRecipe]:
    found: dict[str, AMemGymRecipe] = {}
    for key, content in connection.execute(f"SELECT key, value FROM {RECIPES} ORDER BY rowid"):
        try:
            found[key] = AMemGymRecipe.model_validate_json(content)
        except ValidationError:
            continue  # a recipe of an older version of the project says nothing about this one
    return found


def _uses(connection: Connection, *, rows: str) -> dict[str, dict[str, dict[str, PromptUsage]]]:
    """Return uses by recipe, user and prompt; `rows`: the SQL condition of the ledger's rows that count."""
    current = list(fingerprints().values())
    marks = ", ".join("?" * len(current))
    once = (
        "SELECT recipe, user_id, prompt, MAX(input_tokens) AS sent, MAX(output_tokens) AS received, "
        f"MAX(cached_input_tokens) AS cached FROM {TABLE} "
        f"WHERE outcome <> 'error' AND fingerprint IN ({marks}) AND {rows} "
        "GROUP BY recipe, user_id, prompt, request"
    )
    query = (
        f"SELECT recipe, user_id, prompt, COUNT(*), SUM(sent), SUM(received), SUM(cached) FROM ({once}) AS c "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    found: dict[str, dict[str, dict[str, PromptUsage]]] = {}
    for recipe, user, prompt, *used in connection.execute(query, current):
        found.setdefault(recipe, {}).setdefault(user, {})[prompt] = PromptUsage(*used)
    return found


async def basis_for(recipe: AMemGymRecipe, ledger: Ledger | None) -> Basis:
    """Return the best that is known of what a user takes.

    That is earlier runs of the same prompts and counts with the same models; the defaults, corrected by their runs of other
    counts; runs of the same counts with other models; else the defaults. The first is taken as it is when it has at least five
    users, and as many decoys for each; all else is widened by the defaults' margin.
    """
    defaults = load_defaults()
    size = RecipeSize.of(recipe)
    models = model_names(recipe.models)
    observed: list[ObservedRuns] = []
    seconds: dict[str, float] = {}
    if ledger is not None:
        observed = await observed_runs(ledger)
        seconds = await observed_seconds(ledger, model=models[0])
    alike = [runs for runs in observed if runs.size.without_decoys == size.without_decoys]
    own = [runs for runs in observed if runs.models == models and runs.size.language == size.language]
    own_alike = [runs for runs in alike if runs.models == models]
    if own_alike or (alike and not own):
        runs = max(own_alike or alike, key=lambda each: (each.size == size, len(each.users)))
        return _of_runs(runs, defaults, seconds=seconds, same_models=bool(own_alike), same_size=runs.size == size)
    name, measured = defaults.nearest(size)
    source = f"the shipped defaults, measured on {counted(measured.users, 'user')} of {name} with the embedded model"
    if not own:
        return Basis(source, [defaults.user(size)], measured.tried, defaults.margin, defaults.call_time, seconds)
    runs = max(own, key=lambda each: len(each.users))
    source += f", corrected by {counted(len(runs.users), 'user')} of other counts with the same models"
    corrected, corrected_prompts = _corrected(defaults, size, runs)
    return Basis(source, [corrected], runs.tried, defaults.margin, defaults.call_time, seconds, corrected_prompts)


def _corrected(defaults: Defaults, size: RecipeSize, runs: ObservedRuns) -> tuple[UserUsage, frozenset[str]]:
    """Return the defaults' user of this size, times what the runs took over what the defaults say of theirs."""
    expected = defaults.user(runs.size)
    taken = runs.mean_user()
    usage = dict(defaults.user(size))
    # Variants were not measured on the same prompts: rare ones, as of refinements, are asked in some alone.
    known = usage.keys() & taken.keys() & expected.keys()
    corrected = {prompt for prompt in known if expected[prompt].calls}
    for prompt in corrected:
        usage[prompt] = usage[prompt].times(taken[prompt], over=expected[prompt])
    return usage, frozenset(corrected)


def _of_runs(runs: ObservedRuns, defaults: Defaults, *, seconds: dict[str, float], same_models: bool, same_size: bool) -> Basis:
    count = len(runs.users)
    source = f"{counted(count, 'user')} of earlier runs with the same prompts and counts"
    if not same_models:
        source += f", but by {' and '.join(dict.fromkeys(runs.models))}"
    trusted = same_models and same_size and count >= FEW_USERS
    margin = NO_MARGIN if trusted else defaults.margin
    measured = frozenset(chain.from_iterable(runs.users)) if same_models else frozenset[str]()
    return Basis(source, runs.users, runs.tried, margin, defaults.call_time, seconds, measured)
