"""Rows from which a reward model of memories learns, from any runs, in one table.

A row is one question, what a memory gave back for it as features, and whether the answer was right with it. What a model should
tell is `kept`: with everything the answer is right, and with the memory it still is. Where everything does not lead to it
either, no memory is to blame.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pydantic import Field

from assets.records.base import Record
from assets.whole_files import whole_file
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, RESULTS, read_table, write_table
from pipelines.evaluation.isolated import EventRow, MemoryRow
from pipelines.evaluation.records import RunManifest
from pipelines.memories.perturbed import PERTURBED
from pipelines.memories.settings import settings_suffix
from pipelines.reward.features import VERSION, Recall, WrittenTexts, features_of

MOST_CLUSTERS = 400


class Origin(Record):
    """Where a row is from. No model reads any of it."""

    benchmark: str = Field(description="the benchmark of the release that was asked about")
    release: str = Field(description="digest of that release")
    memory: str = Field(description="the memory's name without what was done to it on purpose")
    perturbed: str = Field(description="the fault that it had on purpose; empty for none")
    reasoner: str = Field(description="the model that answered")


class RewardRow(Origin):
    """A row of a run, with where it is from, its features and its label."""

    row: MemoryRow = Field(description="question, recalled text, and what was right in which condition")
    nearest: tuple[str, ...] = Field(default=(), description="written events that are nearest to the query, in order of time")
    features: dict[str, float] = Field(description="what a model reads, by name")
    kept: bool | None = Field(description="right with everything, and with the memory too; none where everything is wrong")
    version: int = Field(default=VERSION, description="version of the features; a model knows the rows of its own alone")

    @property
    def cluster(self) -> str:
        """Whose episode it is: rows of one are resampled, and held out, together."""
        return f"{self.release} {self.row.cluster}"


def reward_rows(sources: Sequence[Path]) -> list[RewardRow]:
    """Return the rows of all runs, and of tables of rows, in an order that follows from them alone. Raises EvaluationError."""
    rows: list[RewardRow] = []
    for path in sources:
        rows.extend(_table(path) if path.is_file() else _rows_of(path, _manifest(path)))
    return sorted(rows, key=lambda one: (one.benchmark, one.release, one.memory, one.perturbed, one.row.model_dump_json()))


def write_reward_rows(path: Path, rows: Sequence[RewardRow]) -> None:
    """Write a table of rows, which `reward_rows` reads; equal rows give equal bytes. Raises OSError.

    An earlier table stays until the new one is whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        write_table(draft, rows, kind=RewardRow)


def _table(path: Path) -> list[RewardRow]:
    try:
        rows = read_table(path, kind=RewardRow)
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(
            f"{path} is no table of rows that can be read ({type(error).__name__}); `amemgym memory rows` writes one."
        ) from error
    if any(row.version != VERSION for row in rows):
        raise EvaluationError(f"The rows of {path} are of another version; write them again with `amemgym memory rows`.")
    return rows


def _manifest(path: Path) -> RunManifest:
    if not (path / RESULTS).is_file():
        raise EvaluationError(f"{path} is no finished run; give folders of runs, as amemgym evaluate names them.")
    try:
        return RunManifest.model_validate_json((path / MANIFEST).read_bytes())
    except (OSError, ValueError) as error:
        raise EvaluationError(f"The run {path} cannot be read ({type(error).__name__}); was it changed?") from error


def _rows_of(path: Path, manifest: RunManifest) -> Iterator[RewardRow]:
    try:
        rows = read_table(path / "memory.parquet", kind=MemoryRow)
        events = read_table(path / "events.parquet", kind=EventRow)
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(f"The run {path} cannot be read ({type(error).__name__}); was it changed?") from error
    written = _written(events)
    perturbed = str(manifest.memory.settings.get(PERTURBED) or "")
    origin = Origin(
        benchmark=manifest.benchmark,
        release=manifest.dataset_digest,
        memory=_whole_name(manifest),
        perturbed=perturbed,
        reasoner=manifest.models["assistant"],
    )
    for row in rows:
        texts = written.get((row.cluster, row.length)) or WrittenTexts([])
        yield reward_row(row, texts, origin=origin, kept=row.right_with_memory if row.right_with_everything else None)


def reward_row(row: MemoryRow, texts: WrittenTexts, *, origin: Origin, kept: bool | None) -> RewardRow:
    """Return the row of a recall. `texts`: all events of its cluster, those after `row.written` too."""
    recall = Recall(row.query, row.recalled, row.budget, texts, min(row.written, len(texts.texts)))
    nearest = tuple(texts.texts[place] for place in recall.nearest)
    return RewardRow(**origin.model_dump(), row=row, nearest=nearest, features=features_of(recall), kept=kept)


def _whole_name(manifest: RunManifest) -> str:
    """Return the memory's name without the fault that it had on purpose."""
    settings = {name: value for name, value in manifest.memory.settings.items() if name != PERTURBED}
    name = manifest.memory.name.partition("?")[0]
    own = {key: value for key, value in settings.items() if f"{key}=" in manifest.memory.name}
    return f"{name}{settings_suffix(own)}" if own else name


def _written(events: Sequence[EventRow]) -> Mapping[tuple[str, int], WrittenTexts]:
    """Return the events of each cluster and length."""
    texts: dict[tuple[str, int], list[str]] = {}
    for event in events:
        texts.setdefault((event.cluster, event.length), []).append(event.text)
    return {key: _counted(tuple(own)) for key, own in texts.items()}


@lru_cache(maxsize=MOST_CLUSTERS)
def _counted(texts: tuple[str, ...]) -> WrittenTexts:
    """Return the texts with how rare their words are, once for all memories that were given the same."""
    return WrittenTexts(texts)


def rows_digest(rows: Sequence[RewardRow]) -> str:
    """Return the digest of what a model can learn from these rows: their features and labels."""
    learned = hashlib.sha256()
    for row in rows:
        learned.update(f"{row.cluster} {sorted(row.features.items())} {row.kept}\n".encode())
    return learned.hexdigest()
