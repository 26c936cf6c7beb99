"""What a release holds, and all its files but the manifest, written in one pass over the episodes."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.amemgym.records.rows import TABLES, TableName
from assets.amemgym.tables import failure_row, gate_record_columns, table_rows
from assets.engine.gc_control import collector_at_rest
from assets.recipe.recipe import Recipe
from assets.records.annotation import StudyResult
from assets.records.erratum import Erratum, SettledErratum
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from dataset_card.card.header import data_json_path, nested_path, table_path
from dataset_card.card.plots import plots
from dataset_card.card.recipe import model_names, shared_recipe
from dataset_card.card.render import Card
from dataset_card.card.statements import LICENSE_ID
from dataset_card.card.statistics import StatisticsCounter
from dataset_card.errata.annotations import STUDIES, read_studies
from dataset_card.errata.apply import ERRATA, Corrector, ErrataError, read_errata
from dataset_card.reference.data_json import ReferenceError
from dataset_card.release.documents import write_documents
from dataset_card.release.errors import ReleaseError
from dataset_card.release.manifest import ManifestBody, ManifestFile, Usage
from dataset_card.release.writers import EPISODES_AT_ONCE, EPISODES_PER_GROUP, DataJsonSink, ParquetSink
from validation.amemgym.report.contents import FactCounter


@dataclass(frozen=True)
class ReleaseContent:
    """Everything that a release is made from. All of it decides the bytes, so all of it has to be reproducible.

    `episodes` are read once, in order, and then `gate_records`, pairs of user id and votes; of those only the users with
    an episode count, and what was seen of others is what `failures` carry themselves. `prompts` maps a template's name to
    its fingerprint; `generator` is name and version of the program; `usage` None: it was not recorded; `repository` is
    "owner/name" on the Hub, for the loading instructions. `errata` are applied to the episodes on their way into the files.
    What changed since the version before is not in here: `folder.py` puts that section into the card, once it knows.
    """

    recipe: Recipe
    episodes: Iterable[Episode]
    generator: str
    prompts: Mapping[str, str] = field(default_factory=dict[str, str])
    gate_records: Iterable[tuple[str, Sequence[GateRecord]]] = ()
    failures: Sequence[Failure] = ()
    usage: Usage | None = None
    report: QualityReport | None = None
    repository: str | None = None
    errata: Sequence[Erratum] = ()
    studies: Sequence[StudyResult] = ()


def with_annotations(content: ReleaseContent, *, home: Path) -> ReleaseContent:
    """The content with the errata and studies of `<root>/<variant>/`. Raises ReleaseError for a file that cannot be used."""
    try:
        return replace(content, errata=read_errata(home / ERRATA), studies=read_studies(home / STUDIES))
    except ErrataError as error:
        raise ReleaseError(str(error)) from error


def write_contents(content: ReleaseContent, *, folder: Path) -> ManifestBody:
    """Write the files into `folder`. Raises ReleaseError for a set without users or with a user twice."""
    corrector = Corrector(content.errata)
    with ExitStack() as stack, collector_at_rest():
        writers = _Writers(content.recipe.variant, folder, stack)
        writers.take(replace(content, episodes=corrector.corrected(content.episodes)))
        files = writers.close()
    card = _card(content, writers, files, errata=corrector.settled())
    files.extend(write_documents(card, data_files=tuple(files), folder=folder))
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
        counts={**card.facts.counts, "gate_records": card.tables["gate_records"], "failures": card.tables["failures"]},
        files=tuple(sorted(files, key=lambda file: file.path)),
    )


class _Writers:
    """The data files of a release, all open at once, so that one pass over the episodes fills them."""

    def __init__(self, variant: str, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.facts, self.statistics = FactCounter(), StatisticsCounter()
        sizes = {"rows_per_group": EPISODES_PER_GROUP, "rows_at_once": EPISODES_AT_ONCE}
        self.nested = stack.enter_context(ParquetSink(folder / nested_path(variant), Episode, **sizes))
        self.data_json = stack.enter_context(DataJsonSink(folder / data_json_path(variant)))
        self.tables: dict[TableName, ParquetSink] = {
            name: stack.enter_context(ParquetSink(folder / table_path(variant, name), row)) for name, row in TABLES.items()
        }

    def take(self, content: ReleaseContent) -> None:
        """Write all rows and count them."""
        released: set[str] = set()
        for episode in content.episodes:
            if episode.user_id in released:
                raise ReleaseError(f"User {episode.user_id!r} is in the release twice; give every episode once.")
            released.add(episode.user_id)
            self._take_episode(episode)
        if not released:
            raise ReleaseError("There is no finished user, so there is nothing to release; see the failures of the stages.")
        seen = (pair for pair in content.gate_records if pair[0] in released)
        for votes in gate_record_columns(seen, content.failures, released=released):
            self.tables["gate_records"].add_columns(votes)
        self.tables["failures"].add([failure_row(failure) for failure in content.failures])

    def _take_episode(self, episode: Episode) -> None:
        self.facts.add(episode)
        self.statistics.add(episode)
        self.nested.add([episode])
        self._take_reference(episode)
        for name, rows in table_rows(episode).items():
            self.tables[name].add(rows)

    def _take_reference(self, episode: Episode) -> None:
        try:
            self.data_json.add(episode)
        except ReferenceError as error:
            raise ReleaseError(f"data.json cannot hold an episode: {error}") from error

    def close(self) -> list[ManifestFile]:
        """End all files and describe them."""
        return [sink.close(root=self.folder) for sink in (self.nested, self.data_json, *self.tables.values())]


def _card(
    content: ReleaseContent, writers: _Writers, files: Sequence[ManifestFile], *, errata: Sequence[SettledErratum]
) -> Card:
    recipe, rows = content.recipe, {file.path: file.rows or 0 for file in files}
    return Card(
        recipe=recipe,
        facts=writers.facts.facts(failures=content.failures),
        tables={name: rows[table_path(recipe.variant, name)] for name in TABLES},
        usage=content.usage,
        generator=content.generator,
        prompts=content.prompts,
        plots=plots(writers.statistics.statistics(), content.report),
        report=content.report,
        repository=content.repository,
        studies=content.studies,
        errata=errata,
    )
