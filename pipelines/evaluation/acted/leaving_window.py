"""What leaves the window of an episode, and what may bring it back: a memory, or whatever replaces it in a condition."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assets.engine.seeded_random import SeededRandom
from assets.llm.actions import read_action
from assets.worlds.steps import call_with_result
from pipelines.evaluation.isolated import ROOM_FOR_TASK, ReasonerWithMemory
from pipelines.evaluation.reasoning import CONTEXT_TOKENS
from pipelines.evaluation.records import AskKind
from pipelines.evaluation.spending import memory_call
from pipelines.memories.contract import MemoryEvent, best_within, cut_to_budget, newest_within
from pipelines.memories.hosting.hosted import HostedMemory
from prompts.template import Message

AROUND = 120  # characters on each side of a needed value that belong to the fact


@dataclass
class OutOfSight:
    """What an agent has lived and sees no longer, as events: of earlier episodes, and of this one."""

    earlier: list[MemoryEvent] = field(default_factory=list[MemoryEvent])
    messages: int = 0  # of this episode, that became events
    events: list[MemoryEvent] = field(default_factory=list[MemoryEvent])

    def add(self, gone: Sequence[Message]) -> list[MemoryEvent]:
        """Return the new events among messages that are gone. A call whose result is still in sight is no event yet."""
        new: list[MemoryEvent] = []
        while self.messages < len(gone):
            message = gone[self.messages]
            if message.role == "user":
                new.append(MemoryEvent(message.content, "user"))
                self.messages += 1
                continue
            if self.messages + 1 >= len(gone):
                break
            new += _events_of(message.content, gone[self.messages + 1].content)
            self.messages += 2
        self.events += new
        return new

    @property
    def any(self) -> bool:
        return bool(self.earlier or self.events)

    @property
    def lines(self) -> list[str]:
        return [event.line for event in (*self.earlier, *self.events)]


def _events_of(reply: str, seen: str) -> list[MemoryEvent]:
    """Return the events of one step: a call with its result, or what was said and answered."""
    try:
        action = read_action(reply)
    except ValueError:
        return []
    if action.action == "call" and action.tool:
        return [MemoryEvent(call_with_result(action.tool, action.arguments_by_name, seen), "tool", source=action.tool)]
    return [MemoryEvent(action.text or "", "assistant"), MemoryEvent(seen, "user")]


@dataclass
class MemorySource:
    """A memory that is written what leaves the window."""

    reasoner: ReasonerWithMemory
    memory: HostedMemory
    gone: OutOfSight
    tokens: int

    async def observe_gone(self, gone: Sequence[Message]) -> None:
        new = self.gone.add(gone)
        if new:
            with memory_call("write"):
                await self.memory.write(new)

    @property
    def holds(self) -> bool:
        return self.gone.any

    async def recall(self, query: str) -> Sequence[str]:
        return await self.reasoner.recall(query, tokens=self.tokens)


@dataclass
class ConditionSource:
    """What replaces the memory: `facts`, `everything`, or a `placebo` of chance lines of the same dialogue."""

    kind: AskKind
    needed: Sequence[str]
    gone: OutOfSight
    tokens: int
    path: Sequence[object]

    @property
    def holds(self) -> bool:
        return self.gone.any

    async def observe_gone(self, gone: Sequence[Message]) -> None:
        self.gone.add(gone)

    async def recall(self, query: str) -> Sequence[str]:
        lines = self.gone.lines
        if self.kind == "everything":
            return newest_within(lines, CONTEXT_TOKENS - ROOM_FOR_TASK)
        needed = [line for line in lines if any(value in line for value in self.needed)]
        if self.kind == "facts":
            facts = [_around(line, self.needed) for line in needed]
            return cut_to_budget(facts[::-1], self.tokens)[::-1]
        others = [line for line in lines if line not in needed]
        return best_within(SeededRandom(*self.path, len(lines)).shuffled(others), self.tokens)


def _around(line: str, values: Sequence[str]) -> str:
    """Return the beginning of a long line, and the words around the needed values in it."""
    if len(line) <= 4 * AROUND:
        return line
    kept = [line[:AROUND]]
    for value in values:
        place = line.find(value, AROUND)
        if place >= 0:
            kept.append(line[max(0, place - AROUND) : place + len(value) + AROUND])
    return " ... ".join(kept)
