"""The two kinds of subject: a memory with our reasoner, or a whole agent that brings its own (an assistant)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling, wait_until_readable
from pipelines.evaluation.reasoning import Reasoner
from pipelines.evaluation.spending import memory_call
from pipelines.memories.code_thread import NEEDED, NEEDED_OF_AGENTS, OPTIONAL
from pipelines.memories.contract import MemoryEvent, Task
from pipelines.memories.hosting import HostedMemory, MemoryFailed, MemoryHost, checked_text
from prompts.template import Message


class Subject(Recalling, Protocol):
    """The side that is evaluated: the runner lives through a user's sessions with it, and interviews it."""

    @property
    def host(self) -> MemoryHost:
        """The host that calls it, and counts the writes that were lost."""
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
        recalled = await self.recall(message, tokens=self.tokens)
        return await self.talking.answer(recalled, Task(text=shown, query=message, window=tuple(window)))

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        with memory_call("write"):
            await self.memory.write(events)

    end_session = observe

    async def fork(self) -> "MemorySubject":
        await wait_until_readable(self.memory)
        with memory_call("fork"):
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
        methods = await host.methods_of(changed, *NEEDED, *OPTIONAL)
        return replace(self, memory=HostedMemory(host, changed, methods, list(self.memory.written)))


@dataclass(frozen=True)
class AgentSubject:
    """A whole agent behind its host; the methods of its class may be plain or async.

    `respond(message, *, at)` replies to the user, who writes at this time of the episode, and remembers. `observe(message,
    reply, *, at)` remembers an exchange as if it were its own: to go on with a run, and for dialogues of others.
    `answer(question)` changes nothing that is remembered. `fork()` is a copy that sees nothing of what comes later.
    """

    host: MemoryHost
    agent: Any
    methods: dict[str, Callable[..., Any]]

    @classmethod
    async def of(cls, host: MemoryHost) -> "AgentSubject":
        """A new agent. Raises MemoryFailed."""
        agent = await host.make_object()
        methods = await host.methods_of(agent, *NEEDED_OF_AGENTS, "close")
        for name in NEEDED_OF_AGENTS:
            if name not in methods:
                raise MemoryFailed(f"Assistant {host.name!r} has no method {name!r}; it needs respond, observe, answer, fork.")
        return cls(host, agent, methods)

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        return checked_text(self.host.name, "respond", await self.host.call("respond", self.methods["respond"], shown, at=at))

    async def end_session(self, events: Sequence[MemoryEvent]) -> None:
        """It was there itself."""

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        for said, replied in zip(events[::2], events[1::2], strict=True):
            await self.host.call("observe", self.methods["observe"], said.text, replied.text, at=said.at)

    async def fork(self) -> "AgentSubject":
        copy, methods = await self.host.copied(self.agent, self.methods["fork"], needed=NEEDED_OF_AGENTS)
        return replace(self, agent=copy, methods=methods)

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return []

    async def answer(self, recalled: Sequence[str], task: Task) -> str:
        return checked_text(self.host.name, "answer", await self.host.call("answer", self.methods["answer"], task.text))
