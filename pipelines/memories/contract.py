"""The memory contract, the same for all benchmarks: events go in, context comes out, and a reasoner of ours answers.

A benchmark writes events turn by turn, lets them leave the window, and asks. What a memory gives back is cut to a budget of
tokens, so that scores differ by memory alone (`reasoning.py`); `isolated.py` scores a memory against none and against
everything.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, Self, TypeVar, cast

from pydantic import BaseModel, Field

from assets.llm.ports import CallLabels, Embedder, LanguageModel, ModelRequest, Vector
from assets.llm.structured_output import ask_structured
from assets.recipe.model_policy import AskSettings, Models, ModelSpec
from assets.records.base import ItemFailed, Record
from assets.reporting.plurals import counted
from assets.text.words import count_tokens, text_within
from pipelines.memories.events import MemoryEvent
from prompts.template import ChatRole, Message, RenderedPrompt

M = TypeVar("M", bound=BaseModel)
R = TypeVar("R")
P = TypeVar("P", int, str)
Wording = Literal["own", "paper"]
RecallQuery = Literal["question-and-options", "question"]
Setting = str | int | float | bool | None
MAX_REPLY_TOKENS = 8192  # as in the paper (section 4.1)
CHAT_ROLES: dict[str, ChatRole] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def chat_message(event: MemoryEvent) -> dict[str, str]:
    """Return the event as a message of a chat; whatever the assistant did not say comes from the user."""
    return {"role": "assistant" if event.kind == "assistant" else "user", "content": event.text}


class Memory(Protocol):
    """Takes in what was perceived and gives back context. One object serves one item of a benchmark, such as a user.

    A class of one's own may have plain or async methods, and needs no `fork`: it is then written anew for each period.
    `write` may raise ItemFailed for a model that cannot be understood; the write is then lost, and counted as lost. Four
    methods more may be there: `forget(request)` takes an event in which the user asks to forget something, which a memory
    without it, or one that returns False, is given to write like any other; `settle()` ends when all that was written can be
    recalled, and is called before the first recall or copy after a write; `stored_bytes()` returns the bytes of texts and
    index, or None, and is called at the item's end; `close()` lets go of what the memory holds, and is called when its item
    has ended.
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
    `tools`: those that the model may call by its API's own form, in place of such an answer.
    """

    text: str
    query: str
    window: tuple[Message, ...] = ()
    schema_name: str = "chat"
    json_schema: dict[str, object] | None = None
    tools: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class MemoryTools:
    """The models that a memory may use, through the run's cache, retries, limits and counts."""

    model: LanguageModel
    embedder: Embedder
    model_name: str
    embedding_model: str
    seed: int

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


def chat_request(model: str, messages: Sequence[Message], *, seed: int, task: Task | None = None) -> ModelRequest:
    """Return a request at temperature 0; with a task, for an answer of its form."""
    name = task.schema_name if task else "chat"
    return ModelRequest(
        model=model,
        messages=tuple(messages),
        temperature=0.0,
        max_output_tokens=MAX_REPLY_TOKENS,
        schema_name=name,
        json_schema=task.json_schema if task else None,
        tools=task.tools if task else (),
        seed=seed,
        sample=0,
        labels=CallLabels(stage="evaluation", prompt=name),
    )


def cut_to_budget(texts: Sequence[str], tokens: int) -> list[str]:
    """Return the texts from the first on until the budget is used up; the text in which that happens is cut there."""
    kept: list[str] = []
    for text in texts:
        head = text_within(text, tokens)
        if head:
            kept.append(head)
            tokens -= count_tokens(head)
        if head != text:
            break
    return kept


def event_lines(events: Iterable[MemoryEvent]) -> str:
    """Return the events, a line for each, as prompts show them."""
    return "\n".join(lines_of(events))


def lines_of(events: Iterable[MemoryEvent]) -> list[str]:
    """Return each event as one line."""
    return [event.line for event in events]


def newest_within(lines: Sequence[str], tokens: int) -> list[str]:
    """Return the last texts that fit into so many tokens, in their order."""
    return best_within(reversed(lines), tokens)[::-1]


def best_within(lines: Iterable[str], tokens: int) -> list[str]:
    """Return the first texts that fit into so many tokens."""
    kept: list[str] = []
    for line in lines:
        tokens -= count_tokens(line)
        if tokens < 0:
            break
        kept.append(line)
    return kept


def best_places(lines: Mapping[P, str], places: Iterable[P], tokens: int) -> list[P]:
    """Return the first of these places whose lines fit into so many tokens."""
    ranked = list(places)
    return ranked[: len(best_within(map(lines.__getitem__, ranked), tokens))]


class MemorySpec(Record):
    """The memory that is evaluated: its name in reports, its kind, the kind's settings.

    `whole`: an agent with a reasoner of its own. Kinds are built in, an entry point's name, or `FILE.py:CLASS`. `location`: the
    file with its folders, or a service's whole address with what is secret in it; it is needed to reach the memory, and is part
    of no file and no id.
    """

    name: str
    kind: str
    settings: dict[str, Setting] = Field(default_factory=dict[str, Setting])
    whole: bool = False
    location: str = Field(default="", exclude=True, repr=False)

    @property
    def code(self) -> str:
        """The kind, with its file's folders where the code is in a file that was found."""
        return self.location if self.location and self.kind.rpartition(":")[0].endswith(".py") else self.kind
