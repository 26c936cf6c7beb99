"""Who is evaluated: a memory with our reasoner, or a whole agent that brings its own (an assistant)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from pipelines.evaluation.contract import MemoryEvent, Task
from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.hosting import HostedMemory, MemoryFailed, MemoryHost, checked_text
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling
from pipelines.evaluation.reasoning import Reasoner
from prompts.template import Message


class Agent(Protocol):
    """A whole agent, as `amemgym evaluate --assistant my.py:Class` takes one; its methods may be plain or async.

    `answer` changes nothing that is remembered; the runner asks copies. There is no isolated score without our reasoner.
    """

    def respond(self, message: str, *, at: datetime) -> str:
        """Reply to the user, who writes at this time of the episode, and remember."""
        ...

    def observe(self, message: str, reply: str, *, at: datetime) -> None:
        """Remember an exchange as if it were one's own: to go on with a run, and for dialogues of others."""
        ...

    def answer(self, question: str) -> str:
        """Answer from what is remembered, without remembering the question."""
        ...

    def fork(self) -> "Agent":
        """A copy that sees nothing of what comes later."""
        ...


class Subject(Recalling, Protocol):
    """What the runner lives through a user's sessions with, and interviews."""

    @property
    def host(self) -> MemoryHost:
        """What calls it, and counts the writes that were lost."""
        ...

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        """Reply to the user's message, which is shown with the time; `window` is the session so far."""
        ...

    async def end_session(self, events: Sequence[MemoryEvent]) -> None:
        """Remember a session that was just lived: it leaves the window."""
        ...

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        """Remember a session that was lived before, or by another."""
        ...

    async def fork(self) -> "Subject":
        """A copy for an interview."""
        ...


@dataclass(frozen=True, kw_only=True)
class MemorySubject(ReasonerWithMemory):
    """A memory with our reasoner, which also talks in dialogues; then as much is recalled as the run allows."""

    memory: HostedMemory
    talking: Reasoner
    tokens: int

    @property
    def host(self) -> MemoryHost:
        return self.memory.host

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        recalled = await self.memory.recall(message, tokens=self.tokens)
        return await self.talking.answer(recalled, Task(text=shown, query=message, window=tuple(window)))

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        await self.memory.write(events)

    end_session = observe

    async def fork(self) -> "MemorySubject":
        return replace(self, memory=await self.memory.fork())

    @property
    def policy(self) -> str:
        """The section that says what to remember (section 5). Raises EvaluationError for a memory without one."""
        section = getattr(self.memory.memory, "policy", None)
        if not isinstance(section, str) or not callable(getattr(self.memory.memory, "with_policy", None)):
            raise EvaluationError(
                f"Memory {self.memory.host.name!r} has no section that could evolve: it needs `policy` and `with_policy`, as "
                "'awi' has them."
            )
        return section

    async def with_policy(self, section: str) -> "MemorySubject":
        """A copy with the same memory and this section; the words are put into prompts as they are, never evaluated."""
        host = self.memory.host
        changed = await host.call("with_policy", self.memory.memory.with_policy, section)
        return replace(self, memory=HostedMemory(host, changed, list(self.memory.written)))


@dataclass(frozen=True)
class AgentSubject:
    """A whole agent behind its host."""

    host: MemoryHost
    agent: Any

    @classmethod
    async def of(cls, host: MemoryHost) -> "AgentSubject":
        """A new agent. Raises MemoryFailed."""
        agent = await host.make_object()
        missing = [name for name in ("respond", "observe", "answer", "fork") if not callable(getattr(agent, name, None))]
        if missing:
            raise MemoryFailed(
                f"Assistant {host.name!r} has no method {missing[0]!r}; it needs respond, observe, answer, fork."
            )
        return cls(host, agent)

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        return checked_text(self.host.name, "respond", await self.host.call("respond", self.agent.respond, shown, at=at))

    async def end_session(self, events: Sequence[MemoryEvent]) -> None:
        """It was there itself."""

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        for said, replied in zip(events[::2], events[1::2], strict=True):
            await self.host.call("observe", self.agent.observe, said.text, replied.text, at=said.at)

    async def fork(self) -> "AgentSubject":
        copy = await self.host.call("fork", self.agent.fork)
        if copy is None or copy is self.agent:
            raise MemoryFailed(f"Assistant {self.host.name!r} gave {'nothing' if copy is None else 'itself'} as its fork.")
        return replace(self, agent=copy)

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return checked_text(self.host.name, "answer", await self.host.call("answer", self.agent.answer, task.text))
