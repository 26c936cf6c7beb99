"""What changed from one release to another, read from their files alone: the same two always give the same difference."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, cast

from assets.records.json_text import parse_json
from dataset_card.diff.records import MetricChange, ReleaseDiff, ReleaseIdentity, SettingChange, TableChange, VersionReason
from dataset_card.diff.render import without_changes
from dataset_card.diff.tables import ComparedTable, TablePair, compare_table
from dataset_card.diff.titles import Titles
from dataset_card.errata.files import errata_by_item, rewordings
from dataset_card.release.content import ReleaseFormat
from dataset_card.release.digests import canonical_digest
from dataset_card.release.limits import MOST_MANIFEST_BYTES, read_bounded
from dataset_card.release.manifest import CARD, RECIPE, REPORT, ManifestBody, ManifestError, read_manifest, read_recipe_fields
from dataset_card.release.verify import file_rows
from dataset_card.release.versions import FIRST_RULE, Level, highest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXAMPLES = 100
# In the report these are lists of cases to look at, limits and luck rather than measurements, or counted here as well.
NOT_METRICS = frozenset(
    {
        *("worst", "examples", "twins", "groups", "likeness", "kinds"),
        *("low", "high", "limit", "random", "luck", "by_chance", "threshold"),
        *("counts", "lengths", "turns_per_user", "golden_changes", "parity"),
    }
)
DIGITS = 4
PARTS = Formatter().parse


class DiffError(ValueError):
    """Two releases that cannot be compared; the message is one sentence."""


@dataclass(frozen=True)
class ComparedRelease:
    """One of the two: its folder, what its manifest says, and the card without the section on changes.

    `version` None: it has none yet.
    """

    folder: Path
    body: ManifestBody
    card: str
    version: str | None = None

    @classmethod
    def of(cls, folder: Path, body: ManifestBody, *, version: str | None = None) -> "ComparedRelease":
        """The release with its card, which is read here. Raises OSError."""
        return cls(folder, body, without_changes((folder / CARD).read_text(encoding="utf-8")), version)

    @property
    def tables(self) -> Path:
        """The folder of the flat tables."""
        return self.folder / "tables" / self.body.variant

    @property
    def logical(self) -> dict[str, str]:
        """Path to digest of the rows, of all files that have rows."""
        return {file.path: file.logical_digest for file in self.body.files if file.logical_digest}

    @property
    def others(self) -> dict[str, str]:
        """Path to sha256 of the files without rows, but for card and recipe."""
        return {
            file.path: file.sha256 for file in self.body.files if not file.logical_digest and file.path not in (CARD, RECIPE)
        }


def read_release(folder: Path) -> ComparedRelease:
    """A release on the disk. Raises ManifestError or OSError."""
    manifest = read_manifest(folder)
    return ComparedRelease.of(folder, manifest, version=manifest.version)


def same_release(before: ComparedRelease, after: ComparedRelease) -> bool:
    """Whether they differ in nothing but their version and in what they say of the version before."""
    return before.card == after.card and before.body.without_card() == after.body.without_card()


def compare(before: ComparedRelease, after: ComparedRelease, *, form: ReleaseFormat, examples: int = EXAMPLES) -> ReleaseDiff:
    """All differences. `form` is that of both releases. Raises DiffError for releases of two variants."""
    if before.body.variant != after.body.variant:
        raise DiffError(
            f"One is a release of {before.body.variant!r} and one of {after.body.variant!r}; give two of the same variant."
        )
    compared, users, names = _rows(before, after, form=form, examples=examples)
    reasons = [reason for one in compared for reason in one.reasons]
    if not any(one.change.scored and one.change.changed for one in compared):
        reasons += _beyond_tables(before, after)
    settings = tuple(_settings(before, after))
    files = tuple(_changed(before.others, after.others)) + ((CARD,) if before.card != after.card else ())
    patches = [f"{one.name} is {one.after or 'gone'} and was {one.before or 'not there'}" for one in settings]
    patches += [f"{path} differs" for path in files]
    if before.logical != after.logical and not reasons:
        patches.append("rows stand in another order")
    if not reasons and not patches and not same_release(before, after):
        patches.append("other bytes hold the same rows")
    metrics = _metrics(before, after, form=form)
    return ReleaseDiff(
        before=_compared(before),
        after=_compared(after),
        reasons=(*reasons, *(VersionReason(level="patch", because=patch) for patch in patches)),
        level_by_first_rule=highest((*(one.by_first_rule for one in compared), "patch" if patches else "same")),
        users_added=users[0],
        users_removed=users[1],
        user_names=names,
        tables=tuple(one.change for one in compared if one.change.before or one.change.after),
        statistics=metrics[0],
        quality=metrics[1],
        settings=settings,
        files=files,
    )


def _rows(
    before: ComparedRelease, after: ComparedRelease, *, form: ReleaseFormat, examples: int
) -> tuple[list[ComparedTable], tuple[tuple[str, ...], tuple[str, ...]], dict[str, str]]:
    """All tables, the ids of items that came and that went, and the names of all items that are listed."""
    compared, users = list[ComparedTable](), (tuple[str, ...](), tuple[str, ...]())
    marked = rewordings(after.folder)
    with _database() as connection:
        for name, table in form.benchmark.tables.items():
            files = before.tables / f"{name}.parquet", after.tables / f"{name}.parquet"
            pair = TablePair(name, table, *files, examples, tuple(one for one in marked if one.table == name))
            if not pair.before.is_file() or not pair.after.is_file():
                compared += _whole_table(pair)
                continue
            path = f"tables/{after.body.variant}/{name}.parquet"
            if before.logical.get(path) == after.logical.get(path):
                compared.append(ComparedTable(_untouched(name, after, path, scored=table.scored)))
                continue
            compared.append(_compared_table(connection, pair))
            if name == form.item_table:
                users = _ids(connection, pair), _ids(connection, replace(pair, before=pair.after, after=pair.before))
        titles = Titles(connection, form.benchmark.tables, (before.tables, after.tables))
        compared = list(titles.added_to(compared))
        (item_key,) = form.benchmark.tables[form.item_table].key
        changed = {str(row.key[item_key]) for one in compared for row in one.change.examples if item_key in row.key}
        names = titles.find(form.item_table, {(item,) for item in (*users[0], *users[1], *changed)})
    return compared, users, {item: name for (item,), name in sorted(names.items())}


def _compared_table(connection: "DuckDBPyConnection", pair: TablePair) -> ComparedTable:
    import duckdb

    try:
        return compare_table(connection, pair)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DiffError(f"The table {pair.name} of {pair.before} or {pair.after} cannot be compared: {reason}.") from error


def _beyond_tables(before: ComparedRelease, after: ComparedRelease) -> Iterator[VersionReason]:
    """What files with rows say that no table shows; rows in another order are the same."""
    for path in sorted(before.logical.keys() & after.logical.keys()):
        if before.logical[path] == after.logical[path] or (before.folder / path).parent == before.tables:
            continue
        old, new = (Counter(map(canonical_digest, file_rows(side.folder / path))) for side in (before, after))
        if old - new:
            yield VersionReason(level="major", because=f"rows of {path} say something else, which no table shows")
        elif new - old:
            yield VersionReason(level="minor", because=f"{path} has more rows")


def _database() -> "DuckDBPyConnection":
    import duckdb

    return duckdb.connect(config={"memory_limit": "350MB", "autoinstall_known_extensions": "false"})


def _whole_table(pair: TablePair) -> Iterator[ComparedTable]:
    level: Level = "major" if pair.before.is_file() else "minor"
    if pair.before.is_file() or pair.after.is_file():
        because = f"the table {pair.name} is {'gone' if pair.before.is_file() else 'new'}"
        yield ComparedTable(TableChange(table=pair.name), (VersionReason(level=level, because=because),), level)


def _untouched(name: str, side: ComparedRelease, path: str, *, scored: bool) -> TableChange:
    rows = next(file.rows or 0 for file in side.body.files if file.path == path)
    return TableChange(table=name, scored=scored, before=rows, after=rows)


def _ids(connection: "DuckDBPyConnection", pair: TablePair) -> tuple[str, ...]:
    """Items that are in `after` only."""
    (key,) = pair.table.key
    sql = f'SELECT "{key}" FROM read_parquet($after) EXCEPT SELECT "{key}" FROM read_parquet($before) ORDER BY "{key}"'
    return tuple(row[0] for row in connection.execute(sql, {"before": str(pair.before), "after": str(pair.after)}).fetchall())


def _metrics(
    before: ComparedRelease, after: ComparedRelease, *, form: ReleaseFormat
) -> tuple[tuple[MetricChange, ...], tuple[MetricChange, ...]]:
    counted: list[dict[str, Measured]] = []
    with _database() as connection:
        for release in (before, after):
            counts = {name: float(count) for name, count in release.body.counts.items()}
            measured = {**counts, **count_metrics(connection, release.tables, form.metrics)}
            counted.append({name: Measured(value) for name, value in measured.items()})
    reports = [report_metrics(side.folder / REPORT) for side in (before, after)]
    return metric_changes(counted[0], counted[1]), metric_changes(reports[0], reports[1])


def _settings(before: ComparedRelease, after: ComparedRelease) -> Iterator[SettingChange]:
    """Recipe, prompts, errata, program and license, field by field."""
    old, new = _made_by(before), _made_by(after)
    for name in _changed(old, new):
        yield SettingChange(name=name, before=old.get(name, ""), after=new.get(name, ""))


def _made_by(side: ComparedRelease) -> dict[str, str]:
    try:
        recipe = read_recipe_fields(side.folder)
    except ManifestError as error:
        raise DiffError(f"The release in {side.folder} cannot be compared: {error}") from error
    prompts = {f"prompt {name}": digest for name, digest in side.body.prompt_fingerprints.items()}
    errata = errata_by_item(side.folder)
    return {**dict(_flat("", recipe)), **prompts, **errata, "program": side.body.generator, "license": side.body.license}


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, object], value).items():
            yield from _flat(f"{name}.{key}".lstrip("."), item)
    else:
        yield name, "" if value is None else str(value)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _compared(side: ComparedRelease) -> ReleaseIdentity:
    previous = side.body.previous
    return ReleaseIdentity(
        variant=side.body.variant,
        version=side.version,
        data_digest=side.body.rows_digest(),
        previous=previous.version if previous else None,
        rule=(previous.rule or FIRST_RULE) if previous else None,
    )


def count_metrics(connection: "DuckDBPyConnection", tables: Path, metrics: Mapping[str, str]) -> dict[str, float | None]:
    """The metrics of one release's tables, by name; None where there is nothing to count.

    `tables` is the folder of the tables; each of `metrics` is a query of one number, with `{name}` for a table."""
    files = {path.stem: "read_parquet('" + str(path).replace("'", "''") + "')" for path in tables.glob("*.parquet")}
    countable = {name: sql for name, sql in metrics.items() if {field for _, field, _, _ in PARTS(sql) if field} <= set(files)}
    rows = {name: connection.execute(sql.format_map(files)).fetchone() for name, sql in countable.items()}
    return {name: _rounded(row[0]) if row else None for name, row in rows.items()}


@dataclass(frozen=True)
class Measured:
    """A figure with its 95 % interval, where it has one."""

    value: float | None
    low: float | None = None
    high: float | None = None


def report_metrics(path: Path) -> dict[str, Measured]:
    """The measured figures of a quality report in JSON by dotted name; none where there is no such file."""
    try:
        content: object = parse_json(read_bounded(path, most=MOST_MANIFEST_BYTES)) if path.is_file() else {}
    except ValueError as error:
        raise DiffError(f"{path} cannot be read as a quality report.") from error
    return dict(_measured("", content))


def metric_changes(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> tuple[MetricChange, ...]:
    """The figures that are not the same, in the order of the new release, then those that are gone."""
    names, none = [*after, *(name for name in before if name not in after)], Measured(None)
    pairs = ((name, before.get(name, none), after.get(name, none)) for name in names)
    return tuple(
        MetricChange(figure=name, before=old.value, after=new.value, low=old.low, high=old.high)
        for name, old, new in pairs
        if old.value != new.value or (name in before) != (name in after)
    )


def _measured(name: str, value: Any) -> Iterator[tuple[str, Measured]]:
    """Estimates by their value; of a list, the items that have a name, which is their first text."""
    if isinstance(value, float):
        yield name, Measured(_rounded(value))
    elif isinstance(value, dict):
        inner = cast(dict[str, Any], value)
        if {"value", "low", "high"} <= set(inner):
            yield name, Measured(*(_rounded(inner[part]) for part in ("value", "low", "high")))
            return
        for key, item in inner.items():
            if key not in NOT_METRICS:
                yield from _measured(f"{name}.{key}".lstrip("."), item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            label = (
                next((text for text in cast(dict[str, Any], item).values() if isinstance(text, str)), "")
                if isinstance(item, dict)
                else ""
            )
            if label:
                yield from _measured(f"{name}.{label}", item)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)
