"""AWI: a model keeps notes, and every answer sees all of them (section 4.1, App. C.4)."""

import re
from collections.abc import Sequence
from typing import Self

from pydantic import RootModel

from pipelines.memories.built_in.base import BufferedMemory, Count, Positive
from pipelines.memories.contract import MemoryEvent, Wording, event_lines, newest_within
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt

KINDS = re.compile(r"<kinds>\n(.*?)\n</kinds>", re.DOTALL)


class NotesReply(RootModel[dict[str, str]]):
    """Entries that are added to the notes, or replace those of the same kind."""


class AwiMemory(BufferedMemory):
    """Notes from kinds of information to what is known, updated by union; the kinds can evolve (section 5, App. C.6).

    `policy`: the kinds of information that belong in the notes, one a line; "" are those of the prompt. `wording` "paper": the
    prompt has examples, as the paper's has.
    """

    def __init__(
        self, tools: MemoryTools, *, freq: Positive = 2, ns: Count = 4, policy: str = "", wording: Wording = "own"
    ) -> None:
        super().__init__(tools, freq=freq, ns=ns)
        self._policy = policy
        self._prompt = "paper/update_notes" if wording == "paper" else "memories/update_notes"
        self.notes: dict[str, str] = {}

    @property
    def policy(self) -> str:
        """The kinds of information that belong in the notes."""
        return self._policy or default_policy(self._prompt)

    async def with_policy(self, section: str) -> Self:
        """A copy with the same notes and these kinds."""
        copy = await self.fork()
        copy._policy = section
        return copy

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        prompt = load_prompt(self._prompt).render(
            kinds=self._policy, current_memories=self.notes, conversation=event_lines(events)
        )
        self.notes |= await self.tools.ask(prompt, NotesReply, lambda reply: reply.root)

    async def find(self, query: str, *, tokens: int) -> list[str]:
        lines = [f"{kind}: {' '.join(known.split())}" for kind, known in self.notes.items()]
        return newest_within(lines, tokens)


def default_policy(name: str) -> str:
    """The kinds as the prompt of this name lists them when no others are given."""
    prompt = load_prompt(name).render(kinds="", current_memories={}, conversation="")
    listed = KINDS.search(prompt.messages[0].content)
    assert listed is not None
    return listed[1]
