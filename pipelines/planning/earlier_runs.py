"""What finished items of earlier runs took, from the ledger."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from pipelines.errors import Problem
from pipelines.planning.usage import ItemUsage, Line, PromptUsage, calls_by_line, expected_usage, tokens_of
from pipelines.resources.ledger.ledger import NO_REPLY, RECIPES, TABLE, Ledger
from pipelines.resources.storage.database import Connection
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class EarlierRun:
    """The finished items of one recipe, and what was expected of one.

    `tried`: as many items as were worked on, per item wanted, at least 1. One that was lost, or a spare, is that part of one
    that its tokens are.
    """

    expected: ItemUsage
    items: Sequence[ItemUsage]
    tried: float


async def earlier_runs(ledger: Ledger, benchmark: Benchmark, *, like: Recipe) -> list[EarlierRun]:
    """Return the ledger's finished items by recipe, with the models and the language of one, under the prompts as they are now.

    Repeated requests count once, so that an interrupted run and the one that finished it are one; what several items ask is
    shared among them.
    """
    recipes = await ledger.recipes.run(lambda connection: _recipes(connection, like=like))
    usage = await ledger.calls.run(lambda connection: _usage(connection, benchmark, rows=ledger.sound_rows(connection)))
    found: list[EarlierRun] = []
    for key, recipe in recipes.items():
        with suppress(Problem):  # of a recipe whose stages cannot say how often they ask
            expected = expected_usage(benchmark, recipe)
            always = {line for line, calls in calls_by_line(benchmark).items() if calls.always and line in expected}
            seen = usage.get(key, {})
            finished = [item for item in seen.values() if item.keys() >= always]
            if finished:
                wanted = max(len(finished), recipe.num_items)
                tried = sum(map(tokens_of, seen.values())) / (sum(map(tokens_of, finished)) / len(finished))
                found.append(EarlierRun(expected, finished, max(1.0, tried / wanted)))
    return found


def _recipes(connection: Connection, *, like: Recipe) -> dict[str, Recipe]:
    found: dict[str, Recipe] = {}
    for key, content in connection.execute(f"SELECT key, value FROM {RECIPES} ORDER BY rowid"):
        try:
            recipe = type(like).model_validate_json(content)
        except ValidationError:
            continue  # another benchmark's, or one of an older version of the project
        if (recipe.asked_models, recipe.language) == (like.asked_models, like.language):
            found[key] = recipe
    return found


def _usage(connection: Connection, benchmark: Benchmark, *, rows: str) -> dict[str, dict[str, dict[Line, PromptUsage]]]:
    """Return usage by recipe, item and line; `rows`: the SQL condition of the ledger's rows that count."""
    lines = calls_by_line(benchmark)
    by_prompt: dict[str, Line] = {}
    for line in lines:
        by_prompt.setdefault(line[1], line)
    current = [load_prompt(prompt).fingerprint for prompt in by_prompt]
    once = (
        "SELECT recipe, user_id, stage, prompt, MAX(input_tokens) AS sent, MAX(output_tokens) AS received, "
        "MAX(cached_input_tokens) AS cached, MAX(seconds) AS seconds, "
        f"1.0 / COUNT(*) OVER (PARTITION BY recipe, request) AS share FROM {TABLE} "
        f"WHERE outcome NOT IN {NO_REPLY} AND fingerprint IN ({', '.join('?' * len(current))}) AND {rows} "
        "GROUP BY recipe, user_id, stage, prompt, request"
    )
    query = (
        "SELECT recipe, user_id, stage, prompt, SUM(share), SUM(share * sent), SUM(share * received), SUM(share * cached), "
        f"SUM(share * seconds) FROM ({once}) AS c GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
    )
    found: dict[str, dict[str, dict[Line, PromptUsage]]] = {}
    for recipe, item, stage, prompt, *used in connection.execute(query, current):
        usage = found.setdefault(recipe, {}).setdefault(item, {})
        # A prompt that a stage shares with an earlier one may count there.
        line = (stage, prompt) if (stage, prompt) in lines else by_prompt[prompt]
        usage[line] = usage.get(line, PromptUsage()) + PromptUsage(*map(float, used))
    return found
