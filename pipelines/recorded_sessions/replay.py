"""Recorded sessions lived again with a memory: what leaves the window is written, and each decision of the agent recalls.

The agent is not asked again, so there is no score. What can be measured is how often a memory was needed and gave something,
how far it compacts, and how many of the values that the agent then used are in what it gave back.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import NOTHING, Estimate
from assets.reporting.intervals import Tallies, quotient, share
from assets.text.words import count_tokens, text_within
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.hosted import HostedMemory, MemoryHost
from pipelines.recorded_sessions.sessions import RecordedSession, RecordedStep

QUERY_TOKENS = 400  # of what was last seen, beside the user's last words
COUNTS = ("asked", "gave", "cut", "out", "tokens", "values", "found")
SESSIONS_AT_ONCE = 16


class RecallRow(Record):
    """A decision of the recorded agent for which the memory was asked, because something had left the window."""

    session: str = Field(description="the session's name")
    step: int = Field(description="the decision's place in the session, from 0")
    memory: str = Field(description="the memory's name")
    tool: str = Field(description="the tool that the agent then called; empty where it spoke")
    query: str = Field(description="what the memory was asked: the user's last words, and what was seen last")
    budget: int = Field(description="tokens that it was given")
    written: int = Field(description="steps that had left the window, and were written to the memory")
    out_of_sight: int = Field(description="tokens of these")
    recalled: tuple[str, ...] = Field(description="what it gave back, cut to the budget")
    recalled_tokens: int = Field(description="tokens of that, by our estimate")
    cut: bool = Field(description="it gave more than its budget")
    values: tuple[str, ...] = Field(description="values that the agent then used and that were out of sight alone")
    recalled_values: tuple[str, ...] = Field(description="those of them that are in what the memory gave back")
    outcome: float | None = Field(default=None, description="how the recorded session ended, where it says so")


@dataclass(frozen=True)
class ReplaySettings:
    """`window`: tokens that stay in sight. `tokens`: what a memory may give back. `chained`: one memory for all sessions."""

    window: int = 4_000
    tokens: int = 1_000
    chained: bool = False


@dataclass(frozen=True)
class Replay:
    """The rows of a memory, and for each session that it failed in the sentence that says why."""

    memory: str
    rows: Sequence[RecallRow]
    failed: Mapping[str, str]
    decisions: int


async def replay(sessions: Sequence[RecordedSession], new_host: Callable[[], MemoryHost], settings: ReplaySettings) -> Replay:
    """Replay all sessions with memories of new hosts. One that fails loses its session alone; chained, all from there on."""
    rows: dict[str, list[RecallRow]] = {}
    failed: dict[str, str] = {}
    slots = asyncio.Semaphore(SESSIONS_AT_ONCE)

    async def describe_sessions(those: Sequence[RecordedSession]) -> str:
        async with slots:
            host = new_host()
            try:
                life = _ReplayedLife(await host.new_memory(), settings)
                for session in those:
                    rows[session.name] = await life.live(session)
            except MemoryFailed as failure:
                for session in those:
                    if session.name not in rows:
                        failed[session.name] = str(failure)
            finally:
                await host.close()
            return host.name

    lives = [sessions] if settings.chained else [[session] for session in sessions]
    names = await asyncio.gather(*map(describe_sessions, lives))
    found: list[RecallRow] = []
    for session in sessions:
        found += rows.get(session.name, ())
    decisions = sum(step.kind != "user" for session in sessions for step in session.steps)
    return Replay(names[0], found, {name: failed[name] for name in sorted(failed)}, decisions)


@dataclass
class _ReplayedLife:
    """One memory and what it was given: of one session, or of all of them one after another."""

    memory: HostedMemory
    settings: ReplaySettings
    gone: list[str] = field(default_factory=list[str])
    gone_tokens: int = 0

    async def live(self, session: RecordedSession) -> list[RecallRow]:
        """Return a row for each decision for which something was out of sight."""
        rows: list[RecallRow] = []
        in_sight: deque[RecordedStep] = deque()
        tokens_in_sight = 0
        said = ""
        for place, step in enumerate(session.steps):
            if step.kind == "user":
                said = step.text
            elif self.gone:
                rows.append(await self._recall(session, place, said=said, in_sight=in_sight))
            in_sight.append(step)
            tokens_in_sight += step.tokens
            leaving: list[RecordedStep] = []
            while tokens_in_sight > self.settings.window and len(in_sight) > 1:
                leaving.append(in_sight.popleft())
                tokens_in_sight -= leaving[-1].tokens
            await self._write(leaving)
        if self.settings.chained:
            await self._write(in_sight)
        return rows

    async def _write(self, leaving: Iterable[RecordedStep]) -> None:
        events = [step.event for step in leaving]
        if events:
            await self.memory.write(events)
        for event in events:
            self.gone.append(event.text)
            self.gone_tokens += count_tokens(event.text)

    async def _recall(self, session: RecordedSession, place: int, *, said: str, in_sight: Sequence[RecordedStep]) -> RecallRow:
        step = session.steps[place]
        last = in_sight[-1].text if in_sight else ""
        query = said if last == said else f"{said}\n{text_within(last, QUERY_TOKENS)}".strip()
        cut_before = self.memory.host.cut_recalls
        recalled = await self.memory.recall(query, tokens=self.settings.tokens)
        sight = "\n".join([session.instructions, *(shown.event.text for shown in in_sight)])
        gone = "\n".join(self.gone)
        given = "\n".join(recalled)
        values = [value for value in step.argument_values if value in gone and value not in sight]
        return RecallRow(
            session=session.name,
            step=place,
            memory=self.memory.host.name,
            tool=step.tool,
            query=query,
            budget=self.settings.tokens,
            written=len(self.gone),
            out_of_sight=self.gone_tokens,
            recalled=tuple(recalled),
            recalled_tokens=sum(map(count_tokens, recalled)),
            cut=self.memory.host.cut_recalls > cut_before,
            values=tuple(values),
            recalled_values=tuple(value for value in values if value in given),
            outcome=session.outcome,
        )


class ReplayFigures(Record):
    """What a replay shows of a memory. Shares have intervals over sessions."""

    memory: str
    sessions: int
    failed: int
    decisions: int = Field(description="actions and words of the recorded agent")
    asked: int = Field(description="decisions for which the memory was asked")
    gave: Estimate = Field(description="share of these for which it gave something")
    cut: Estimate = Field(description="share for which that was cut to the budget")
    compaction: Estimate = Field(description="tokens given back for each token out of sight")
    values: int = Field(description="values that the agent used and that were out of sight alone")
    recalled_values: Estimate = Field(description="share of these that are in what the memory gave back")


def replay_figures(result: Replay, sessions: Sequence[RecordedSession]) -> ReplayFigures:
    """Return the figures of a replay."""
    counts: dict[str, dict[str, float]] = {}
    for row in result.rows:
        own = counts.setdefault(row.session, dict.fromkeys(COUNTS, 0.0))
        own["asked"] += 1
        own["gave"] += bool(row.recalled)
        own["cut"] += row.cut
        own["out"] += row.out_of_sight
        own["tokens"] += row.recalled_tokens
        own["values"] += len(row.values)
        own["found"] += len(row.recalled_values)
    gave = cut = compaction = found = NOTHING
    if counts:
        tallies = Tallies.of(counts, names=COUNTS)
        gave = tallies.estimate(share("gave", "asked"))
        cut = tallies.estimate(share("cut", "asked"))
        compaction = tallies.estimate(quotient("tokens", "out", kind="amount", within=None))
        found = tallies.estimate(share("found", "values"))
    return ReplayFigures(
        memory=result.memory,
        sessions=len(sessions),
        failed=len(result.failed),
        decisions=result.decisions,
        asked=len(result.rows),
        gave=gave,
        cut=cut,
        compaction=compaction,
        values=sum(len(row.values) for row in result.rows),
        recalled_values=found,
    )
