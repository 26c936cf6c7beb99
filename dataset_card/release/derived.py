"""Hold the files of a release against its finished items: somebody may have changed a row, and signed the manifest anew."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assets.recipe.loading import build_recipe
from assets.recipe.recipe import RecipeError
from assets.records.columnar import columns_of, from_row, rows_as_dicts
from assets.records.flat_tables import FlatRow
from assets.records.problems import first_problem
from dataset_card.card.paths import nested_path, table_path
from dataset_card.release.content import ReleaseFormat, count_problems
from dataset_card.release.loadable import configuration_problems
from dataset_card.release.manifest import RECIPE, ManifestError, read_manifest, read_recipe_fields
from dataset_card.release.verify import file_rows, verify_release


def examine_contents(folder: Path, *, format_of: Callable[[Path], ReleaseFormat]) -> list[str]:
    """Return the problems that `examine_release` finds; where there are none, a sentence for each file that belies the others.

    `format_of` raises ManifestError for a benchmark that nobody here knows, which is a problem too.
    """
    problems = examine_release(folder)
    if problems:
        return problems
    try:
        return list(contradictions(folder, form=format_of(folder)))
    except ManifestError as error:
        return [str(error)]


def examine_release(folder: Path) -> list[str]:
    """Return what `verify_release` finds with every digest, and a sentence for each configuration that does not load."""
    problems = verify_release(folder, every_digest=True)
    # A release that is not whole cannot be loaded for that reason, which needs no second sentence.
    return problems or list(configuration_problems(folder, manifest=read_manifest(folder)))


class ComparedFile:
    """A file's rows, beside those that the items give, one after another. `problem`: a sentence on the first that differs."""

    def __init__(self, folder: Path, path: str) -> None:
        self.path = path
        self.problem = ""
        self._rows = file_rows(folder / path)
        self._number = 0

    def compare(self, wanted: Mapping[str, Any], *, key: Sequence[str], source: str) -> None:
        """Compare the next row with the one that is wanted, whose `key` columns name it. `source`: what says so."""
        if self.problem:
            return
        self._number += 1
        found: dict[str, Any] = next(self._rows, dict[str, Any]())
        if found != wanted:
            named = ", ".join(f"{column} {wanted[column]!r}" for column in key)
            differing = [column for column in {**wanted, **found} if found.get(column) != wanted.get(column)]
            self.problem = f"{self.path}: row {self._number} ({named}) is not as {source} has it, in {', '.join(differing)}."

    def end(self, *, source: str) -> None:
        """Say so where there are rows left."""
        if not self.problem and next(self._rows, None) is not None:
            self.problem = f"{self.path}: row {self._number + 1} and what follows it are not in {source}."


def contradictions(folder: Path, *, form: ReleaseFormat) -> Iterator[str]:
    """Yield a sentence for each file of a readable release that says something else than the items, with its first such row.

    Raises ManifestError for a recipe that cannot be read.
    """
    manifest = read_manifest(folder)
    try:
        recipe = build_recipe(read_recipe_fields(folder))
    except RecipeError as error:
        yield f"{RECIPE}: {error}"
        return
    for problem in count_problems(form, recipe, manifest.counts):
        yield f"{RECIPE}: {problem}."
    nested = nested_path(manifest.variant)
    record = form.benchmark.final.record
    tables = {name: table for name, table in form.benchmark.tables.items() if issubclass(table.row, FlatRow)}
    files = {name: ComparedFile(folder, table_path(manifest.variant, name)) for name in tables}
    readable: list[ComparedFile] = []  # data.json, which an evaluation reads
    if form.as_json is not None:
        readable = [ComparedFile(folder, file.path) for file in manifest.files if file.rows and file.path.endswith(".json")]
    for number, row in enumerate(file_rows(folder / nested), start=1):
        try:
            item: Any = from_row(row, record_type=record)
            for file in readable:
                assert form.as_json is not None
                file.compare(form.as_json(item), key=("id",), source=nested)
        except ValueError as error:
            said = ": ".join(first_problem(error)) if isinstance(error, ValidationError) else error
            yield f"{nested}: row {number} is no {form.benchmark.noun} that can be released: {said}"
            return
        for name, made in form.benchmark.rows(item).items():
            kind = tables[name].row
            for wanted in rows_as_dicts(columns_of(made, record_type=kind), record_type=kind):
                files[name].compare(wanted, key=tables[name].key, source=nested)
    for file in (*readable, *files.values()):
        file.end(source=nested)
        if file.problem:
            yield file.problem
