"""A gate on the bench: its judges' readings are given, and what it does with them is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assets.llm.gate import Gate, GateAttempt, VoteContext, pass_gate
from assets.recipe.policies import GatePolicy
from assets.records.base import GateRecord
from tests.support.coroutines import run
from tests.support.small import small_recipe

RIGHT, WRONG, UNSURE = {"diet": "vegan"}, {"diet": "meat"}, {"diet": ""}


@dataclass
class Bench:
    """A gate whose readings come in turn; new texts say how they came about."""

    readings: Sequence[dict[str, str]]
    votes_seen: list[VoteContext] = field(default_factory=list[VoteContext])

    def gate(self) -> Gate:
        return Gate("exposure", RIGHT, self.judge, self.refine, self.redraft)

    async def judge(self, text: str, vote: VoteContext) -> dict[str, str]:
        self.votes_seen.append(vote)
        return self.readings[min(len(self.votes_seen), len(self.readings)) - 1]

    async def refine(self, text: str, reading: dict[str, str], sample: int) -> str:
        return f"{text}, not {reading.get('diet') or 'unclear'}"

    async def redraft(self, number: int) -> str:
        return f"draft {number}"


def through(gate: Gate, *, policy: GatePolicy, **models: object) -> GateAttempt:
    attempt = GateAttempt("s01-01", "draft 0")
    run(pass_gate(gate, attempt, recipe=small_recipe(gates=policy, models=models)))
    return attempt


def passed(*readings: dict[str, str], policy: GatePolicy) -> tuple[str, list[GateRecord]]:
    attempt = through(Bench(readings).gate(), policy=policy)
    return attempt.text, attempt.records
