"""A variant's finished users, read back from the snapshots of its work units some at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.personas.stage import PERSONAS
from assets.amemgym.pipeline import STAGES
from assets.amemgym.records.answer import AnswerSet
from assets.amemgym.records.audit import UserAudit
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import Persona
from assets.amemgym.records.session import SessionSet
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.engine.ports import SnapshotRef, portions
from assets.engine.run_context import RunContext
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from validation.checks import records_of
from validation.rules import RecordsByStage

Refs = Mapping[str, Mapping[str, SnapshotRef]]
USERS_AT_ONCE = 200


@dataclass(frozen=True)
class FinishedUser:
    """A finished user's episode, what gates and audit saw on the way, and whose life it is; None for what is not there."""

    episode: Episode
    votes: tuple[GateRecord, ...] = ()
    audit: UserAudit | None = None
    persona: Persona | None = None


@dataclass(frozen=True)
class Finished:
    """A variant's finished users. `refs` maps stage to unit to snapshot; episodes have to be among the stages.

    All iterators raise SnapshotError, which is an OSError, for a snapshot that cannot be read.
    """

    run_context: RunContext
    recipe: Recipe
    refs: Refs
    users_at_once: int = USERS_AT_ONCE

    @property
    def count(self) -> int:
        """How many users there are."""
        return sum(ref.users for ref in self.refs[EPISODES.name].values())

    def failures(self) -> Iterator[Failure]:
        """The users who were replaced, by unit."""
        for _, ref in sorted(self.refs[EPISODES.name].items()):
            yield from self.run_context.snapshots.failures(ref)

    def portions(self) -> Iterator[RecordsByStage]:
        """Some users' records by stage and user, in the order of the stages; users by unit and place in the sample."""
        for unit, ref in sorted(self.refs[EPISODES.name].items()):
            own = {name: units[unit] for name, units in self.refs.items()}
            for some in portions(ref, snapshots=self.run_context.snapshots, at_once=self.users_at_once):
                found: dict[str, dict[str, UserRecord]] = {
                    stage.name: records_of(stage, own, self.run_context, some) for stage in STAGES if stage.name in own
                }
                users = found[EPISODES.name]
                yield {name: {user: rows[user] for user in users if user in rows} for name, rows in found.items()}


def users_of(portion: RecordsByStage) -> Iterator[FinishedUser]:
    """The users of a portion, each put together."""
    for user in portion[EPISODES.name]:
        gated = [portion[stage.name].get(user) for stage in (SESSION_QUERIES, ANSWERS) if stage.name in portion]
        seen = [one for one in gated if isinstance(one, (SessionSet, AnswerSet))]
        yield FinishedUser(
            episode=cast(Episode, portion[EPISODES.name][user]),
            votes=tuple(vote for one in seen for vote in one.gate_records),
            audit=cast(UserAudit | None, portion.get(AUDITS.name, {}).get(user)),
            persona=cast(Persona | None, portion.get(PERSONAS.name, {}).get(user)),
        )
