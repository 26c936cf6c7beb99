"""Releases as benchmarks of questions read them: the rows of their table, and what a run has to know of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from assets.recipe.recipe import Recipe
from assets.records.base import Record
from dataset_card.card.paths import nested_path
from dataset_card.release.manifest import read_manifest
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_table
from pipelines.evaluation.run import DatasetInfo
from pipelines.evaluation.sources import release_recipe

R = TypeVar("R", bound=Record)


def release_info(folder: Path, *, noun: str, users: Iterable[str], ask: str, tokens: int) -> DatasetInfo:
    """Return what a run has to know of a verified release. `ask`: the prompt that its questions are asked with."""
    manifest = read_manifest(folder)
    recipe = release_recipe(folder, Recipe)
    return DatasetInfo(
        benchmark=recipe.benchmark,
        name=f"{manifest.variant} {manifest.version}",
        digest=manifest.digest,
        language=recipe.language_name,
        noun=noun,
        users=tuple(users),
        prompts=("evaluation/remember", "evaluation/ask_again", "memories/", ask),
        tokens=tokens,
    )


def read_release_rows(folder: Path, record: type[R]) -> list[R]:
    """Return the rows of a verified release, one at least. Raises EvaluationError as `read_table_rows` does."""
    return read_table_rows(folder / nested_path(read_manifest(folder).variant), record)


def read_table_rows(path: Path, record: type[R]) -> list[R]:
    """Return the rows of a table, one at least. Raises EvaluationError for a table that holds other things."""
    try:
        rows = read_table(path, kind=record)
    except (OSError, KeyError, ValueError) as error:
        said = error.args[0] if isinstance(error, KeyError) else error  # as text it would have quotes around it
        reason = str(said).splitlines()[0].rstrip(".")
        raise EvaluationError(
            f"{path} cannot be read as rows of {record.__name__}: {reason}. Another version of this program may have made it; "
            "generate it again."
        ) from error
    if not rows:
        raise EvaluationError(f"{path} holds no row; there is nothing to evaluate on.")
    return rows
