"""What a release holds, and all its files but the manifest, written in one pass over the episodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from assets.records.episode import Episode
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from assets.records.recipe import Recipe
from assets.records.report import QualityReport
from dataset_card.card import FOLDER, LICENSE_ID, Card, model_names, render_card, shared_recipe
from dataset_card.manifest import ManifestBody, ManifestFile, Usage
from dataset_card.reference import ReferenceError
from dataset_card.rows import TABLES, TableName
from dataset_card.sinks import EPISODES_PER_GROUP, DataJsonSink, ParquetSink, written
from dataset_card.tables import failure_row, gate_record_row, table_rows
from validation.facts import FactCounter, Facts


class ReleaseError(ValueError):
    """A release that cannot be written as asked; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class ReleaseContent:
    """Everything that a release is made from. All of it decides the bytes, so all of it has to be reproducible.

    `episodes` are read once, in order; `gate_records` are pairs of user id and record, without those that `failures`
    carry themselves; `prompts` maps a template's name to its fingerprint; `generator` is name and version of the
    program; `usage` None: it was not recorded; `repository` is "owner/name" on the Hub, for the loading instructions.
    """

    recipe: Recipe
    episodes: Iterable[Episode]
    generator: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    gate_records: Iterable[tuple[str, GateRecord]] = ()
    failures: Sequence[Failure] = ()
    usage: Usage | None = None
    report: QualityReport | None = None
    repository: str | None = None


def write_contents(content: ReleaseContent, *, folder: Path) -> ManifestBody:
    """Write the files into `folder`. Raises ReleaseError for a set without users or with a user twice."""
    with ExitStack() as stack:
        writers = _Writers(content.recipe.variant, folder, stack)
        counter = writers.take(content)
        files = writers.close()
    facts = counter.facts(failures=content.failures)
    rows: dict[TableName, int] = {name: _rows(files, f"tables/{content.recipe.variant}/{name}.parquet") for name in TABLES}
    files.extend(_texts(content, facts=facts, tables=rows, folder=folder))
    recipe = content.recipe
    return ManifestBody(
        variant=recipe.variant,
        generator=content.generator,
        license=LICENSE_ID,
        recipe_fingerprint=recipe.fingerprint,
        prompt_fingerprints=dict(sorted(content.prompts.items())),
        models=model_names(shared_recipe(recipe)),
        pool_digest=recipe.pool.content,
        usage=content.usage,
        counts={**facts.counts, "gate_records": rows["gate_records"], "failures": rows["failures"]},
        files=tuple(sorted(files, key=lambda file: file.path)),
    )


class _Writers:
    """The data files of a release, all open at once, so that one pass over the episodes fills them."""

    def __init__(self, variant: str, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        path = folder / variant / "test-00000-of-00001.parquet"
        self.nested = stack.enter_context(ParquetSink(path, Episode, rows_per_group=EPISODES_PER_GROUP))
        self.data_json = stack.enter_context(DataJsonSink(folder / variant / "data.json"))
        self.tables: dict[TableName, ParquetSink] = {
            name: stack.enter_context(ParquetSink(folder / "tables" / variant / f"{name}.parquet", row))
            for name, row in TABLES.items()
        }

    def take(self, content: ReleaseContent) -> FactCounter:
        """Write all rows and count them."""
        counter = FactCounter()
        released: set[str] = set()
        for episode in content.episodes:
            if episode.user_id in released:
                raise ReleaseError(f"User {episode.user_id!r} is in the release twice; give every episode once.")
            released.add(episode.user_id)
            counter.add(episode)
            self.nested.add([episode])
            self._take_reference(episode)
            for name, rows in table_rows(episode).items():
                self.tables[name].add(rows)
        if not released:
            raise ReleaseError("There is no finished user, so there is nothing to release; see the failures of the stages.")
        self._take_gate_records(content, released)
        self.tables["failures"].add([failure_row(failure) for failure in content.failures])
        return counter

    def _take_reference(self, episode: Episode) -> None:
        try:
            self.data_json.add(episode)
        except ReferenceError as error:
            raise ReleaseError(f"data.json cannot hold an episode: {error}") from error

    def _take_gate_records(self, content: ReleaseContent, released: set[str]) -> None:
        numbers: Counter[str] = Counter()
        carried = ((failure.user_id, record) for failure in content.failures for record in failure.gate_records)
        for records in (content.gate_records, carried):
            for user_id, record in records:
                row = gate_record_row(record, user_id=user_id, number=numbers[user_id], released=user_id in released)
                self.tables["gate_records"].add([row])
                numbers[user_id] += 1

    def close(self) -> list[ManifestFile]:
        """End all files and describe them."""
        return [sink.close(root=self.folder) for sink in (self.nested, self.data_json, *self.tables.values())]


def _rows(files: Sequence[ManifestFile], path: str) -> int:
    return next(file.rows or 0 for file in files if file.path == path)


def _texts(content: ReleaseContent, *, facts: Facts, tables: dict[TableName, int], folder: Path) -> list[ManifestFile]:
    card = Card(content.recipe, facts, tables, content.usage, content.generator, content.report, content.repository)
    recipe = shared_recipe(content.recipe).model_dump(mode="json")
    texts = {
        "README.md": render_card(card),
        "recipe.yaml": yaml.safe_dump(recipe, sort_keys=False, allow_unicode=True),
        "LICENSE": (FOLDER / "license.txt").read_text(encoding="utf-8"),
    }
    return [written(folder / name, text.encode(), root=folder) for name, text in texts.items()]
