"""The models that a memory may ask, through the run's cache, retries, limits and counts."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, TypeVar, cast

from pydantic import BaseModel

from assets.llm.ports import Embedder, LanguageModel, ModelReply, ModelRequest, Vector
from assets.llm.structured_output import ask_structured
from assets.recipe.model_policy import AskSettings, Models, ModelSpec
from assets.records.base import ItemFailed
from assets.reporting.plurals import counted
from pipelines.memories.contract import MAX_REPLY_TOKENS, chat_request
from pipelines.memories.failures import MemoryFailed
from prompts.template import ChatRole, Message, RenderedPrompt

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")
T = TypeVar("T")
MOST_LETTERS = 100  # of a model's name in a sentence
CHAT_ROLES: dict[str, ChatRole] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True)
class NamedModels:
    """The models that a run names for a memory. Any other is refused before it is asked: the run's page would not show it."""

    model: LanguageModel
    embedder: Embedder
    names: frozenset[str]

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Complete a chat. Raises MemoryFailed for another model, and for further fields, which may name one."""
        if request.extra_body:
            raise MemoryFailed(
                "The memory adds fields to a request, which may name another model; use --set extra_body={memory: ...}."
            )
        self._check(request.model)
        return await self.model.complete(request)

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Return a vector for each text. Raises MemoryFailed for another model."""
        self._check(model)
        return await self.embedder.embed(texts, model=model)

    def _check(self, name: str) -> None:
        if name not in self.names:
            known = " and ".join(sorted(filter(None, self.names)))
            raise MemoryFailed(
                f"The memory asks the model {name[:MOST_LETTERS]!r}, which this run does not name; it may ask {known}. Let it "
                "ask `tools.model_name` and `tools.embedding_model`, or name the other model with --set more_models=NAME, and "
                "for a check with --more-models NAME."
            )


@dataclass(frozen=True)
class MemoryTools:
    """The models that a memory may use, through the run's cache, retries, limits and counts. It may ask no others."""

    model: LanguageModel
    embedder: Embedder
    model_name: str
    embedding_model: str
    seed: int
    more_models: tuple[str, ...] = ()

    def limited(self) -> Self:
        """Return the tools of which every model is refused that the run does not name."""
        names = frozenset([self.model_name, self.embedding_model, *self.more_models])
        models = NamedModels(self.model, self.embedder, names)
        return replace(self, model=models, embedder=models)

    async def chat(self, messages: Sequence[Message | Mapping[str, object]]) -> str:
        """The model's reply at temperature 0 to messages in the OpenAI form, {"role": ..., "content": ...}.

        Raises ItemFailed for a reply that was cut off; its `last_reply` is what there is. ValueError: no such messages.
        """
        asked = [message if isinstance(message, Message) else _message(message) for message in messages]
        reply = await self.model.complete(chat_request(self.model_name, asked, seed=self.seed))
        if reply.finish not in ("stop", "refusal"):
            raise ItemFailed(
                "cut_off",
                f"The reply to a memory's chat was cut off after {counted(reply.output_tokens, 'token')}; it "
                f"may have {MAX_REPLY_TOKENS:,}, so let the memory ask for less at once.",
                last_reply=reply.text,
            )
        return reply.text

    async def ask(self, prompt: RenderedPrompt, reply: type[M], convert: Callable[[M], R]) -> R:
        """A typed reply to one of our prompts. Raises ItemFailed where the model cannot give one."""
        return await ask_structured(self.model, prompt=prompt, reply=reply, convert=convert, settings=self._asking)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order."""
        return await self.embedder.embed(texts, model=self.embedding_model)

    def __deepcopy__(self, memo: object) -> Self:
        """Return the same tools: copies of a memory share them."""
        return self

    @cached_property
    def _asking(self) -> AskSettings:
        """For typed replies: the model as a writer who is asked once more."""
        writer = ModelSpec(model=self.model_name, temperature=0.0, max_output_tokens=MAX_REPLY_TOKENS)
        return AskSettings(Models(writer=writer), max_reasks=1, seed=self.seed)


def _message(given: Mapping[str, object]) -> Message:
    """Return a message of the OpenAI form as one of ours. Raises ValueError for what is none."""
    role = CHAT_ROLES.get(str(given.get("role")))
    content = given.get("content")
    if isinstance(content, list | tuple):
        content = "".join(map(_part, cast(Sequence[object], content)))
    if role is None or not isinstance(content, str):
        raise ValueError(
            'a message of `tools.chat` is {"role": "system", "user" or "assistant", "content": a text}; its content may be a '
            'list of {"type": "text", "text": ...}'
        )
    return Message(role, content)


def _part(given: object) -> str:
    text = cast(Mapping[str, object], given).get("text") if isinstance(given, Mapping) else None
    if not isinstance(text, str):
        raise ValueError('a part of a message of `tools.chat` is {"type": "text", "text": ...}; images are not passed on')
    return text


@dataclass(frozen=True)
class ModelOfLoop:
    """A model or an embedder of one event loop, for callers on another."""

    loop: asyncio.AbstractEventLoop
    model: LanguageModel
    embedder: Embedder

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Complete on the model's own loop."""
        return await self._run_on_loop(self.model.complete(request))

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Embed on the embedder's own loop."""
        return await self._run_on_loop(self.embedder.embed(texts, model=model))

    async def _run_on_loop(self, work: Awaitable[T]) -> T:
        async def wait() -> T:
            return await work

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(wait(), self.loop))
