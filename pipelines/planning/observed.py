"""What earlier runs used, user by user, read from the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from assets.recipe.model_policy import Models
from assets.recipe.recipe import Recipe
from pipelines.planning.shape import ALWAYS, Shape, fingerprints
from pipelines.resources.ledger.ledger import RECIPES, TABLE, Ledger
from pipelines.resources.storage.database import Connection


@dataclass(frozen=True)
class Use:
    """What one prompt took for one user; tokens are those of all its calls."""

    calls: float
    input_tokens: float
    output_tokens: float


UserUse = Mapping[str, Use]  # by prompt


@dataclass(frozen=True)
class Runs:
    """Runs of one shape with the same models. `tried` users were worked on per user wanted, at least 1."""

    shape: Shape
    models: tuple[str, str]
    users: Sequence[UserUse]
    tried: float


def model_names(models: Models) -> tuple[str, str]:
    """Who writes and who judges."""
    return models.writer.model, models.judge.model


async def observed_runs(ledger: Ledger) -> list[Runs]:
    """The ledger's finished users by shape and models, under the prompts as they are now.

    Repeated requests count once, so that an interrupted run and the one that finished it are one.
    """
    recipes, found = await ledger.recipes.run(_recipes), list[Runs]()
    uses = await ledger.calls.run(_uses)
    groups: dict[tuple[str, tuple[str, str]], list[str]] = {}
    for key, recipe in recipes.items():
        groups.setdefault((Shape.of(recipe).sha256(), model_names(recipe.models)), []).append(key)
    for (_, models), keys in groups.items():
        seen = {user: use for key in keys for user, use in uses.get(key, {}).items()}
        finished = [use for use in seen.values() if use.keys() >= ALWAYS]
        if finished:
            wanted = max(recipes[key].num_users for key in keys)
            found.append(Runs(Shape.of(recipes[keys[0]]), models, finished, max(1.0, len(seen) / wanted)))
    return found


async def observed_seconds(ledger: Ledger, *, model: str) -> dict[str, float]:
    """Mean seconds of a paid call of the model, by prompt."""

    def read(connection: Connection) -> dict[str, float]:
        query = (
            f"SELECT prompt, AVG(seconds) FROM {TABLE} "
            "WHERE model = ? AND cache_hit = 0 AND outcome <> 'error' AND seconds > 0 GROUP BY prompt"
        )
        return dict(connection.execute(query, (model,)))

    return await ledger.calls.run(read)


def _recipes(connection: Connection) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for key, content in connection.execute(f"SELECT key, value FROM {RECIPES} ORDER BY rowid"):
        try:
            found[key] = Recipe.model_validate_json(content)
        except ValidationError:
            continue  # a recipe of an older version of the project says nothing about this one
    return found


def _uses(connection: Connection) -> dict[str, dict[str, dict[str, Use]]]:
    """Uses by recipe, user and prompt."""
    marks = list(fingerprints().values())
    once = (
        f"SELECT recipe, user_id, prompt, MAX(input_tokens) AS sent, MAX(output_tokens) AS received FROM {TABLE} "
        f"WHERE outcome <> 'error' AND fingerprint IN ({', '.join('?' for _ in marks)}) "
        "GROUP BY recipe, user_id, prompt, request"
    )
    query = (
        f"SELECT recipe, user_id, prompt, COUNT(*), SUM(sent), SUM(received) FROM ({once}) AS c "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    )
    found: dict[str, dict[str, dict[str, Use]]] = {}
    for recipe, user, prompt, calls, sent, received in connection.execute(query, marks):
        found.setdefault(recipe, {}).setdefault(user, {})[prompt] = Use(calls, sent, received)
    return found
