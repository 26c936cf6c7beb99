"""The comparison of two releases, read from their files alone: the same two always give the same difference."""

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from dataset_card.diff.errata_files import errata_by_item
from dataset_card.diff.records import (
    DiffError,
    ReleaseDiff,
    ReleaseIdentity,
    SettingChange,
    TableChange,
    VersionReason,
)
from dataset_card.diff.render import without_changes
from dataset_card.diff.tables import ComparedTable, TablePair, compare_table
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.digests import canonical_digest
from dataset_card.release.manifest import CARD, RECIPE, ManifestBody, ManifestError, read_manifest, read_recipe_fields
from dataset_card.release.verify import file_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXAMPLES = 100


@dataclass(frozen=True)
class ComparedRelease:
    """One of the two: its folder, its manifest, and the card without the section on changes.

    `version` None: it has none yet.
    """

    folder: Path
    body: ManifestBody
    card: str
    version: str | None = None

    @classmethod
    def of(cls, folder: Path, body: ManifestBody, *, version: str | None = None) -> "ComparedRelease":
        """Return the release with its card, which is read here. Raises OSError."""
        return cls(folder, body, without_changes((folder / CARD).read_text(encoding="utf-8")), version)

    @property
    def identity(self) -> ReleaseIdentity:
        previous = self.body.previous
        return ReleaseIdentity(
            variant=self.body.variant,
            version=self.version,
            data_digest=self.body.rows_digest(),
            previous=previous.version if previous else None,
        )

    @property
    def tables(self) -> Path:
        return self.folder / "tables" / self.body.variant

    @property
    def logical(self) -> dict[str, str]:
        """Path to digest of the rows, of all files that have rows."""
        return {file.path: file.logical_digest for file in self.body.files if file.logical_digest}

    @property
    def other_files(self) -> dict[str, str]:
        """Path to sha256 of the files without rows, but for card and recipe, which are compared by their content."""
        files: dict[str, str] = {}
        for file in self.body.files:
            if not file.logical_digest and file.path not in (CARD, RECIPE):
                files[file.path] = file.sha256
        return files


def read_compared(folder: Path) -> ComparedRelease:
    """Read a release on the disk. Raises ManifestError or OSError."""
    manifest = read_manifest(folder)
    return ComparedRelease.of(folder, manifest, version=manifest.version)


def same_release(before: ComparedRelease, after: ComparedRelease) -> bool:
    """Return True when they differ in nothing but their version and in what they say of the version before."""
    return before.card == after.card and before.body.without_card() == after.body.without_card()


def compare_releases(
    before: ComparedRelease, after: ComparedRelease, *, form: ReleaseFormat, examples: int = EXAMPLES
) -> ReleaseDiff:
    """Return all differences. `form` is that of both releases. Raises DiffError for releases of two variants."""
    if before.body.variant != after.body.variant:
        raise DiffError(
            f"One is a release of {before.body.variant!r} and one of {after.body.variant!r}; give two of the same variant."
        )
    rows = _compare_rows(before, after, form=form, examples=examples)
    reasons: list[VersionReason] = []
    for table in rows.tables:
        reasons += table.reasons
    # Where tables show a change, other files with the same rows would only repeat it.
    if not any(table.change.scored and table.change.changed for table in rows.tables):
        reasons += _beyond_tables(before, after)
    settings = list(_settings(before, after))
    files = _changed_names(before.other_files, after.other_files)
    if before.card != after.card:
        files.append(CARD)
    patches: list[str] = []
    for setting in settings:
        patches.append(f"{setting.name} is {setting.after or 'gone'} and was {setting.before or 'not there'}")
    for path in files:
        patches.append(f"{path} differs")
    if before.logical != after.logical and not reasons:
        patches.append("rows stand in another order")
    if not reasons and not patches and not same_release(before, after):
        patches.append("other bytes hold the same rows")
    for patch in patches:
        reasons.append(VersionReason(level="patch", because=patch))
    return ReleaseDiff(
        before=before.identity,
        after=after.identity,
        reasons=tuple(reasons),
        users_added=rows.items_added,
        users_removed=rows.items_removed,
        tables=tuple(table.change for table in rows.tables if table.change.before or table.change.after),
        settings=tuple(settings),
        files=tuple(files),
    )


@dataclass
class _ComparedRows:
    """All tables, and the ids of items that came and that went."""

    tables: list[ComparedTable] = field(default_factory=list[ComparedTable])
    items_added: tuple[str, ...] = ()
    items_removed: tuple[str, ...] = ()


def _compare_rows(before: ComparedRelease, after: ComparedRelease, *, form: ReleaseFormat, examples: int) -> _ComparedRows:
    compared = _ComparedRows()
    tables = form.benchmark.tables
    (item_key,) = tables[form.item_table].key
    with _database(f"{before.folder} and {after.folder}") as connection:
        for name, table in tables.items():
            old_file = before.tables / f"{name}.parquet"
            new_file = after.tables / f"{name}.parquet"
            if not old_file.is_file() or not new_file.is_file():
                if old_file.is_file() or new_file.is_file():
                    compared.tables.append(_whole_table(name, gone=old_file.is_file()))
                continue
            path = f"tables/{after.body.variant}/{name}.parquet"
            # The manifest knows that the rows are the same, so that nothing is read.
            if before.logical.get(path) == after.logical.get(path):
                rows = next(file.rows or 0 for file in after.body.files if file.path == path)
                compared.tables.append(ComparedTable(TableChange(table=name, scored=table.scored, before=rows, after=rows)))
                continue
            pair = TablePair(name, table, old_file, new_file, examples)
            compared.tables.append(_compare_table(connection, pair))
            if name == form.item_table:
                compared.items_added = _ids_only_in(connection, new_file, other=old_file, key=item_key)
                compared.items_removed = _ids_only_in(connection, old_file, other=new_file, key=item_key)
    return compared


def _compare_table(connection: "DuckDBPyConnection", pair: TablePair) -> ComparedTable:
    # Half a second, which a release of a new variant does without.
    import duckdb

    from assets.reporting.duckdb_problems import say_problem

    try:
        return compare_table(connection, pair)
    except duckdb.Error as error:
        problem = say_problem(error)
        raise DiffError(f"The table {pair.name} of {pair.before} or {pair.after} cannot be compared: {problem}.") from error


def _beyond_tables(before: ComparedRelease, after: ComparedRelease) -> Iterator[VersionReason]:
    """Yield what files with rows say that no table shows; rows in another order are the same."""
    for path in sorted(before.logical.keys() & after.logical.keys()):
        # Files of tables were compared above.
        if before.logical[path] == after.logical[path] or (before.folder / path).parent == before.tables:
            continue
        old = Counter(map(canonical_digest, file_rows(before.folder / path)))
        new = Counter(map(canonical_digest, file_rows(after.folder / path)))
        if old - new:
            yield VersionReason(level="major", because=f"rows of {path} say something else, which no table shows")
        elif new - old:
            yield VersionReason(level="minor", because=f"{path} has more rows")


@contextmanager
def _database(folders: str) -> Generator["DuckDBPyConnection"]:
    """Yield a database for the tables of these releases. Raises DiffError for tables that cannot be read or lack columns."""
    import duckdb

    from assets.reporting.duckdb_problems import say_problem

    try:
        # Both releases may be a stranger's: their tables get no more memory than this, and no extension is loaded.
        with duckdb.connect(config={"memory_limit": "350MB", "autoinstall_known_extensions": "false"}) as connection:
            yield connection
    except duckdb.Error as error:
        raise DiffError(f"The tables of {folders} cannot be compared: {say_problem(error)}.") from error


def _whole_table(name: str, *, gone: bool) -> ComparedTable:
    if gone:
        reason = VersionReason(level="major", because=f"the table {name} is gone")
    else:
        reason = VersionReason(level="minor", because=f"the table {name} is new")
    return ComparedTable(TableChange(table=name), (reason,))


def _ids_only_in(connection: "DuckDBPyConnection", file: Path, *, other: Path, key: str) -> tuple[str, ...]:
    sql = f'SELECT "{key}" FROM read_parquet($file) EXCEPT SELECT "{key}" FROM read_parquet($other) ORDER BY "{key}"'
    return tuple(row[0] for row in connection.execute(sql, {"file": str(file), "other": str(other)}).fetchall())


def _settings(before: ComparedRelease, after: ComparedRelease) -> Iterator[SettingChange]:
    """Yield the changes of recipe, prompts, errata, program and license, field by field."""
    old = _made_by(before)
    new = _made_by(after)
    for name in _changed_names(old, new):
        yield SettingChange(name=name, before=old.get(name, ""), after=new.get(name, ""))


def _made_by(side: ComparedRelease) -> dict[str, str]:
    try:
        recipe = read_recipe_fields(side.folder)
    except ManifestError as error:
        raise DiffError(f"The release in {side.folder} cannot be compared: {error}") from error
    settings = dict(_flatten("", recipe))
    for name, digest in side.body.prompt_fingerprints.items():
        settings[f"prompt {name}"] = digest
    settings.update(errata_by_item(side.folder))
    settings["program"] = side.body.generator
    settings["license"] = side.body.license
    return settings


def _flatten(name: str, value: object) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, object], value).items():
            yield from _flatten(f"{name}.{key}".lstrip("."), item)
    else:
        yield name, "" if value is None else str(value)


def _changed_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
