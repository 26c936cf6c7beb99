"""A variant's finished users read back a few at a time, so that a release of many needs no more memory than one of few."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ConfigDict

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.records.episode import Episode
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.engine.ports import SnapshotRef, SnapshotStore, portions, rows_of
from assets.records.base import UserRecord
from assets.records.failure import Failure
from assets.records.gate import GateRecord


class Votes(UserRecord):
    """What the gates saw of a user: all that a release needs of the gated stages' records."""

    model_config = ConfigDict(extra="ignore")

    gate_records: tuple[GateRecord, ...]


@dataclass(frozen=True)
class FinishedRows:
    """Snapshots of the finished users. `refs` maps stage to unit to snapshot, with episodes and the gated stages.

    The iterators raise SnapshotError, which is an OSError, for a snapshot that cannot be read.
    """

    snapshots: SnapshotStore
    refs: Mapping[str, Mapping[str, SnapshotRef]]
    users_at_a_time: int = 50

    def episodes(self) -> Iterator[Episode]:
        """All of them, by unit and place in the sample."""
        for ref, positions in self._portions():
            yield from self.snapshots.read(ref, EPISODES.name, record=Episode, positions=positions).values()

    def gate_records(self) -> Iterator[tuple[str, tuple[GateRecord, ...]]]:
        """The users' votes in the same order, of each user first those on session queries."""
        for ref, positions in self._portions():
            seen = [self._votes(stage, unit=ref.unit, positions=positions) for stage in (SESSION_QUERIES.name, ANSWERS.name)]
            for position in positions:
                found = [votes[position] for votes in seen if position in votes]
                yield from ((one.user_id, one.gate_records) for one in found)

    def failures(self) -> list[Failure]:
        """The users who were replaced, by unit."""
        refs = [ref for _, ref in sorted(self.refs[EPISODES.name].items())]
        return [failure for ref in refs for failure in self.snapshots.failures(ref)]

    def _portions(self) -> Iterator[tuple[SnapshotRef, list[int]]]:
        for _, ref in sorted(self.refs[EPISODES.name].items()):
            for some in portions(ref, snapshots=self.snapshots, at_once=self.users_at_a_time):
                yield ref, some

    def _votes(self, stage: str, *, unit: str, positions: list[int]) -> dict[int, Votes]:
        refs = [units[unit] for units in self.refs.values()]
        return rows_of(stage, record=Votes, refs=refs, snapshots=self.snapshots, positions=positions)
