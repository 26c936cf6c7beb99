"""Rows of runs on any benchmark, in one table: what a memory gave back for a question, and whether that kept what was needed.

A recall kept what was needed where the answer is right with everything that was written, and with the memory too. Where it is
wrong with everything, no memory is to blame, and the row has no label.
"""

import math
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import accumulate
from pathlib import Path

from pydantic import Field

from assets.records.base import Record
from assets.text.words import count_tokens, words_of
from assets.whole_files import whole_file
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import MANIFEST, RESULTS, read_record_of_run, read_table, read_table_of_run, write_table
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.records import EventRow, RunManifest
from pipelines.memories.perturbed import PERTURBED
from pipelines.memories.settings import settings_suffix

NEAREST = 5  # written events that a row keeps of those near to its query
COMMON = 0.5  # share of events that have a word, beyond which it finds nothing


class RewardRow(Record):
    """A row of a run, with where it is from and its label. No model reads where it is from."""

    benchmark: str = Field(description="the benchmark of the release that was asked about")
    release: str = Field(description="digest of that release")
    memory: str = Field(description="the memory's name without what was done to it on purpose")
    perturbed: str = Field(description="the fault that it had on purpose; empty for none")
    reasoner: str = Field(description="the model that answered")
    row: MemoryRow = Field(description="question, recalled text, and what was right in which condition")
    nearest: tuple[str, ...] = Field(description="written events that are nearest to the query, in order of time")
    written_tokens: int = Field(description="tokens of all events that had been written")
    kept: bool | None = Field(description="right with everything, and with the memory too; none where everything is wrong")

    @property
    def cluster(self) -> str:
        """Whose episode it is: intervals are over those."""
        return f"{self.release} {self.row.cluster}"

    @property
    def cell(self) -> tuple[str, str, int]:
        """Its benchmark, its memory with the fault that it had on purpose, and its budget in tokens."""
        fault = f"?{PERTURBED}={self.perturbed}" if self.perturbed else ""
        return self.benchmark, f"{self.memory}{fault}", self.row.budget


class WrittenTexts:
    """The events of one cluster and length in order of time, with the words by which they are found."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.tokens = [0, *accumulate(map(count_tokens, texts))]  # of the first so many
        self._words = [frozenset(words_of(text)) for text in texts]
        self._places: dict[str, list[int]] = {}
        for place, words in enumerate(self._words):
            for word in words:
                self._places.setdefault(word, []).append(place)

    def nearest(self, query: str, *, written: int) -> tuple[str, ...]:
        """Return those of the first `written` events that share the rarest words with the query, in order of time."""
        most = max(1.0, COMMON * len(self.texts))
        shared: dict[int, float] = {}
        # In one order, because sums of floats depend on it.
        for word in sorted(set(words_of(query))):
            places = self._places.get(word, [])
            if len(places) > most:
                continue
            for place in places:
                if place < written:
                    shared[place] = shared.get(place, 0.0) + math.log(1 + len(self.texts) / len(places))
        scored = [(-mass / math.sqrt(1 + len(self._words[place])), place) for place, mass in shared.items()]
        return tuple(self.texts[place] for place in sorted(place for _, place in nsmallest(NEAREST, scored)))


def reward_rows(sources: Sequence[Path]) -> list[RewardRow]:
    """Return the rows of all runs, and of tables of rows, in an order that follows from them alone. Raises EvaluationError."""
    rows: list[RewardRow] = []
    for path in sources:
        rows.extend(_read_rows(path) if path.is_file() else _rows_of_run(path))
    return sorted(rows, key=lambda row: (row.benchmark, row.release, row.memory, row.perturbed, row.row.model_dump_json()))


def write_reward_rows(path: Path, rows: Sequence[RewardRow]) -> None:
    """Write a table of rows, which `reward_rows` reads; equal rows give equal bytes. Raises OSError.

    An earlier table stays until the new one is whole.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as draft:
        write_table(draft, rows, kind=RewardRow)


def _read_rows(path: Path) -> list[RewardRow]:
    try:
        return read_table(path, kind=RewardRow)
    except (OSError, KeyError, ValueError) as error:
        raise EvaluationError(
            f"{path} is no table of rows that can be read ({type(error).__name__}); `amemgym memory rows` writes one."
        ) from error


def _rows_of_run(path: Path) -> Iterator[RewardRow]:
    if not (path / RESULTS).is_file():
        raise EvaluationError(f"{path} is no finished run; give folders of runs, as amemgym evaluate names them.")
    manifest = read_record_of_run(path, MANIFEST, RunManifest)
    rows = read_table_of_run(path, "memory.parquet", MemoryRow)
    events = read_table_of_run(path, "events.parquet", EventRow)
    texts: dict[tuple[str, int], list[str]] = {}
    for event in events:
        texts.setdefault((event.cluster, event.length), []).append(event.text)
    written = {key: WrittenTexts(own) for key, own in texts.items()}
    for row in rows:
        own = written.get((row.cluster, row.length)) or WrittenTexts([])
        count = min(row.written, len(own.texts))
        yield RewardRow(
            benchmark=manifest.benchmark,
            release=manifest.dataset_digest,
            memory=_undamaged_name(manifest),
            perturbed=str(manifest.memory.settings.get(PERTURBED) or ""),
            reasoner=manifest.models["assistant"],
            row=row,
            nearest=own.nearest(row.query, written=count),
            written_tokens=own.tokens[count],
            kept=row.right_with_memory if row.right_with_everything else None,
        )


def _undamaged_name(manifest: RunManifest) -> str:
    """Return the memory's name without the fault that it had on purpose."""
    name = manifest.memory.name
    own = {key: value for key, value in manifest.memory.settings.items() if key != PERTURBED and f"{key}=" in name}
    return f"{name.partition('?')[0]}{settings_suffix(own) if own else ''}"
