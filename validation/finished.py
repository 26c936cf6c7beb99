"""A variant's finished users, read back from the snapshots of its work units."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from assets.chain import STAGES
from assets.episodes import EPISODES
from assets.ports import SnapshotRef
from assets.records.answer import AnswerSet
from assets.records.audit import UserAudit
from assets.records.base import StageName, UserRecord
from assets.records.episode import Episode
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from assets.records.persona import Persona
from assets.records.recipe import Recipe
from assets.records.report import RuleLine
from assets.records.session import SessionSet
from assets.workshop import Workshop
from validation.checks import records_of
from validation.rule_lines import RuleTally
from validation.rules import Beside
from validation.stage_rules import RULES

R = TypeVar("R", bound=UserRecord)
Refs = Mapping[str, Mapping[str, SnapshotRef]]


@dataclass(frozen=True)
class Finished:
    """A variant's finished users: their episodes, what gates and audits saw, and whose lives they are."""

    recipe: Recipe
    episodes: tuple[Episode, ...]
    gate_records: tuple[tuple[str, GateRecord], ...]
    failures: tuple[Failure, ...]
    audits: tuple[UserAudit, ...] = ()
    personas: tuple[Persona, ...] = ()
    rules: tuple[RuleLine, ...] = ()


def gather(workshop: Workshop, recipe: Recipe, refs: Refs, *, rules: bool = False) -> Finished:
    """Read a variant's units back. `refs` maps stage to unit to snapshot; episodes have to be among the stages.

    Unit by unit, and of other stages than those kept here nothing stays in memory. `rules`: apply the rules of all
    stages in `refs`, which has to have those that the rules look at.
    """
    kept: dict[StageName, list[UserRecord]] = {"episodes": [], "audits": [], "personas": []}
    gates: list[tuple[str, GateRecord]] = []
    tally = RuleTally(recipe)
    for unit in sorted(refs["episodes"]):
        for stage, records in _stages(workshop, refs, unit):
            own = records[stage].values()
            kept.get(stage, []).extend(own)
            gates += [
                (one.user_id, vote) for one in own if isinstance(one, (SessionSet, AnswerSet)) for vote in one.gate_records
            ]
            if rules:
                tally.add(stage, records)
    return Finished(
        recipe=recipe,
        episodes=tuple(_of(Episode, kept["episodes"])),
        gate_records=tuple(gates),
        failures=tuple(failure for _, ref in sorted(refs["episodes"].items()) for failure in ref.failures),
        audits=tuple(_of(UserAudit, kept["audits"])),
        personas=tuple(_of(Persona, kept["personas"])),
        rules=tally.lines(),
    )


def _stages(workshop: Workshop, refs: Refs, unit: str) -> Iterator[tuple[StageName, Beside]]:
    """A unit's finished users stage by stage: the stage, beside those before it that rules still look at.

    Records are by stage and user, in the order of the sample; whatever is not needed any more goes.
    """
    own = cast(dict[StageName, SnapshotRef], {name: units[unit] for name, units in refs.items()})
    stages = [stage for stage in STAGES if stage.name in own]
    users = records_of(EPISODES, {"episodes": own["episodes"]}, workshop)
    held: dict[StageName, Mapping[str, UserRecord]] = {}
    for index, stage in enumerate(stages):
        rows = users if stage.name == "episodes" else records_of(stage, own, workshop)
        held[stage.name] = {user: rows[user] for user in users if user in rows}
        yield stage.name, held
        wanted = {name for later in stages[index + 1 :] for rule in RULES[later.name] for name in rule.beside}
        held = {name: records for name, records in held.items() if name in wanted}


def _of(kind: type[R], records: Sequence[UserRecord]) -> list[R]:
    return [record for record in records if isinstance(record, kind)]
