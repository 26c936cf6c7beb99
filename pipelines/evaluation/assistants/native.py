"""Native LLM: the whole conversation stands in the context, as far as it has room."""

import json
from datetime import datetime

from pipelines.evaluation.assistant import Settings, Tools
from pipelines.evaluation.assistants.chat import ChatAssistant, ChatSettings, Voice, checked, message_of
from pipelines.evaluation.assistants.vector_index import dumped
from prompts.template import Message


class NativeAssistant(ChatAssistant):
    """Keeps every message; sees the newest ones that fit."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        super().__init__(Voice(checked(settings, ChatSettings), tools))
        self._history: list[Message] = []

    async def messages(self, text: str, *, about: str) -> list[Message]:
        return [*self._history, Message("user", text)]

    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        self._history += [Message("user", message), Message("assistant", reply)]

    async def memories(self, question: str) -> list[str]:
        return []

    def snapshot(self) -> bytes:
        return dumped([[message.role, message.content] for message in self._history])

    def restore(self, state: bytes) -> None:
        self._history = [message_of(role, content) for role, content in json.loads(state)]
