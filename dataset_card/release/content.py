"""The content of a release, and its files but for the manifest, written in one pass over the finished items.

Nothing here knows a benchmark. What only one of them has, such as `data.json` or the sections of its card, comes from the
`ReleaseExtras` of its `ReleaseFormat`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, GateRecord, ItemRecord
from assets.records.common_tables import failure_row
from assets.records.report import BenchmarkReport
from dataset_card.card.basic import basic_card
from dataset_card.card.benchmark_file import BENCHMARK_FILE, benchmark_file
from dataset_card.card.header import LICENSE_ID, LICENSE_TEXT, split_card
from dataset_card.card.paths import expectations_path, nested_path, table_path
from dataset_card.card.recipe import canary_of, models_by_role, shared_recipe
from dataset_card.release.digests import bytes_digest
from dataset_card.release.manifest import CARD, LICENSE, RECIPE, ManifestBody, ManifestFile, ManifestUsage, ReleaseError
from dataset_card.release.rows import gate_record_columns
from dataset_card.release.writers import ITEMS_AT_ONCE, ITEMS_PER_GROUP, ParquetFileWriter, write_file
from validation.expectations.validate import TableExpectations

TEXT_DIGITS = 12  # of the digest of a text: enough that no two of a repository's texts share one by chance
GATE_RECORDS = "gate_records"
FAILURES = "failures"


@dataclass(frozen=True)
class ReleaseContent:
    """Everything that a release is made from. All of it decides the bytes, so all of it has to be reproducible.

    `items` are the finished ones, read once and in order, and then `gate_records`, pairs of item id and votes; of those only
    the released items count, and those of other items are in `failures` themselves. `prompts` maps a template's
    name to its fingerprint, `made_from` work unit and stage to the digest of its snapshot; `generator` is name and version
    of the program; `usage` None: it was not recorded.
    What changed since the version before is not in here: `folder.py` puts that section into the card, once it knows.
    """

    form: "ReleaseFormat"
    recipe: Recipe
    items: Iterable[ItemRecord]
    generator: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    gate_records: Iterable[tuple[str, Sequence[GateRecord]]] = ()
    failures: Sequence[Failure] = ()
    usage: ManifestUsage | None = None
    made_from: dict[str, dict[str, str]] | None = None
    report: BenchmarkReport | None = None


class ReleaseExtras:
    """The files that a release holds beside items, flat tables, recipe and license: here a plain card, in subclasses more.

    One is made for each release that is written. `folder` is where its files go, `home` the folder of the variant's
    versions; files that are kept open belong into `stack`.
    """

    def __init__(self, content: ReleaseContent, *, folder: Path, home: Path, stack: ExitStack) -> None:
        self.content = content
        self.folder = folder
        self.home = home
        self.stack = stack
        self.items = 0

    def correct_items(self, items: Iterable[Any]) -> Iterable[Any]:
        """Return the items as they are released. Raises ReleaseError for corrections that cannot be used."""
        return items

    def add(self, item: Any) -> None:
        """Count one released item; called once for each, in order."""
        self.items += 1

    def data_files(self) -> list[ManifestFile]:
        """End and describe files with rows beside Parquet."""
        return []

    def counts(self, rows: Mapping[str, int]) -> dict[str, int]:
        """Return the manifest's counts; `rows` are those of each flat table."""
        return {f"{self.content.form.benchmark.noun}s": self.items, **rows}

    def documents(self, files: Sequence[ManifestFile], *, rows: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Yield paths and bytes of the files without rows, the card among them; `files` are those with rows."""
        content = self.content
        text = basic_card(content.form.benchmark, content.recipe, items=self.items, tables=rows, prompts=content.prompts)
        yield CARD, text.encode()


def no_authors(_: Any) -> str:
    """Return the authors of what a benchmark invents."""
    return ""


def no_counts(_: Any) -> Mapping[str, int]:
    """Return the counts of a benchmark whose recipes say nothing of what an item has."""
    return {}


@dataclass(frozen=True)
class ReleaseFormat:
    """A benchmark as its releases show it.

    `about`: what its items are, for the card; `attribution` returns the authors of what they are made of, by recipe.
    `reported`: its quality report goes into the release. `expectations`: what a project of Great Expectations in the release
    checks beside what follows from the classes of the tables' rows. `as_json`: an item as its JSON file has it, where there is
    one. `counts_per_item`: what a recipe says every item has, as in the manifest's counts. `canary_in_files`: its Parquet
    files have the canary in their metadata. The descriptions are those of the assets in the Dagster UI.
    """

    benchmark: Benchmark
    extras: type[ReleaseExtras] = ReleaseExtras
    about: str = ""
    attribution: Callable[[Any], str] = no_authors
    reported: bool = False
    expectations: TableExpectations = field(default_factory=TableExpectations)
    as_json: Callable[[Any], Mapping[str, Any]] | None = None
    counts_per_item: Callable[[Any], Mapping[str, int]] = no_counts
    canary_in_files: bool = True
    counted_by: Mapping[str, str] = field(default_factory=dict[str, str])
    card_description: str = "The README of the release: what it holds and how it was made, under the header that the Hub reads."
    release_description: str = (
        "An immutable, versioned folder with nested Parquet, flat tables, recipe, card and a manifest of digests. The same "
        "recipe and replies give the same bytes."
    )

    @property
    def item_table(self) -> str:
        """The flat table with a row for each item. Raises LookupError for a benchmark without one."""
        for name, table in self.benchmark.tables.items():
            if table.scored and len(table.key) == 1:
                return name
        raise LookupError(f"{self.benchmark.name} has no table with a row for each {self.benchmark.noun}.")


def count_problems(form: ReleaseFormat, recipe: Recipe, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each count of rows that is not what the recipe says."""
    noun = form.benchmark.noun
    items = counts.get(f"{noun}s", 0)
    if items > recipe.num_items:
        yield f"the recipe is of {recipe.num_items} {noun}s, and the rows are of {items}"
    for name, each in form.counts_per_item(recipe).items():
        if name in counts and counts[name] != each * items:
            yield f"the recipe says {each} {name} for each {noun}, and {items} {noun}s have {counts[name]} in all"


def write_contents(content: ReleaseContent, *, folder: Path, home: Path) -> ManifestBody:
    """Write the files into `folder`. Raises ReleaseError for a set without items or with one twice."""
    recipe = content.recipe
    form = content.form
    with ExitStack() as stack:
        extras = form.extras(content, folder=folder, home=home, stack=stack)
        # A table that is copied out of its release takes the canary along.
        metadata = {"canary": canary_of(recipe.fingerprint)} if form.canary_in_files else None
        tables: dict[str, ParquetFileWriter] = {}
        for name, table in form.benchmark.tables.items():
            path = folder / table_path(recipe.variant, name)
            tables[name] = stack.enter_context(ParquetFileWriter(path, table.row, metadata=metadata))
        nested = ParquetFileWriter(
            folder / nested_path(recipe.variant),
            form.benchmark.final.record,
            rows_per_group=ITEMS_PER_GROUP,
            rows_at_once=ITEMS_AT_ONCE,
            metadata=metadata,
        )
        own_texts = _write_rows(content, extras, nested=stack.enter_context(nested), tables=tables)
        files = [nested.close(root=folder), *extras.data_files()]
        rows: dict[str, int] = {}
        for name, writer in tables.items():
            file = writer.close(root=folder)
            files.append(file)
            rows[name] = file.rows or 0
    for path, data in _documents(content, extras, tuple(files), rows=rows):
        files.append(write_file(folder / path, data, root=folder))
    counts = extras.counts(rows)
    for problem in count_problems(form, recipe, counts):
        raise ReleaseError(f"The rows of {recipe.variant!r} are not those of its recipe: {problem}; generate it again.")
    return ManifestBody(
        variant=recipe.variant,
        generator=content.generator,
        license=LICENSE_ID,
        recipe_fingerprint=recipe.fingerprint,
        prompt_fingerprints=dict(sorted(content.prompts.items())),
        models=models_by_role(shared_recipe(recipe)),
        pool_digest=recipe.source_digest,
        usage=content.usage,
        made_from=content.made_from,
        counts=counts,
        files=tuple(sorted(files, key=lambda file: file.path)),
        counted_by=dict(form.counted_by) or None,
        own_texts=own_texts,
        derived_from=recipe.derived_from,
    )


def _documents(
    content: ReleaseContent, extras: ReleaseExtras, data_files: Sequence[ManifestFile], *, rows: Mapping[str, int]
) -> Iterator[tuple[str, bytes]]:
    """Yield what stands beside the files of data, the card among it."""
    documents = dict(extras.documents(data_files, rows=rows))
    yield from documents.items()
    yield from _expectations(content, items=extras.items)
    recipe = shared_recipe(content.recipe).model_dump(mode="json")
    yield RECIPE, yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True).encode()
    yield LICENSE, LICENSE_TEXT.encode()
    title = str(split_card(documents[CARD].decode(), source=CARD)[0]["pretty_name"])
    yield BENCHMARK_FILE, benchmark_file(title, [content.recipe.variant]).encode()


def _expectations(content: ReleaseContent, *, items: int) -> Iterator[tuple[str, bytes]]:
    """A project of Great Expectations whose checkpoint checks the flat tables, wherever the release is."""
    form = content.form
    variant = content.recipe.variant
    if form.benchmark.tables:
        folder = str(PurePosixPath(table_path(variant, "any")).parent)
        files = form.expectations.release_project(form.benchmark, content.recipe, items=items, tables=folder)
        for path, data in files.items():
            yield f"{expectations_path(variant)}/{path}", data


def _write_rows(
    content: ReleaseContent, extras: ReleaseExtras, *, nested: ParquetFileWriter, tables: Mapping[str, ParquetFileWriter]
) -> tuple[tuple[str, ...], ...]:
    """Fill all files in one pass over the items, so that none of them has to stay in memory.

    Return digests of each item's own texts, in order.
    """
    benchmark = content.form.benchmark
    released: set[str] = set()
    own_texts: list[tuple[str, ...]] = []
    for item in extras.correct_items(content.items):
        if item.item_id in released:
            noun = benchmark.noun
            raise ReleaseError(f"{noun.capitalize()} {item.item_id!r} is in the release twice; give every {noun} once.")
        released.add(item.item_id)
        extras.add(item)
        own_texts.append(tuple(bytes_digest(text.encode())[:TEXT_DIGITS] for text in item.own_texts))
        nested.add([item])
        for name, rows in benchmark.rows(item).items():
            tables[name].add(rows)
    if not released:
        raise ReleaseError(
            f"There is no finished {benchmark.noun}, so there is nothing to release; see the failures of the stages."
        )
    # Votes come after the items, because corrections decide which items are released.
    if GATE_RECORDS in tables:
        seen = (pair for pair in content.gate_records if pair[0] in released)
        for votes in gate_record_columns(seen, content.failures, released=released):
            tables[GATE_RECORDS].add_columns(votes)
    if FAILURES in tables:
        tables[FAILURES].add(map(failure_row, content.failures))
    return tuple(own_texts)
