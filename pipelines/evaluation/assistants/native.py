"""Native LLM: the whole conversation stands in the context, as far as it has room."""

import json
from datetime import datetime

from assets.records.usage import Usage
from pipelines.evaluation.assistant import Question, Settings, Tools
from pipelines.evaluation.assistants.chat import ChatSettings, Voice, checked, message_of
from pipelines.evaluation.vectors import dumped
from prompts.template import Message


class NativeAssistant:
    """Keeps every message; sees the newest ones that fit."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self._voice = Voice(checked(settings, ChatSettings), tools)
        self._history: list[Message] = []

    @property
    def usage(self) -> Usage:
        return self._voice.usage

    @property
    def cut_calls(self) -> int:
        """Calls that left out the oldest messages."""
        return self._voice.cut_calls

    async def respond(self, message: str, *, at: datetime) -> str:
        reply = await self._voice.say([*self._history, Message("user", message)])
        await self.observe(message, reply, at=at)
        return reply

    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        self._history += [Message("user", message), Message("assistant", reply)]

    async def answer(self, question: Question) -> str:
        return await self._voice.say([*self._history, Message("user", question.text)], question=question)

    async def memories(self, question: str) -> list[str]:
        return []

    def snapshot(self) -> bytes:
        return dumped([[message.role, message.content] for message in self._history])

    def restore(self, state: bytes) -> None:
        self._history = [message_of(role, content) for role, content in json.loads(state)]
