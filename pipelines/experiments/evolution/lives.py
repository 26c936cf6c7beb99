"""One user's cycle under one policy: live, then be asked everything on copies, and have the memory checked."""

import asyncio
import base64
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from assets.amemgym.records.episode import Episode
from pipelines.evaluation.context import Life, Run
from pipelines.evaluation.interview import together
from pipelines.evaluation.metrics.diagnosis import diagnosed
from pipelines.evaluation.records import Answer, Asked, PeriodLived, Turn
from pipelines.evaluation.run import kept_step, live, question
from pipelines.evaluation.spending import Toll
from pipelines.experiments.evolution.recall import check_recall
from pipelines.experiments.evolution.records import Arm, EvolutionManifest, Fact, Recalled


@dataclass(frozen=True)
class Evolution:
    """An evolution at work: the run that its lives belong to, whose folder keeps every finished step."""

    manifest: EvolutionManifest
    run: Run

    @cached_property
    def slots(self) -> asyncio.Semaphore:
        """Users who live at the same time."""
        return asyncio.Semaphore(self.run.users_at_once)


@dataclass(frozen=True)
class Round:
    """One cycle of one condition."""

    work: Evolution
    arm: Arm
    cycle: int

    def key(self, *parts: object) -> str:
        """The name of a step in it."""
        return "/".join(map(str, (self.arm.name, self.cycle, *parts)))

    def periods(self, episode: Episode) -> Sequence[int]:
        """The periods that are lived in it: one, or the whole episode."""
        every = range(len(episode.periods))
        return [period for period in every if period == self.cycle] if self.work.manifest.cycle == "period" else every


@dataclass
class CycleLived:
    """What one user's cycle came to, and the memory at its end."""

    state: bytes
    turns: list[Turn] = field(default_factory=list[Turn])
    answers: list[Answer] = field(default_factory=list[Answer])
    facts: list[Fact] = field(default_factory=list[Fact])
    toll: Toll = field(default_factory=Toll)


async def live_cycle(round_: Round, life: Life, *, before: Sequence[CycleLived]) -> CycleLived:
    """Live the cycle's periods. The memory of the cycle before goes on where cycles are periods; an episode begins without."""
    goes_on = bool(before) and round_.work.manifest.cycle == "period"
    done, states = CycleLived(before[-1].state if goes_on else b""), dict[int, bytes]()
    async with round_.work.slots:
        for period in round_.periods(life.episode):
            key = round_.key(life.episode.user_id, period, "lived")
            lived = await kept_step(life.run, key, PeriodLived, partial(live, life, period=period, state=done.state))
            done.state = states[period] = base64.b64decode(lived.snapshot)
            done.turns += lived.turns
            done.toll += lived.toll
        for part in await together(_asked(round_, life, states)):
            done.toll += part.toll
            if isinstance(part, Asked):
                done.answers += part.answers
            else:
                done.facts += part.facts
    return done


def _asked(round_: Round, life: Life, states: Mapping[int, bytes]) -> Iterator[Awaitable[Asked | Recalled]]:
    """Interviews and checks of the memory at the end of each period, to be done at the same time."""
    for period, state in states.items():
        asking = partial(question, life, period=period, state=state)
        yield kept_step(life.run, round_.key(life.episode.user_id, period, "asked"), Asked, asking)
        checking = partial(check_recall, life, state=state, period=period, arm=round_.arm.name, cycle=round_.cycle)
        yield kept_step(life.run, round_.key(life.episode.user_id, period, "recalled"), Recalled, checking)


def diagnose(manifest: EvolutionManifest, episode: Episode, cycles: Sequence[CycleLived]) -> None:
    """Say of every wrong answer where it was lost; a value may have been told in an earlier cycle of the same life."""
    if manifest.cycle == "episode":
        for cycle in cycles:
            cycle.answers = diagnosed(episode, cycle.answers)
        return
    answers = diagnosed(episode, [answer for cycle in cycles for answer in cycle.answers])
    for place, cycle in enumerate(cycles):
        cycle.answers = [answer for answer in answers if answer.period == place]
