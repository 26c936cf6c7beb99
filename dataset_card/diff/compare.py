"""What changed from one release to another, found in their files alone, so that the same two always differ in the same way."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import yaml

from assets.amemgym.records.rows import KEYS
from dataset_card.diff.card_section import without_changes
from dataset_card.diff.metrics import drifts, report_figures, statistics
from dataset_card.diff.records import Compared, Drift, Reason, ReleaseDiff, Setting, TableChange
from dataset_card.diff.tables import TablePair, compare_table
from dataset_card.errata.annotations import told_errata
from dataset_card.release.manifest import CARD, ManifestBody, read_manifest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

EXAMPLES = 100
RECIPE = "recipe.yaml"
REPORT = "quality_report.json"


class DiffError(ValueError):
    """Two releases that cannot be compared; the message is one sentence."""


@dataclass(frozen=True)
class Side:
    """One of the two: its folder, what its manifest says, and the card without the section on changes.

    `version` None: it has none yet.
    """

    folder: Path
    body: ManifestBody
    card: str
    version: str | None = None

    @classmethod
    def of(cls, folder: Path, body: ManifestBody, *, version: str | None = None) -> "Side":
        """Read the card. Raises OSError."""
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


def read_side(folder: Path) -> Side:
    """A release on the disk. Raises ManifestError or OSError."""
    manifest = read_manifest(folder)
    return Side.of(folder, manifest, version=manifest.version)


def same_release(before: Side, after: Side) -> bool:
    """Whether they differ in nothing but their version and in what they say of the version before."""
    return before.card == after.card and before.body.without_card() == after.body.without_card()


def compare(before: Side, after: Side, *, examples: int = EXAMPLES) -> ReleaseDiff:
    """All differences. Raises DiffError for releases of two variants."""
    if before.body.variant != after.body.variant:
        raise DiffError(
            f"One is a release of {before.body.variant!r} and one of {after.body.variant!r}; give two of the same variant."
        )
    tables, reasons, users = _rows(before, after, examples=examples)
    settings = tuple(_settings(before, after))
    files = tuple(_changed(before.others, after.others)) + ((CARD,) if before.card != after.card else ())
    patches = [f"{one.name} is {one.after or 'gone'} and was {one.before or 'not there'}" for one in settings]
    patches += [f"{path} differs" for path in files]
    if before.logical != after.logical:
        patches.append("rows stand in another order")
    if not same_release(before, after):
        patches.append("other bytes hold the same rows")
    figures = _figures(before, after)
    return ReleaseDiff(
        before=_compared(before),
        after=_compared(after),
        reasons=(*reasons, *(Reason(level="patch", because=patch) for patch in patches)),
        users_added=users[0],
        users_removed=users[1],
        tables=tables,
        statistics=figures[0],
        quality=figures[1],
        settings=settings,
        files=files,
    )


def _rows(
    before: Side, after: Side, *, examples: int
) -> tuple[tuple[TableChange, ...], list[Reason], tuple[tuple[str, ...], tuple[str, ...]]]:
    """All tables, what they ask of the version, and the ids of users who came and who went."""
    changes, reasons, users = list[TableChange](), list[Reason](), (tuple[str, ...](), tuple[str, ...]())
    with _database() as connection:
        for name in KEYS:
            pair = TablePair(name, before.tables / f"{name}.parquet", after.tables / f"{name}.parquet", examples)
            if not pair.before.is_file() or not pair.after.is_file():
                reasons += _whole_table(pair)
                continue
            path = f"tables/{after.body.variant}/{name}.parquet"
            if before.logical.get(path) == after.logical.get(path):
                changes.append(_untouched(name, after, path))
                continue
            change, asked = compare_table(connection, pair)
            changes.append(change)
            reasons += asked
            if name == "users":
                users = _ids(connection, pair), _ids(connection, TablePair(name, pair.after, pair.before, examples))
    return tuple(changes), reasons, users


def _database() -> "DuckDBPyConnection":
    import duckdb

    return duckdb.connect(config={"memory_limit": "350MB", "autoinstall_known_extensions": "false"})


def _whole_table(pair: TablePair) -> Iterator[Reason]:
    if pair.before.is_file():
        yield Reason(level="major", because=f"the table {pair.name} is gone")
    elif pair.after.is_file():
        yield Reason(level="minor", because=f"the table {pair.name} is new")


def _untouched(name: str, side: Side, path: str) -> TableChange:
    rows = next(file.rows or 0 for file in side.body.files if file.path == path)
    return TableChange(table=name, before=rows, after=rows)


def _ids(connection: "DuckDBPyConnection", pair: TablePair) -> tuple[str, ...]:
    sql = "SELECT user_id FROM read_parquet($after) EXCEPT SELECT user_id FROM read_parquet($before) ORDER BY user_id"
    return tuple(row[0] for row in connection.execute(sql, {"before": str(pair.before), "after": str(pair.after)}).fetchall())


def _figures(before: Side, after: Side) -> tuple[tuple[Drift, ...], tuple[Drift, ...]]:
    counts = [{name: float(count) for name, count in side.body.counts.items()} for side in (before, after)]
    with _database() as connection:
        counted = [counts[number] | statistics(connection, side.tables) for number, side in enumerate((before, after))]
    reports = [report_figures(side.folder / REPORT) for side in (before, after)]
    return drifts(counted[0], counted[1]), drifts(reports[0], reports[1])


def _settings(before: Side, after: Side) -> Iterator[Setting]:
    """Recipe, prompts, errata, program and license, field by field."""
    old, new = _made_by(before), _made_by(after)
    for name in _changed(old, new):
        yield Setting(name=name, before=old.get(name, ""), after=new.get(name, ""))


def _made_by(side: Side) -> dict[str, str]:
    recipe = cast(dict[str, object], yaml.safe_load((side.folder / RECIPE).read_text(encoding="utf-8")))
    prompts = {f"prompt {name}": digest for name, digest in side.body.prompt_fingerprints.items()}
    errata = told_errata(side.folder)
    return {**dict(_flat("", recipe)), **prompts, **errata, "program": side.body.generator, "license": side.body.license}


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in cast(dict[str, object], value).items():
            yield from _flat(f"{name}.{key}".lstrip("."), item)
    else:
        yield name, "" if value is None else str(value)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def _compared(side: Side) -> Compared:
    return Compared(variant=side.body.variant, version=side.version, data_digest=side.body.rows_digest())
