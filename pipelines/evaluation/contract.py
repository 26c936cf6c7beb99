"""The memory contract, the same for all benchmarks: events go in, context comes out, and a reasoner of ours answers.

A benchmark writes events turn by turn, lets them leave the window, and asks. What a memory gives back is cut to a budget of
tokens, so that scores differ by memory alone (`reasoning.py`); `isolated.py` scores a memory against none and against
everything.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel

from assets.llm.ports import CallLabels, Embedder, LanguageModel, ModelRequest, Vector
from assets.llm.structured_output import ask_structured
from assets.llm.text import PIECE, count_tokens
from assets.recipe.recipe import Recipe
from prompts.template import Message, RenderedPrompt

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")
EventKind = Literal["user", "assistant", "document", "tool"]
MAX_REPLY_TOKENS = 8192  # as in the paper (section 4.1)


@dataclass(frozen=True)
class MemoryEvent:
    """Something that was perceived. `at`: its time in the episode, if it has one. `source`: what names it, such as a title."""

    text: str
    kind: EventKind
    at: datetime | None = None
    source: str = ""

    @property
    def time(self) -> str:
        """Its time as a line begins with it; "" where it has none."""
        return f"[{self.at.isoformat(sep=' ')}] " if self.at else ""

    @property
    def line(self) -> str:
        """The event as one line: its time, who or what it is, and its words."""
        source = f" ({self.source})" if self.source else ""
        return f"{self.time}{self.kind}{source}: {' '.join(self.text.split())}"


class Memory(Protocol):
    """Takes in what was perceived and gives back context. One object serves one item of a benchmark, such as a user.

    A class of one's own may have plain or async methods, and needs no `fork`: it is then written anew for each period.
    `write` may raise ItemFailed for a model that cannot be understood; the write is then lost, and counted as lost.
    """

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        """Take in events, in order of time. It never sees a question."""
        ...

    async def recall(self, query: str, *, tokens: int) -> Sequence[str]:
        """Texts that bear on the query, in the order in which they are to be read. Changes nothing.

        What goes beyond so many tokens (`count_tokens`) is cut off at the end.
        """
        ...

    async def fork(self) -> "Memory":
        """A copy with everything that was written so far, which sees nothing of what is written later."""
        ...


@dataclass(frozen=True)
class Task:
    """One thing to answer. `text`: what the reasoner reads last; `query`: the same without instructions, for the memory.

    `window`: what is still in sight, the oldest first. `json_schema`: the form of the answer, for endpoints that enforce one.
    """

    text: str
    query: str
    window: tuple[Message, ...] = ()
    schema_name: str = "chat"
    json_schema: dict[str, object] | None = None


@dataclass(frozen=True)
class MemoryTools:
    """The models that a memory may use, through the run's cache, retries, limits and counts."""

    model: LanguageModel
    embedder: Embedder
    model_name: str
    embedding_model: str
    seed: int

    async def chat(self, messages: Sequence[Message]) -> str:
        """The model's reply at temperature 0."""
        return (await self.model.complete(chat_request(self.model_name, messages, seed=self.seed))).text

    async def ask(self, prompt: RenderedPrompt, reply: type[M], convert: Callable[[M], R]) -> R:
        """A typed reply to one of our prompts. Raises ItemFailed where the model cannot give one."""
        return await ask_structured(self.model, prompt=prompt, reply=reply, convert=convert, recipe=self._recipe)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector for each text, in order."""
        return await self.embedder.embed(texts, model=self.embedding_model)

    @cached_property
    def _recipe(self) -> Recipe:
        """For typed replies: the model as a writer who is asked once more."""
        writer = {"model": self.model_name, "temperature": 0.0, "max_output_tokens": MAX_REPLY_TOKENS}
        fields: dict[str, Any] = {"models": {"writer": writer}, "gates": {"max_reasks": 1}}
        return Recipe(variant="evaluation", benchmark="evaluation", seed=self.seed, **fields)


def chat_request(model: str, messages: Sequence[Message], *, seed: int, task: Task | None = None) -> ModelRequest:
    """A request at temperature 0; with a task, for an answer of its form."""
    name = task.schema_name if task else "chat"
    return ModelRequest(
        model=model,
        messages=tuple(messages),
        temperature=0.0,
        max_output_tokens=MAX_REPLY_TOKENS,
        schema_name=name,
        json_schema=task.json_schema if task else None,
        seed=seed,
        sample=0,
        labels=CallLabels(stage="evaluation", prompt=name),
    )


def cut_to_budget(texts: Sequence[str], tokens: int) -> list[str]:
    """The texts from the first on until the budget is used up; the text in which that happens is cut there."""
    kept: list[str] = []
    for text in texts:
        ends = [piece.end() for piece in PIECE.finditer(text)]
        if len(ends) <= tokens:
            kept.append(text)
            tokens -= len(ends)
            continue
        if tokens > 0:
            kept.append(text[: ends[tokens - 1]])
        break
    return kept


def event_lines(events: Iterable[MemoryEvent]) -> str:
    """The events, a line for each, as prompts show them."""
    return "\n".join(event.line for event in events)


def newest_within(lines: Sequence[str], tokens: int) -> list[str]:
    """The last texts that fit into so many tokens, in their order."""
    return best_within(reversed(lines), tokens)[::-1]


def best_within(lines: Iterable[str], tokens: int) -> list[str]:
    """The first texts that fit into so many tokens."""
    kept: list[str] = []
    for line in lines:
        tokens -= count_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return kept
