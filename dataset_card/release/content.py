"""What a release is made from, and its files but for the manifest, written in one pass over the finished items.

Nothing here knows a benchmark. What only one of them has, such as `data.json` or the sections of its card, comes from the
`ReleaseExtras` of its `ReleaseFormat`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from assets.engine.benchmark import Benchmark
from assets.engine.gc_control import pause_gc
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, GateRecord, UserRecord
from assets.records.common_tables import failure_row, gate_record_columns
from assets.records.report import BenchmarkReport
from dataset_card.card.basic import basic_card
from dataset_card.card.header import LICENSE_ID, LICENSE_TEXT, nested_path, table_path
from dataset_card.card.recipe import model_names, shared_recipe
from dataset_card.release.manifest import (
    CARD,
    LICENSE,
    RECIPE,
    ManifestBody,
    ManifestFile,
    ManifestUsage,
    ReleaseError,
)
from dataset_card.release.writers import ITEMS_AT_ONCE, ITEMS_PER_GROUP, ParquetFileWriter, write_file

GATE_RECORDS, FAILURES = "gate_records", "failures"


@dataclass(frozen=True)
class ReleaseContent:
    """Everything that a release is made from. All of it decides the bytes, so all of it has to be reproducible.

    `items` are the finished ones, read once and in order, and then `gate_records`, pairs of item id and votes; of those only
    the released items count, and what was seen of others is what `failures` carry themselves. `prompts` maps a template's
    name to its fingerprint; `generator` is name and version of the program; `usage` None: it was not recorded; `repository`
    is "owner/name" on the Hub, for the loading instructions. What changed since the version before is not in here:
    `folder.py` puts that section into the card, once it knows.
    """

    form: "ReleaseFormat"
    recipe: Recipe
    items: Iterable[UserRecord]
    generator: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    gate_records: Iterable[tuple[str, Sequence[GateRecord]]] = ()
    failures: Sequence[Failure] = ()
    usage: ManifestUsage | None = None
    report: BenchmarkReport | None = None
    repository: str | None = None


class ReleaseExtras:
    """What a release holds beside items, flat tables, recipe and license: here a plain card, in subclasses more.

    One is made for each release that is written. `folder` is where its files go, `home` the folder of the variant's
    versions; files that are kept open belong into `stack`.
    """

    def __init__(self, content: ReleaseContent, *, folder: Path, home: Path, stack: ExitStack) -> None:
        self.content, self.folder, self.home, self.stack = content, folder, home, stack
        self.items = 0

    def corrected(self, items: Iterable[Any]) -> Iterable[Any]:
        """The items as they are released. Raises ReleaseError for corrections that cannot be used."""
        return items

    def add(self, item: Any) -> None:
        """Count one released item; called once for each, in order."""
        self.items += 1

    def data_files(self) -> list[ManifestFile]:
        """Files with rows beside Parquet, ended and described."""
        return []

    def counts(self, rows: Mapping[str, int]) -> dict[str, int]:
        """The manifest's counts; `rows` are those of each flat table."""
        return {f"{self.content.form.benchmark.noun}s": self.items, **rows}

    def documents(self, files: Sequence[ManifestFile], *, rows: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
        """Paths and bytes of the files without rows, the card among them; `files` are those with rows."""
        content = self.content
        text = basic_card(content.form.benchmark, content.recipe, items=self.items, tables=rows, prompts=content.prompts)
        yield CARD, text.encode()


@dataclass(frozen=True)
class ReleaseFormat:
    """A benchmark as its releases show it. `metrics`: queries of one number over the tables, which a diff compares.

    `reported`: its quality report goes into the release. The descriptions are those of the assets in the Dagster UI.
    """

    benchmark: Benchmark
    extras: type[ReleaseExtras] = ReleaseExtras
    metrics: Mapping[str, str] = field(default_factory=dict[str, str])
    reported: bool = False
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


def write_contents(content: ReleaseContent, *, folder: Path, home: Path) -> ManifestBody:
    """Write the files into `folder`. Raises ReleaseError for a set without items or with one twice."""
    recipe, form = content.recipe, content.form
    with ExitStack() as stack, pause_gc():
        extras = form.extras(content, folder=folder, home=home, stack=stack)
        tables = {
            name: stack.enter_context(ParquetFileWriter(folder / table_path(recipe.variant, name), table.row))
            for name, table in form.benchmark.tables.items()
        }
        nested = ParquetFileWriter(
            folder / nested_path(recipe.variant),
            form.benchmark.final.record,
            rows_per_group=ITEMS_PER_GROUP,
            rows_at_once=ITEMS_AT_ONCE,
        )
        _write_rows(content, extras, nested=stack.enter_context(nested), tables=tables)
        described = {name: writer.close(root=folder) for name, writer in tables.items()}
        files = [nested.close(root=folder), *extras.data_files(), *described.values()]
    rows = {name: file.rows or 0 for name, file in described.items()}
    recipe_text = yaml.safe_dump(shared_recipe(recipe).model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    documents = [*extras.documents(files, rows=rows), (RECIPE, recipe_text.encode()), (LICENSE, LICENSE_TEXT.encode())]
    files.extend(write_file(folder / path, data, root=folder) for path, data in documents)
    return ManifestBody(
        variant=recipe.variant,
        generator=content.generator,
        license=LICENSE_ID,
        recipe_fingerprint=recipe.fingerprint,
        prompt_fingerprints=dict(sorted(content.prompts.items())),
        models=model_names(shared_recipe(recipe)),
        pool_digest=recipe.pool.content,
        usage=content.usage,
        counts=extras.counts(rows),
        files=tuple(sorted(files, key=lambda file: file.path)),
    )


def _write_rows(
    content: ReleaseContent, extras: ReleaseExtras, *, nested: ParquetFileWriter, tables: Mapping[str, ParquetFileWriter]
) -> None:
    """One pass over the items fills all files, so that none of them has to stay in memory."""
    benchmark = content.form.benchmark
    released: set[str] = set()
    for item in extras.corrected(content.items):
        if item.user_id in released:
            noun = benchmark.noun
            raise ReleaseError(f"{noun.capitalize()} {item.user_id!r} is in the release twice; give every {noun} once.")
        released.add(item.user_id)
        extras.add(item)
        nested.add([item])
        for name, rows in benchmark.rows(item).items():
            tables[name].add(rows)
    if not released:
        raise ReleaseError(
            f"There is no finished {benchmark.noun}, so there is nothing to release; see the failures of the stages."
        )
    if GATE_RECORDS in tables:
        seen = (pair for pair in content.gate_records if pair[0] in released)
        for votes in gate_record_columns(seen, content.failures, released=released):
            tables[GATE_RECORDS].add_columns(votes)
    if FAILURES in tables:
        tables[FAILURES].add([failure_row(failure) for failure in content.failures])
