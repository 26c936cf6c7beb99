"""AWI: a model keeps notes about the user, and every call sees all of them (section 4.1, App. C.4)."""

import re
from typing import Any

from pydantic import Field, RootModel

from assets.llm.structured_output import ask_structured
from assets.records.base import ItemFailed
from pipelines.evaluation.assistant import Settings, Tools
from pipelines.evaluation.assistants.buffered import BufferedAssistant, BufferedMessage, BufferSettings
from pipelines.evaluation.assistants.chat import AssistantModel, validate_settings
from prompts.catalogue import load_prompt

KINDS = re.compile(r"<kinds>\n(.*?)\n</kinds>", re.DOTALL)


class NotesSettings(BufferSettings):
    """`policy`: the kinds of information that belong in the notes, one a line; "" are those of the prompt."""

    policy: str = Field(default="")


class NotesReply(RootModel[dict[str, str]]):
    """Entries that are added to the notes, or replace those of the same kind."""


class AwiAssistant(BufferedAssistant):
    """Notes from kinds of information to what is known, updated by union; the kinds can evolve (section 5, App. C.6)."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self._own = validate_settings(settings, NotesSettings)
        super().__init__(self._own, AssistantModel(self._own, tools))
        self._tools = tools
        self._notes: dict[str, str] = {}

    @property
    def policy(self) -> str:
        """The kinds of information that belong in the notes."""
        return self._own.policy or default_policy()

    def with_policy(self, section: str) -> "AwiAssistant":
        """A copy with the same memory and these kinds."""
        copy = AwiAssistant({**self._own.model_dump(), "policy": section}, self._tools)
        copy.restore(self.snapshot())
        return copy

    async def write(self, lines: list[BufferedMessage]) -> None:
        conversation = "\n".join(f"[{line.at}] {line.text}" for line in lines)
        prompt = load_prompt("evaluation/update_notes").render(
            kinds=self._own.policy, current_memories=self._notes, conversation=conversation
        )
        try:
            entries = await ask_structured(
                self._model.model, prompt=prompt, reply=NotesReply, convert=lambda reply: reply.root, recipe=self._model.recipe
            )
        except ItemFailed:
            self.failed_writes += 1
            return
        self._notes |= entries

    async def memories(self, question: str) -> list[str]:
        return [f"{kind}: {' '.join(known.split())}" for kind, known in self._notes.items()]

    def dump_memory(self) -> Any:
        # As pairs: the order of the notes is the order in which they stand in the context.
        return list(self._notes.items())

    def load_memory(self, content: Any) -> None:
        self._notes = dict(content)


def default_policy() -> str:
    """The kinds as the prompt lists them when no others are given."""
    prompt = load_prompt("evaluation/update_notes").render(kinds="", current_memories={}, conversation="")
    listed = KINDS.search(prompt.messages[0].content)
    assert listed is not None
    return listed[1]
