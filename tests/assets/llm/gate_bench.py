"""A gate on the bench: its judges' readings are given, and what it does with them is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assets.llm.gate import Gate, GateAttempt, ReadingTask, VoteContext, pass_gates
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

    def gate(self) -> Gate[None]:
        return Gate("exposure", RIGHT, None, self.refine, self.redraft)

    async def read(self, tasks: Sequence[ReadingTask[None]]) -> list[dict[str, str]]:
        """The next reading, of the only text of a call."""
        (task,) = tasks
        self.votes_seen.append(task.vote)
        return [self.readings[min(len(self.votes_seen), len(self.readings)) - 1]]

    async def refine(self, text: str, reading: dict[str, str], sample: int) -> str:
        return f"{text}, not {reading.get('diet') or 'unclear'}"

    async def redraft(self, number: int) -> str:
        return f"draft {number}"


def through(bench: Bench, *, policy: GatePolicy, **models: object) -> GateAttempt:
    attempt = GateAttempt("s01-01", "draft 0")
    recipe = small_recipe(gates=policy, models=models)
    run(pass_gates([[(bench.gate(), attempt)]], bench.read, size=1, recipe=recipe))
    return attempt


def passed(*readings: dict[str, str], policy: GatePolicy) -> tuple[str, list[GateRecord]]:
    attempt = through(Bench(readings), policy=policy)
    return attempt.text, attempt.records
