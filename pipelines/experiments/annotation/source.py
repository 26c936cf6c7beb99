"""What a study is drawn from: a checked release, and for dialogues a finished evaluation run on it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from assets.amemgym.records.episode import Episode
from assets.records.columnar import from_table
from dataset_card.release.manifest import read_manifest
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import Turn
from pipelines.experiments.annotation.errors import AnnotationError

Dialogue = tuple[Turn, ...]


@dataclass(frozen=True)
class Source:
    """Episodes with the ids that they have in the release's tables, which errata name."""

    variant: str
    version: str
    digest: str
    episodes: tuple[Episode, ...]

    @property
    def name(self) -> str:
        """Variant and version."""
        return f"{self.variant} {self.version}"


def load_source(folder: Path) -> Source:
    """Read a release whose files are known to be those of its manifest. Raises AnnotationError."""
    manifest = read_manifest(folder)
    nested = next(
        file.path for file in manifest.files if re.fullmatch(rf"{re.escape(manifest.variant)}/[^/]+\.parquet", file.path)
    )
    # Its annotations are only partly known to type checkers.
    parquet: Any = pq
    try:
        episodes = from_table(parquet.read_table(folder / nested), record_type=Episode)
    except (OSError, KeyError, ValueError) as error:
        told = f"The release {folder} cannot be read ({type(error).__name__}); was it made by another version of this program?"
        raise AnnotationError(told) from error
    return Source(manifest.variant, manifest.version, manifest.digest, tuple(episodes))


def dialogues(run: FinishedRun, source: Source) -> list[tuple[Episode, Dialogue]]:
    """The run's sessions with their users, in order. Raises AnnotationError for a run on another dataset."""
    if run.manifest.dataset_digest != source.digest:
        raise AnnotationError(
            f"The run {run.manifest.run_id} is on {run.manifest.dataset}, whose bytes are not those of {source.name}; "
            "give the release that it was run on."
        )
    episodes = {episode.user_id: episode for episode in source.episodes}
    sessions: dict[tuple[str, int, int], list[Turn]] = {}
    for turn in run.turns:
        sessions.setdefault((turn.user_id, turn.period, turn.session), []).append(turn)
    return [(episodes[user], _in_order(turns)) for (user, _, _), turns in sorted(sessions.items()) if user in episodes]


def _in_order(turns: Sequence[Turn]) -> Dialogue:
    return tuple(sorted(turns, key=lambda turn: turn.round))
