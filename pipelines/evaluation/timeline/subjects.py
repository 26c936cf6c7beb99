"""The two kinds of subject: a memory with our reasoner, or a whole agent that brings its own (an assistant)."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from pipelines.errors import EvaluationError
from pipelines.evaluation.isolated import ReasonerWithMemory, Recalling, wait_until_readable
from pipelines.evaluation.reasoning import Reasoner
from pipelines.evaluation.records import DialogueTurn
from pipelines.evaluation.spending import memory_call
from pipelines.evaluation.timeline.context import EvaluationContext
from pipelines.memories.contract import MemoryEvent, Task
from pipelines.memories.failures import CallLost, MemoryFailed
from pipelines.memories.hosting.hosted import HostedMemory, MemoryHost, checked_text
from pipelines.memories.others.code_thread import NEEDED, NEEDED_OF_AGENTS, OPTIONAL
from prompts.template import Message


class Subject(Recalling, Protocol):
    """The side that is evaluated: it takes in what a timeline has for it, talks with a user, and is asked."""

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        """Reply to the user's message, which is shown with the time; `window` is the session so far."""
        ...

    async def end_session(self, events: Sequence[MemoryEvent]) -> None:
        """Remember a session that was just lived: it leaves the window."""
        ...

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        """Remember what it is given to perceive, such as a session that was lived before, or by another."""
        ...

    async def forget(self, request: MemoryEvent) -> None:
        """Follow a request to forget something, or remember the request."""
        ...

    async def settle(self) -> None:
        """Finish the work that it does after it was told something."""
        ...

    async def fork(self) -> "Subject":
        """A copy that is asked while the original goes on."""
        ...


@dataclass(frozen=True, kw_only=True)
class MemorySubject(ReasonerWithMemory):
    """A memory with our reasoner, which also talks in dialogues; then as much is recalled as the run allows."""

    memory: HostedMemory
    talking: Reasoner
    tokens: int

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        recalled: Sequence[str] = ()
        with suppress(CallLost):  # which is counted; the dialogue goes on without
            recalled = await self.recall(message, tokens=self.tokens)
        return await self.talking.answer(recalled, Task(text=shown, query=message, window=tuple(window)))

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        with memory_call("write"):
            await self.memory.write(events)

    end_session = observe

    async def forget(self, request: MemoryEvent) -> None:
        with memory_call("write"):
            await self.memory.forget(request)

    async def settle(self) -> None:
        await wait_until_readable(self.memory)

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
        """Return a new agent. Raises MemoryFailed."""
        agent = await host.make_object()
        methods = await host.methods_of(agent, *NEEDED_OF_AGENTS, "close")
        for name in NEEDED_OF_AGENTS:
            if name not in methods:
                raise MemoryFailed(f"Assistant {host.name!r} has no method {name!r}; it needs respond, observe, answer, fork.")
        return cls(host, agent, methods)

    async def reply(self, message: str, *, shown: str, window: Sequence[Message], at: datetime) -> str:
        return checked_text(self.host.name, "respond", await self.host.call("respond", self.methods["respond"], shown, at=at))

    async def end_session(self, events: Sequence[MemoryEvent]) -> None:
        """Write nothing: the agent was there itself."""

    async def observe(self, events: Sequence[MemoryEvent]) -> None:
        for said, replied in zip(events[::2], events[1::2], strict=True):
            await self.host.call("observe", self.methods["observe"], said.text, replied.text, at=said.at)

    async def forget(self, request: MemoryEvent) -> None:
        await self.host.call("respond", self.methods["respond"], request.text, at=request.at)

    async def settle(self) -> None:
        """It waits itself, before it answers."""

    async def fork(self) -> "AgentSubject":
        copy = await self.host.call("fork", self.methods["fork"])
        methods = await self.host.methods_of_copy(self.agent, copy, needed=NEEDED_OF_AGENTS)
        return replace(self, agent=copy, methods=methods)

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        return []

    async def answer(self, recalled: Sequence[str], task: Task, *, tokens: int) -> str:
        ask = partial(self.host.call, "answer", self.methods["answer"], task.text)
        return checked_text(self.host.name, "answer", await self.host.retries.call("answer", ask))


async def new_subject(context: EvaluationContext, host: MemoryHost, cluster: str) -> MemorySubject | AgentSubject:
    """Return the memory with our reasoner, or the agent, to which nothing was told. Raises MemoryFailed."""
    if context.manifest.memory.whole:
        return await AgentSubject.of(host)
    return MemorySubject(
        reasoner=context.reasoner("interview", item_id=cluster),
        memory=await host.new_memory(),
        talking=context.reasoner("dialogue", item_id=cluster),
        tokens=context.manifest.tokens,
    )


def events_of(turns: Sequence[DialogueTurn]) -> list[MemoryEvent]:
    """Return all that was perceived in these turns."""
    events = list[MemoryEvent]()
    for turn in turns:
        events.append(MemoryEvent(turn.message, "user", turn.at))
        events.append(MemoryEvent(turn.reply, "assistant", turn.at))
    return events


async def observe_sessions(subject: Subject, turns: Sequence[DialogueTurn]) -> None:
    """Let the subject take in recorded turns, a session at a time."""
    for _, session in groupby(turns, key=lambda turn: (turn.period, turn.session)):
        await subject.observe(events_of(list(session)))
