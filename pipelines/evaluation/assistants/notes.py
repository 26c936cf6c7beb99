"""AWI: a model keeps notes about the user, and all of them stand in the context (section 4.1, App. C.4)."""

from typing import Any

from pydantic import RootModel

from assets.asking import Ask, ask
from assets.records.failure import UserFailed
from pipelines.evaluation.assistant import Settings, Tools
from pipelines.evaluation.assistants.buffered import BufferedAssistant, BufferSettings, Line
from pipelines.evaluation.assistants.chat import Voice, checked
from prompts.catalogue import load_prompt


class NotesReply(RootModel[dict[str, str]]):
    """Entries to lay over the notes."""


class AwiAssistant(BufferedAssistant):
    """Notes from kinds of information to what is known, updated by union."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        own = checked(settings, BufferSettings)
        super().__init__(own, Voice(own, tools))
        self._notes: dict[str, str] = {}

    async def write(self, lines: list[Line]) -> None:
        spoken = "\n".join(f"[{line.at}] {line.text}" for line in lines)
        prompt = load_prompt("evaluation/update_notes").render(current_memories=self._notes, conversation=spoken)
        try:
            found = await ask(self._voice.model, Ask(prompt, NotesReply, lambda reply: reply.root), recipe=self._voice.recipe)
        except UserFailed:
            self.failed_writes += 1
            return
        self._notes |= found

    async def memories(self, question: str) -> list[str]:
        return [f"{kind}: {' '.join(known.split())}" for kind, known in self._notes.items()]

    def kept(self) -> Any:
        # As pairs: the order of the notes is the order in which they stand in the context.
        return list(self._notes.items())

    def keep(self, content: Any) -> None:
        self._notes = dict(content)
