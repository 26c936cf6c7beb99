"""Memories that need no search: none, everything, the newest, and a summary that a model keeps up to date."""

from collections.abc import Sequence

from pydantic import BaseModel

from assets.records.base import Text
from pipelines.memories.built_in.base import BufferedMemory, CopiedMemory, Count, Positive
from pipelines.memories.contract import MemoryEvent, event_lines, lines_of, newest_within
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt


class NoMemory(CopiedMemory):
    """Remembers nothing: what a reasoner knows without."""

    async def write(self, events: Sequence[MemoryEvent]) -> None: ...

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        return []


class FullHistory(CopiedMemory):
    """Every event word for word; the newest that fit. With a large budget this is the paper's native LLM (section 4.1)."""

    def __init__(self, tools: MemoryTools) -> None:
        super().__init__(tools)
        self.lines: list[str] = []

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.lines += lines_of(events)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        return newest_within(self.lines, tokens)


class WindowMemory(FullHistory):
    """The newest events, so many of them, or so many tokens."""

    def __init__(self, tools: MemoryTools, *, events: Positive = 1_000_000, most_tokens: Positive = 2000) -> None:
        super().__init__(tools)
        self.events = events
        self.most_tokens = most_tokens

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        return newest_within(self.lines[-self.events :], min(tokens, self.most_tokens))


class RollingSummaryReply(BaseModel):
    """The whole summary as it is from now on."""

    summary: Text


class RollingSummary(BufferedMemory):
    """One summary of everything, rewritten with each piece of what was perceived."""

    def __init__(self, tools: MemoryTools, *, freq: Positive = 4, ns: Count = 0, most_words: Positive = 400) -> None:
        super().__init__(tools, freq=freq, ns=ns)
        self.most_words = most_words
        self.summary = ""

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        prompt = load_prompt("memories/update_summary").render(
            summary=self.summary, conversation=event_lines(events), most_words=self.most_words
        )
        self.summary = await self.tools.ask(prompt, RollingSummaryReply, lambda reply: reply.summary)

    async def find(self, query: str, *, tokens: int) -> list[str]:
        return newest_within(self.summary.splitlines(), tokens)
