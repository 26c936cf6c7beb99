"""What the built-in assistants share: settings, a metered model, messages cut to the context; and the plain LLM."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.amemgym.recipe import AMemGymRecipe
from assets.llm.ports import CallLabels, ModelRequest
from assets.llm.text import count_tokens
from assets.llm.usage import Meter, MeteredModel, Usage
from pipelines.evaluation.assistant import QuestionPrompt, Settings, Tools
from pipelines.evaluation.assistants.vector_index import canonical_json
from pipelines.evaluation.errors import EvaluationError
from prompts.template import Message

S = TypeVar("S", bound="ChatSettings")


class ChatSettings(BaseModel):
    """Settings of every built-in kind; the defaults are the paper's (section 4.1).

    `context_tokens` is the room for all messages of a call, by our estimate of tokens; when they need more, the oldest
    messages of the conversation are left out of the call (they stay remembered). `model` None: the run's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    temperature: float | None = Field(default=0.0, ge=0, le=2)
    max_output_tokens: int = Field(default=8192, gt=0)
    context_tokens: int = Field(default=110_000, gt=0)


def validate_settings(settings: Settings, kind: type[S]) -> S:
    """The settings as the kind's. Raises EvaluationError naming the first that is wrong."""
    try:
        return kind.model_validate(dict(settings))
    except ValidationError as error:
        problem = error.errors()[0]
        known = ", ".join(kind.model_fields)
        raise EvaluationError(
            f"The assistant's setting {'.'.join(map(str, problem['loc']))!r} cannot be used: {problem['msg'].lower()}; "
            f"there are {known}."
        ) from error


class AssistantModel:
    """The model in the assistant's role; counts what it uses, and how many calls had to leave messages out."""

    def __init__(self, settings: ChatSettings, tools: Tools) -> None:
        self._settings = settings
        self._seed = tools.seed
        self._name = settings.model or tools.default_model
        self.meter = Meter()
        self.model = MeteredModel(tools.model, CallLabels(stage="evaluation"), self.meter)
        self.cut_calls = 0

    @property
    def usage(self) -> Usage:
        return self.meter.usage

    @property
    def recipe(self) -> AMemGymRecipe:
        """A recipe whose writer is this model, for asking with `assets.llm.structured_output.ask`."""
        writer = {
            "model": self._name,
            "temperature": self._settings.temperature,
            "max_output_tokens": self._settings.max_output_tokens,
        }
        fields: dict[str, Any] = {"models": {"writer": writer}, "gates": {"max_reasks": 1}}
        return AMemGymRecipe(variant="evaluation", seed=self._seed, **fields)

    async def reply(self, messages: Sequence[Message], *, question: QuestionPrompt | None = None) -> str:
        """The reply to these messages, of which those that do not fit are left out."""
        fitting = trim_to_context(messages, context_tokens=self._settings.context_tokens)
        self.cut_calls += len(fitting) < len(messages)
        reply = await self.model.complete(
            ModelRequest(
                model=self._name,
                messages=fitting,
                temperature=self._settings.temperature,
                max_output_tokens=self._settings.max_output_tokens,
                schema_name=question.schema_name if question else "chat",
                json_schema=(question.json_schema or None) if question else None,
                seed=self._seed,
                sample=0,
                labels=CallLabels(prompt=question.schema_name if question else "chat"),
            )
        )
        return reply.text


class ChatAssistant(ABC):
    """Replies with what its model makes of the messages shown to it, and remembers the exchange."""

    def __init__(self, model: AssistantModel) -> None:
        self._model = model

    @abstractmethod
    async def messages(self, text: str, *, about: str) -> list[Message]:
        """What the model gets to see for a message of the user, which comes last."""

    @abstractmethod
    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        """Remember a message of the user and the reply to it."""

    @property
    def usage(self) -> Usage:
        return self._model.usage

    @property
    def cut_calls(self) -> int:
        """Calls that left out the oldest messages."""
        return self._model.cut_calls

    async def respond(self, message: str, *, at: datetime) -> str:
        reply = await self._model.reply(await self.messages(message, about=message))
        await self.observe(message, reply, at=at)
        return reply

    async def answer(self, question: QuestionPrompt) -> str:
        return await self._model.reply(await self.messages(question.text, about=question.about), question=question)


# The same messages are sent to the model in many calls.
cached_token_count = lru_cache(maxsize=50_000)(count_tokens)


def trim_to_context(messages: Sequence[Message], *, context_tokens: int) -> tuple[Message, ...]:
    """The messages without the oldest ones that do not fit; instructions and the last message always stay."""
    head = [message for message in messages[:1] if message.role == "system"]
    tail, last = messages[len(head) : -1], messages[-1]
    left = context_tokens - sum(cached_token_count(message.content) for message in (*head, last))
    start = len(tail)
    for message in reversed(tail):
        left -= cached_token_count(message.content)
        if left < 0:
            break
        start -= 1
    # A conversation that begins with the assistant's half of an exchange would mislead.
    while start < len(tail) and tail[start].role == "assistant":
        start += 1
    return (*head, *tail[start:], last)


def restore_message(role: str, content: str) -> Message:
    """A message of the conversation, as a snapshot holds it."""
    return Message(cast(Any, role), content)


class LongContextAssistant(ChatAssistant):
    """Keeps every message; sees the newest ones that fit."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        super().__init__(AssistantModel(validate_settings(settings, ChatSettings), tools))
        self._history: list[Message] = []

    async def messages(self, text: str, *, about: str) -> list[Message]:
        return [*self._history, Message("user", text)]

    async def observe(self, message: str, reply: str, *, at: datetime) -> None:
        self._history += [Message("user", message), Message("assistant", reply)]

    async def memories(self, question: str) -> list[str]:
        return []

    def snapshot(self) -> bytes:
        return canonical_json([[message.role, message.content] for message in self._history])

    def restore(self, state: bytes) -> None:
        self._history = [restore_message(role, content) for role, content in json.loads(state)]
