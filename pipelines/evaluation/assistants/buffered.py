"""What RAG, AWE and AWI share: a short-term memory whose oldest messages are written to a long-term one."""

import json
from abc import abstractmethod
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pydantic import Field

from pipelines.evaluation.assistants.chat import AssistantModel, ChatAssistant, ChatSettings, restore_message
from pipelines.evaluation.assistants.vector_index import canonical_json
from prompts.catalogue import load_prompt
from prompts.template import Message

NO_MEMORIES = "(nothing yet)"


class BufferSettings(ChatSettings):
    """`freq`: messages written at a time. `ns`: messages that stay in the short-term memory at least (section 4.1)."""

    freq: int = Field(default=2, ge=1)
    ns: int = Field(default=4, ge=0)


@dataclass(frozen=True)
class BufferedMessage:
    """A message with the time of its session."""

    role: str
    content: str
    at: str

    @property
    def text(self) -> str:
        """The message as one line that says who spoke."""
        return f"{self.role}: {' '.join(self.content.split())}"


class BufferedAssistant(ChatAssistant):
    """Writes `freq` messages as soon as `ns` others are newer; answers with what it recalls and the short-term memory."""

    def __init__(self, settings: BufferSettings, model: AssistantModel) -> None:
        super().__init__(model)
        self._settings = settings
        self._recent: list[BufferedMessage] = []
        self.failed_writes = 0

    @abstractmethod
    async def write(self, lines: list[BufferedMessage]) -> None:
        """Take messages into the long-term memory."""

    @abstractmethod
    async def memories(self, question: str) -> list[str]:
        """What the long-term memory holds that bears on the question, the oldest first."""

    @abstractmethod
    def dump_memory(self) -> Any:
        """The long-term memory as values that JSON can hold; `load_memory` takes them back."""

    @abstractmethod
    def load_memory(self, content: Any) -> None:
        """Take over such a long-term memory."""

    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        when = at.isoformat(sep=" ")
        self._recent += [BufferedMessage("user", message, when), BufferedMessage("assistant", reply, when)]
        freq = self._settings.freq
        while len(self._recent) >= freq + self._settings.ns:
            due, self._recent = self._recent[:freq], self._recent[freq:]
            await self.write(due)

    def snapshot(self) -> bytes:
        return canonical_json({"recent": [asdict(line) for line in self._recent], "kept": self.dump_memory()})

    def restore(self, state: bytes) -> None:
        content = json.loads(state)
        self._recent = [BufferedMessage(**line) for line in content["recent"]]
        self.load_memory(content["kept"])

    async def messages(self, text: str, *, about: str) -> list[Message]:
        memories = await self.memories(about)
        prompt = load_prompt("evaluation/remember").render(memories="\n".join(memories) or NO_MEMORIES, message=text)
        head, last = prompt.messages
        # Rendering strips a message; the user's own words go out as they came.
        recent = [restore_message(line.role, line.content) for line in self._recent]
        return [head, *recent, Message(last.role, text)]
